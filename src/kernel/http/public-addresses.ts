/**
 * What is routed in the public internet and what is not. Addresses that strangers write, in lists of gateways or
 * of peers, must not lead into our own network: services inside it may be open to every host of the network.
 */
import { type LookupAddress, lookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** IANA's registries of special-purpose addresses (RFC 6890), multicast and what is reserved. */
const notPublic = new BlockList();
for (const [network, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const)
  notPublic.addSubnet(network, bits, 'ipv4');
for (const [network, bits] of [
  ['::', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 48],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
  ['5f00::', 16],
  ['fc00::', 7],
  ['fe80::', 9],
  ['ff00::', 8],
] as const)
  notPublic.addSubnet(network, bits, 'ipv6');

/** An IP address that is routed in the public internet. IPv4 addresses written as IPv6 count as what they are. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 0) return false;
  return !notPublic.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

/** Names that only mean something inside a network. */
const inside = /\.(?:localhost|local|localdomain|internal|intranet|private|corp|lan|home|arpa)$/;

/** An address as above, or a name that may have one; IPv6 with or without the brackets of a URL. */
export function isPublicHost(host: string): boolean {
  const bare = host
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();
  return isIP(bare) === 0 ? bare.includes('.') && !inside.test(bare) : isPublicAddress(bare);
}

/** Where to connect to for a name that a stranger wrote: the owner of the name may point it anywhere. */
export const publicLookup: LookupFunction = (hostname, options, done) => {
  lookup(hostname, { ...options, all: true }, (error, found) => {
    if (error !== null) return done(error, []);
    const addresses = found.filter(({ address }) => isPublicAddress(address));
    const [first] = addresses;
    if (first === undefined) done(notPublicError(hostname, found), []);
    else if (options.all === true) done(null, addresses);
    else done(null, first.address, first.family);
  });
};

function notPublicError(hostname: string, found: readonly LookupAddress[]): Error {
  const where = found.map(({ address }) => address).join(', ');
  return new Error(`${hostname} has no public address (${where})`);
}
