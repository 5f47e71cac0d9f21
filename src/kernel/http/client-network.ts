/** Client addresses as they are counted: by allowances and rate limits. */
import { isIP } from 'node:net';

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
