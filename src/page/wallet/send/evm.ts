/** Which chain a token of the Ethereum family is on, and the transaction that moves it. */
import type { ConsoleSettings } from '../../../console/api.ts';

const chains = {
  ethereum: { public: 1, testnet: 11_155_111 },
  base: { public: 8_453, testnet: 84_532 },
  polygon: { public: 137, testnet: 80_002 },
} as const;

interface EvmToken {
  readonly chain: keyof typeof chains;
  /** USDC as its issuer deployed it; undefined for the chain's own coin. */
  readonly contract?: string;
}

const tokens: Readonly<Record<string, EvmToken>> = {
  ethereum: { chain: 'ethereum' },
  usdc: { chain: 'ethereum', contract: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48' },
  'base-eth': { chain: 'base' },
  'base-usdc': { chain: 'base', contract: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913' },
  matic: { chain: 'polygon' },
  pol: { chain: 'polygon' },
  'polygon-usdc': { chain: 'polygon', contract: '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359' },
};

/** Undefined: whatever chain the wallet is on, as somebody's local one. */
export function chainOf(token: string, world: ConsoleSettings['world']): number | undefined {
  const chain = Object.hasOwn(tokens, token) ? tokens[token]?.chain : undefined;
  return chain === undefined || world === 'local' ? undefined : chains[chain][world];
}

export interface EvmCall {
  readonly to: string;
  /** `0x` hex. */
  readonly value: string;
  readonly data?: string;
}

/** Undefined for a token of another chain. */
export function transferCall(token: string, to: string, amount: bigint): EvmCall | undefined {
  const known = Object.hasOwn(tokens, token) ? tokens[token] : undefined;
  if (known === undefined) return undefined;
  if (known.contract === undefined) return { to, value: `0x${amount.toString(16)}` };
  const word = (digits: string): string => digits.padStart(64, '0');
  // transfer(address,uint256)
  const data = `0xa9059cbb${word(to.slice(2).toLowerCase())}${word(amount.toString(16))}`;
  return { to: known.contract, value: '0x0', data };
}
