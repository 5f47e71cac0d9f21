/** Where commands find a service: at --url, or where this environment has the local stack listen. */
import { urlHost } from '../kernel/http/server.ts';
import { UsageError } from './command.ts';

export function serviceUrl(given: string | undefined, host: string, port: number): string {
  if (given === undefined) return `http://${urlHost(host)}:${port}`;
  const protocol = URL.canParse(given) ? new URL(given).protocol : '';
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw new UsageError(`--url is an address that begins with http:// or https://, not "${given}"`);
  }
  return given.replace(/\/+$/, '');
}
