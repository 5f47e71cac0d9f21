/**
 * Where commands find a service: at the address that is given, else at the port that a variable sets, else where a
 * process on the data folder says it listens, else at the usual port.
 */
import { type Config, isSet } from '../config/config.ts';
import { urlHost } from '../kernel/http/server.ts';
import { UsageError } from './command.ts';
import { findAddress } from './run-file.ts';

const ports = {
  gateway: 'GATEWAY_PORT',
  payment: 'PAYMENT_PORT',
  upload: 'UPLOAD_PORT',
  router: 'PORT',
  arweave: 'LOCAL_ARWEAVE_PORT',
  solana: 'LOCAL_SOLANA_PORT',
  card: 'LOCAL_CARD_PORT',
} as const satisfies Record<string, keyof Config>;

export type LocalServiceName = keyof typeof ports;

export function serviceUrl(config: Config, name: LocalServiceName, given?: string): string {
  if (given !== undefined) return givenUrl(given);
  const variable = ports[name];
  // Port 0 is any free one: only the process knows which.
  const isTold = isSet(variable) && config[variable] !== 0;
  const found = isTold ? undefined : findAddress(config.DATA_DIR, name);
  const host = variable.startsWith('LOCAL_') ? config.LOCAL_NETWORK_HOST : config.HOST;
  return found ?? `http://${urlHost(host)}:${config[variable]}`;
}

/** An address as a person writes it, without a slash at its end. */
export function givenUrl(given: string): string {
  const protocol = URL.canParse(given) ? new URL(given).protocol : '';
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw new UsageError(`--url is an address that begins with http:// or https://, not "${given}"`);
  }
  return given.replace(/\/+$/, '');
}
