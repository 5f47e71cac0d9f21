/** What is fixed about each token: its base unit and the name price sources know it by. */
import { type Token, tokens } from './pricing.ts';

interface TokenFacts {
  /** Decimal places of the base unit: 1 AR is 10^12 winston. */
  readonly exponent: number;
  /** The id in CoinGecko-shaped sources. */
  readonly rateId: string;
}

export const tokenFacts: Readonly<Record<Token, TokenFacts>> = {
  arweave: { exponent: 12, rateId: 'arweave' },
  ethereum: { exponent: 18, rateId: 'ethereum' },
  'base-eth': { exponent: 18, rateId: 'l2-standard-bridged-weth-base' },
  matic: { exponent: 18, rateId: 'matic-network' },
  pol: { exponent: 18, rateId: 'matic-network' },
  solana: { exponent: 9, rateId: 'solana' },
  ed25519: { exponent: 9, rateId: 'solana' },
  ario: { exponent: 6, rateId: 'ar-io-network' },
  'base-ario': { exponent: 6, rateId: 'ar-io-network' },
  kyve: { exponent: 6, rateId: 'kyve-network' },
  usdc: { exponent: 6, rateId: 'usd-coin' },
  'base-usdc': { exponent: 6, rateId: 'usd-coin' },
  'polygon-usdc': { exponent: 6, rateId: 'usd-coin' },
};

/** Undefined for a name that is no token of ours. */
export const parseToken = (name: string): Token | undefined => tokens.find((known) => known === name);
