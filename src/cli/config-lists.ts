/** Lists in the configuration whose words other rooms know: a misspelt one would quietly do nothing. */
import type { Config } from '../config/config.ts';
import { parseToken } from '../pricing/tokens.ts';
import { normalizeAddress } from '../wallets/address.ts';

const wallets = {
  meant: 'wallet addresses',
  isOne: (word: string) => normalizeAddress(word) !== undefined,
};
const tokens = {
  meant: 'names of tokens',
  isOne: (word: string) => parseToken(word) !== undefined,
};
const lists = {
  ALLOW_LISTED_ADDRESSES: wallets,
  BLOCK_LISTED_ADDRESSES: wallets,
  CRYPTO_FUND_EXCLUDED_ADDRESSES: wallets,
  TOKENS_WITHOUT_FEES: tokens,
};
const names = Object.keys(lists) as (keyof typeof lists)[];

/** A line for each word that is none of its list's. */
export function listProblems(config: Pick<Config, keyof typeof lists>): string[] {
  return names.flatMap((name) =>
    config[name]
      .filter((word) => !lists[name].isOne(word))
      .map((word) => `${name} must be ${lists[name].meant}, not ${JSON.stringify(word.slice(0, 100))}`),
  );
}
