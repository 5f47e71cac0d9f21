/** Lists of wallets: a misspelt one would let pass whom the operator means to keep out. */
import { type Config, ConfigError } from '../config/config.ts';
import { normalizeAddress } from '../wallets/address.ts';

const lists = ['ALLOW_LISTED_ADDRESSES', 'BLOCK_LISTED_ADDRESSES', 'CRYPTO_FUND_EXCLUDED_ADDRESSES'] as const;

/** Throws `ConfigError` with a line for each that is no address of any wallet. */
export function checkAddressLists(config: Pick<Config, (typeof lists)[number]>): void {
  const problems = lists.flatMap((name) =>
    config[name]
      .filter((address) => normalizeAddress(address) === undefined)
      .map((address) => `${name} must be wallet addresses, not ${JSON.stringify(address.slice(0, 100))}`),
  );
  if (problems.length > 0) throw new ConfigError(problems);
}
