/** Client addresses: which proxies are trusted about them, and how allowances and rate limits count them. */
import { BlockList, isIP } from 'node:net';
import { StartupError } from '../errors.ts';
import type { Request } from './app.ts';

/**
 * Who is asking. `X-Forwarded-For` is anybody's to write, so only as many entries from its right are believed as
 * there are proxies of ours in front.
 */
export function clientAddress(request: Request, proxies: number): string {
  const forwarded = request.headers['x-forwarded-for'];
  if (proxies === 0 || forwarded === undefined) return request.ip;
  const hops = [forwarded].flat().join(',').split(',');
  return hops.at(-proxies)?.trim() || request.ip;
}

/** Throws `StartupError` where one of the texts is neither an address nor a network. */
export function networks(variable: string, texts: readonly string[]): BlockList | undefined {
  if (texts.length === 0) return undefined;
  const list = new BlockList();
  for (const text of texts) {
    const [address = '', bits, ...rest] = text.split('/');
    const family = isIP(address);
    const most = family === 6 ? 128 : 32;
    const prefix = bits === undefined ? most : /^[0-9]{1,3}$/.test(bits) ? Number(bits) : Number.NaN;
    if (family === 0 || rest.length > 0 || !(prefix <= most)) {
      throw new StartupError(`${variable}: "${text}" is no address or network`);
    }
    list.addSubnet(address, prefix, family === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}

/** IPv4 that came through an IPv6 socket is IPv4. */
export function plainAddress(address: string | undefined): string {
  const text = address ?? '';
  const mapped = /^::ffff:([0-9.]+)$/i.exec(text)?.[1];
  return mapped !== undefined && isIP(mapped) === 4 ? mapped : text;
}

/** The address, of IPv6 the /64: one customer has that many addresses, and counts once. */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address;
  // The URL parser writes an address in its one canonical form.
  const [head = '', tail] = new URL(`http://[${address.split('%', 1)[0]}]/`).hostname
    .slice(1, -1)
    .split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const groups = [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after];
  return `${groups.slice(0, 4).join(':')}::/64`;
}
