/**
 * The chains an x402 payment can be made on, with the dollar token of each: how versions 1 and 2 of the
 * protocol name the chain, and the EIP-712 domain under which the token's holders sign transfers.
 */
export interface X402Network {
  /** Version 1's name; undefined where version 1 has none. */
  readonly name: string | undefined;
  /** Version 2's name (CAIP-2). */
  readonly caip2: string;
  readonly chainId: number;
  /** The token contract, spelled as clients compare it. */
  readonly asset: string;
  readonly tokenName: string;
  readonly tokenVersion: string;
  /** Its dollars are for trying things out and worth nothing. */
  readonly isTest: boolean;
}

/** `base` and `base-sepolia` differ in the token's name: a signature under the other's is worthless. */
export const x402Networks: readonly X402Network[] = [
  network('base', 8453, '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913', 'USD Coin'),
  network('base-sepolia', 84532, '0x036CbD53842c5426634e7929541eC2318f3dCF7e', 'USDC', true),
  network('polygon', 137, '0x3c499c542cef5e3811e1192ce70d8cc03d5c3359', 'USD Coin'),
  network('polygon-amoy', 80002, '0x41E94Eb019C0762f9Bfcf9Fb1E58725BfB0e7582', 'USDC', true),
  network(undefined, 1, '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48', 'USD Coin'),
];

function network(
  name: string | undefined,
  chainId: number,
  asset: string,
  tokenName: string,
  isTest = false,
): X402Network {
  return { name, caip2: `eip155:${chainId}`, chainId, asset, tokenName, tokenVersion: '2', isTest };
}

/** By version 1's or version 2's name; `ethereum` is accepted in configuration for the chain without the former. */
export function findX402Network(name: string): X402Network | undefined {
  const wanted = name === 'ethereum' ? 'eip155:1' : name;
  return x402Networks.find((entry) => entry.name === wanted || entry.caip2 === wanted);
}
