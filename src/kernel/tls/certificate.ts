/**
 * Certificates (RFC 5280) for ECDSA keys on P-256: an authority that signs itself, and certificates for servers that it
 * signs. An authority is bound to the names and addresses that it may sign for, so that whoever trusts it trusts it for
 * nothing else.
 */
import { createHash, createPublicKey, type KeyObject, randomBytes, sign, X509Certificate } from 'node:crypto';
import { isIPv4, isIPv6 } from 'node:net';
import {
  bitString,
  boolean,
  explicit,
  implicit,
  integer,
  objectIdentifier,
  octetString,
  sequence,
  set,
  time,
  utf8String,
} from '../../formats/der.ts';

export interface Network {
  readonly address: string;
  /** Leading bits that count. */
  readonly bits: number;
}

interface Validity {
  /** Unix milliseconds. */
  readonly from: number;
  readonly until: number;
}

export interface AuthorityOptions extends Validity {
  readonly name: string;
  readonly key: KeyObject;
  /** Domains, with everything below them, and networks that it may sign for. */
  readonly domains: readonly string[];
  readonly networks: readonly Network[];
}

export interface ServerOptions extends Validity {
  readonly authority: {
    readonly certificate: X509Certificate;
    readonly name: string;
    readonly key: KeyObject;
  };
  readonly key: KeyObject;
  /** DNS names and IP addresses; the first is shown as the certificate's own. */
  readonly hosts: readonly string[];
}

const ids = {
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  commonName: '2.5.4.3',
  subjectKey: '2.5.29.14',
  keyUsage: '2.5.29.15',
  alternativeNames: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  nameConstraints: '2.5.29.30',
  authorityKey: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuthentication: '1.3.6.1.5.5.7.3.1',
} as const;

/** Tags of a GeneralName (§4.2.1.6). */
const dnsName = 2;
const ipAddress = 7;

/** The authority's certificate as PEM. */
export function issueAuthority(options: AuthorityOptions): string {
  const { name, key, domains, networks } = options;
  const permitted = [
    ...domains.map((domain) => sequence(implicit(dnsName, Buffer.from(domain, 'ascii')))),
    ...networks.map((network) => sequence(implicit(ipAddress, networkBytes(network)))),
  ];
  const keyId = keyIdOf(key);
  return issue({ ...options, issuer: name, subject: name, issuerKey: key }, [
    extension(ids.basicConstraints, true, sequence(boolean(true), integer(0n))),
    // keyCertSign and cRLSign.
    extension(ids.keyUsage, true, bitString(Buffer.from([0b0000_0110]), 1)),
    extension(ids.nameConstraints, true, sequence(explicit(0, ...permitted))),
    extension(ids.subjectKey, false, octetString(keyId)),
  ]);
}

/** A server's certificate as PEM. */
export function issueServer(options: ServerOptions): string {
  const { authority, key, hosts } = options;
  const names = hosts.map((host) =>
    isIPv4(host) || isIPv6(host)
      ? implicit(ipAddress, addressBytes(host))
      : implicit(dnsName, Buffer.from(host, 'ascii')),
  );
  return issue(
    { ...options, issuer: authority.name, issuerKey: authority.key, subject: shownName(hosts[0] ?? '') },
    [
      extension(ids.basicConstraints, true, sequence()),
      // digitalSignature.
      extension(ids.keyUsage, true, bitString(Buffer.from([0b1000_0000]), 7)),
      extension(ids.extendedKeyUsage, false, sequence(objectIdentifier(ids.serverAuthentication))),
      extension(ids.alternativeNames, false, sequence(...names)),
      extension(ids.subjectKey, false, octetString(keyIdOf(key))),
      extension(ids.authorityKey, false, sequence(implicit(0, keyIdOf(authority.key)))),
    ],
  );
}

interface Issue extends Validity {
  readonly issuer: string;
  readonly issuerKey: KeyObject;
  readonly subject: string;
  readonly key: KeyObject;
}

function issue(options: Issue, extensions: readonly Buffer[]): string {
  const algorithm = sequence(objectIdentifier(ids.ecdsaWithSha256));
  const body = sequence(
    explicit(0, integer(2n)),
    // Positive, and hard to guess (§4.1.2.2).
    integer(BigInt(`0x01${randomBytes(15).toString('hex')}`)),
    algorithm,
    distinguishedName(options.issuer),
    sequence(time(options.from), time(options.until)),
    distinguishedName(options.subject),
    publicKeyInfo(options.key),
    explicit(3, sequence(...extensions)),
  );
  const certificate = sequence(body, algorithm, bitString(sign('sha256', body, options.issuerKey)));
  return new X509Certificate(certificate).toString();
}

const distinguishedName = (name: string): Buffer =>
  sequence(set(sequence(objectIdentifier(ids.commonName), utf8String(name))));

/** A common name has at most 64 letters; the alternative names are what counts. */
const shownName = (host: string): string => host.slice(0, 64);

const extension = (id: string, critical: boolean, content: Buffer): Buffer =>
  sequence(objectIdentifier(id), ...(critical ? [boolean(true)] : []), octetString(content));

function publicKeyInfo(key: KeyObject): Buffer {
  return createPublicKey(key.export({ format: 'pem', type: 'pkcs8' })).export({
    format: 'der',
    type: 'spki',
  });
}

const keyIdOf = (key: KeyObject): Buffer => createHash('sha1').update(publicKeyInfo(key)).digest();

function networkBytes({ address, bits }: Network): Buffer {
  const bytes = addressBytes(address);
  const mask = bytes.map((_byte, index) => 0xff & ~(0xff >> Math.min(8, Math.max(0, bits - 8 * index))));
  return Buffer.concat([bytes, mask]);
}

function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  const [head = '', tail] = canonicalIPv6(address).split('::');
  const groups = (text: string | undefined) => (text ? text.split(':') : []);
  const [before, after] = [groups(head), groups(tail)];
  const zeros = Array<string>(8 - before.length - after.length).fill('0');
  return Buffer.from([...before, ...zeros, ...after].map((group) => group.padStart(4, '0')).join(''), 'hex');
}

/** In groups of hexadecimal digits alone, as the URL parser writes it. */
const canonicalIPv6 = (address: string): string => new URL(`http://[${address}]/`).hostname.slice(1, -1);
