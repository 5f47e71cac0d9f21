/** The tokens that services take, as people know them. */
export interface TokenFacts {
  readonly symbol: string;
  /** With the chain, where a coin is on several. */
  readonly label: string;
  readonly decimals: number;
  /** Whose wallets send it; undefined: none of those that the page knows. */
  readonly kind?: 'arweave' | 'ethereum' | 'solana';
}

const facts: Readonly<Record<string, TokenFacts>> = {
  arweave: { symbol: 'AR', label: 'AR', decimals: 12, kind: 'arweave' },
  solana: { symbol: 'SOL', label: 'SOL', decimals: 9, kind: 'solana' },
  ethereum: { symbol: 'ETH', label: 'ETH', decimals: 18, kind: 'ethereum' },
  usdc: { symbol: 'USDC', label: 'USDC on Ethereum', decimals: 6, kind: 'ethereum' },
  'base-eth': { symbol: 'ETH', label: 'ETH on Base', decimals: 18, kind: 'ethereum' },
  'base-usdc': { symbol: 'USDC', label: 'USDC on Base', decimals: 6, kind: 'ethereum' },
  pol: { symbol: 'POL', label: 'POL', decimals: 18, kind: 'ethereum' },
  'polygon-usdc': { symbol: 'USDC', label: 'USDC on Polygon', decimals: 6, kind: 'ethereum' },
  ario: { symbol: 'ARIO', label: 'ARIO', decimals: 6 },
  'base-ario': { symbol: 'ARIO', label: 'ARIO on Base', decimals: 6 },
  kyve: { symbol: 'KYVE', label: 'KYVE', decimals: 6 },
};
/** Earlier names of the same. */
const aliases: Readonly<Record<string, string>> = { matic: 'pol', ed25519: 'solana' };

export function tokenFacts(token: string): TokenFacts | undefined {
  const name = Object.hasOwn(aliases, token) ? (aliases[token] ?? token) : token;
  return Object.hasOwn(facts, name) ? facts[name] : undefined;
}

/** Of those that a service lists what a wallet of this kind can pay with. */
export function tokensFor(
  kind: NonNullable<TokenFacts['kind']>,
  addresses: Readonly<Record<string, string>>,
): readonly string[] {
  return Object.keys(facts).filter((token) => facts[token]?.kind === kind && Object.hasOwn(addresses, token));
}
