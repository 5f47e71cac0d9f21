/** What of the configuration is about names, and what it means. */
import type { Config } from '../config/config.ts';
import { parseAmount } from '../credits/credits.ts';
import { isArweaveId } from '../formats/solana/name-rules.ts';
import { StartupError } from '../kernel/errors.ts';

export type NamesConfig = Pick<
  Config,
  | 'ANT_SPAWN_WINC_SURCHARGE'
  | 'APP_URL'
  | 'ARNS_ACTION_FLOOR_WINC'
  | 'ARNS_ACTION_MARGIN'
  | 'ARNS_ACTION_TTL_MS'
  | 'ARNS_CARD_PAYMENTS'
  | 'ARNS_DEFAULT_TARGET'
  | 'ARNS_MAX_OPEN_ACTIONS'
  | 'ARNS_RECONCILE_MS'
  | 'ARNS_UNIT_PRICE_MICROLAMPORTS'
>;

/** Throws `StartupError` where a setting cannot be meant. */
export function namesSettings(config: NamesConfig) {
  if (!isArweaveId(config.ARNS_DEFAULT_TARGET)) {
    throw new StartupError('ARNS_DEFAULT_TARGET must be a transaction id of 43 characters');
  }
  return {
    spawnSurcharge: amountOf(config, 'ANT_SPAWN_WINC_SURCHARGE'),
    actionFloor: amountOf(config, 'ARNS_ACTION_FLOOR_WINC') ?? 0n,
  };
}

function amountOf(
  config: NamesConfig,
  name: 'ANT_SPAWN_WINC_SURCHARGE' | 'ARNS_ACTION_FLOOR_WINC',
): bigint | undefined {
  const text = config[name];
  if (text === undefined || text === '') return undefined;
  const amount = parseAmount(text);
  if (amount === undefined) throw new StartupError(`${name} must be an amount of winc`);
  return amount;
}
