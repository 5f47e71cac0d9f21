/**
 * This installation's own certificate authority, in `DATA_DIR/tls`: made when the first client speaks TLS, and kept, so
 * that it has to be trusted only once. It may sign for nothing but hosts of private networks. Certificates for servers
 * are made as they are asked for and never stored.
 */
import { createPrivateKey, generateKeyPair, type KeyObject, X509Certificate } from 'node:crypto';
import { BlockList, isIP } from 'node:net';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { promisify } from 'node:util';
import { LRUCache } from 'lru-cache';
import { StartupError } from '../errors.ts';
import { readOrCreateKey } from '../keys.ts';
import { issueAuthority, issueServer, type Network } from './certificate.ts';

/** What a TLS server shows and signs with, as PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/** Where a TLS server has its certificates from. */
export interface TlsKeys {
  /** For the host that a client names; without one, for whoever connects to an address. */
  keyPairFor(host: string | undefined): Promise<KeyPair>;
}

const authorityName = 'Turnpike local network';
const dayMs = 24 * 3_600_000;
const authorityLifeMs = 3_650 * dayMs;
/** Browsers refuse certificates of more than 825 days; these are made anew long before they end. */
const serverLifeMs = 90 * dayMs;
const renewMs = 30 * dayMs;
/** Machines' clocks differ. */
const leewayMs = dayMs;

/** Reserved for use within a network (RFC 2606, RFC 6762, RFC 8375), `internal` by ICANN. */
const domains = ['localhost', 'local', 'internal', 'test', 'home.arpa'];
const networks: readonly Network[] = [
  { address: '127.0.0.0', bits: 8 },
  { address: '10.0.0.0', bits: 8 },
  { address: '172.16.0.0', bits: 12 },
  { address: '192.168.0.0', bits: 16 },
  { address: '::1', bits: 128 },
  { address: 'fc00::', bits: 7 },
];
const privateAddresses = new BlockList();
for (const { address, bits } of networks) privateAddresses.addSubnet(address, bits, familyOf(address));

const always = ['localhost', '127.0.0.1', '::1'];

/** The system's own clock: browsers know nothing of time travel. */
const realNow = (): number => performance.timeOrigin + performance.now();

export interface LocalAuthority extends TlsKeys {
  /** Of the authority, to be trusted. */
  readonly path: string;
  readonly certificate: X509Certificate;
  /** Of every server of this installation. */
  readonly serverKey: KeyObject;
}

/** `hosts`: addresses and names that servers are bound to, beside loopback; those that are not private are left out. */
export async function openLocalAuthority(
  dataDir: string,
  hosts: readonly string[] = [],
): Promise<LocalAuthority> {
  const folder = join(dataDir, 'tls');
  const key = createPrivateKey((await readOrCreateKey(folder, 'authority-key.pem', makeKey)).text);
  const stored = await readOrCreateKey(folder, 'authority.pem', () =>
    issueAuthority({
      name: authorityName,
      key,
      domains,
      networks,
      from: realNow() - leewayMs,
      until: realNow() + authorityLifeMs,
    }),
  );
  const serverKey = createPrivateKey((await readOrCreateKey(folder, 'server-key.pem', makeKey)).text);
  const certificate = new X509Certificate(stored.text);
  if (!certificate.checkPrivateKey(key) || Date.parse(certificate.validTo) < realNow() + serverLifeMs) {
    throw new StartupError(
      `${stored.path} has another key or is at its end: remove ${folder} for a new authority`,
    );
  }
  const authority = { name: authorityName, key, certificate };
  const keyPem = serverKey.export({ format: 'pem', type: 'pkcs8' }).toString();
  const known = [...new Set([...always, ...hosts.filter(isPrivate)])];
  // Hosts below `localhost` are told apart by name: browsers take no wildcard right below a top-level domain.
  const made = new LRUCache<string, KeyPair>({ max: 256, ttl: renewMs, perf: { now: realNow } });
  return {
    path: stored.path,
    certificate,
    serverKey,
    async keyPairFor(host) {
      const name = host !== undefined && isPrivate(host) && !known.includes(host) ? host.toLowerCase() : '';
      const existing = made.get(name);
      if (existing !== undefined) return existing;
      const from = realNow() - leewayMs;
      const cert = issueServer({
        authority,
        key: serverKey,
        hosts: name === '' ? known : [name],
        from,
        until: from + serverLifeMs,
      });
      const pair = { cert: `${cert}${stored.text}\n`, key: keyPem };
      made.set(name, pair);
      return pair;
    },
  };
}

async function makeKey(): Promise<string> {
  const { privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' });
  return privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
}

const hostName = /^(?=.{1,253}$)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/i;

/** Whether the authority may sign for it. */
function isPrivate(host: string): boolean {
  if (isIP(host) !== 0) return privateAddresses.check(host, familyOf(host));
  const name = host.toLowerCase();
  return hostName.test(name) && domains.some((domain) => name === domain || name.endsWith(`.${domain}`));
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}
