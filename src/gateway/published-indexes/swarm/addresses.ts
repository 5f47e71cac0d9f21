/** Whom the engine may talk to: peers and trackers come from strangers and must not lead into our own network. */
import { lookup } from 'node:dns/promises';
import { isIP, isIPv6 } from 'node:net';
import type { Config } from '../../../config/config.ts';
import type { PeerAddress } from '../../../formats/torrent/index.ts';
import { isPublicAddress, isPublicHost } from '../../../kernel/http/public-addresses.ts';

export interface AddressRules {
  /** Loopback and private addresses too: for networks of one's own. */
  readonly allowPrivate: boolean;
}

function mayNameHost(host: string, { allowPrivate }: AddressRules): boolean {
  return allowPrivate || isPublicHost(host);
}

/** The addresses of a host that may be talked to; none where it has no other. */
export async function allowedAddresses(host: string, rules: AddressRules): Promise<string[]> {
  if (!mayNameHost(host, rules)) return [];
  if (isIP(host) !== 0) return [host];
  const found = await lookup(host, { all: true }).catch(() => []);
  return found
    .map(({ address }) => address)
    .filter((address) => rules.allowPrivate || isPublicAddress(address));
}

/** Trackers are asked by HTTP; others, and those on hosts that are not ours to ask, are left out. */
export function allowedTrackers(urls: readonly string[], rules: AddressRules): URL[] {
  return urls.flatMap((text) => {
    if (!URL.canParse(text)) return [];
    const url = new URL(text);
    const host = url.hostname.replace(/^\[|\]$/g, '');
    return /^https?:$/.test(url.protocol) && url.username === '' && mayNameHost(host, rules) ? [url] : [];
  });
}

/** `host:port` as BEP 9 writes it, IPv6 addresses in brackets. */
export function readPeerAddress(text: string): PeerAddress | undefined {
  const [, bracketed, plain, digits = ''] = /^(?:\[([^\]]+)\]|([^:[\]]+)):([0-9]{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host === undefined || port < 1 || port > 65_535 || host.length > 253) return undefined;
  return bracketed !== undefined && !isIPv6(bracketed) ? undefined : { host, port };
}

export function showPeerAddress({ host, port }: PeerAddress): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}

/** The host that the operator gave for peers; undefined where only "every address" is known. */
export function seedHost(config: Config): string | undefined {
  if (config.INDEX_SEED_HOST !== undefined) return config.INDEX_SEED_HOST;
  if (config.INDEX_PUBLIC_URL !== undefined)
    return new URL(config.INDEX_PUBLIC_URL).hostname.replace(/^\[|\]$/g, '');
  const everywhere = isIP(config.HOST) !== 0 && /^[0:.]+$/.test(config.HOST);
  return everywhere ? undefined : config.HOST;
}
