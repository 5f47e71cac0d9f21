/**
 * The Index publication (interface §2): a JSON document that lists each index, its bands, and every file with size
 * and SHA-256, signed by the observer key.
 *
 * The signature covers `ar-io-index-publication/v1`, a line feed, and the canonical JSON (RFC 8785) of the document
 * without its `signature` member. Members that we do not know are ignored and are covered all the same, so that
 * what is verified is the document as it came, never one put together again from known members.
 */
import { createHash, createPublicKey, verify } from 'node:crypto';
import { tryDecodeBase58 } from '../../../formats/base58.ts';
import { isTxId } from '../../../formats/base64url.ts';
import { canonicalJson } from '../../../formats/canonical-json.ts';
import { FormatError } from '../../../formats/format-error.ts';
import { isCount } from '../../../formats/json.ts';
import { isIndexName, isPartName, isSha256, ownMembers } from '../names.ts';
import type { Observer } from './observer.ts';

export const maxDocumentBytes = 4 * 1024 * 1024;
export const signingPrefix = 'ar-io-index-publication/v1\n';

export interface BandFile {
  readonly name: string;
  readonly size: number;
  readonly sha256: string;
}

export interface BandTorrent {
  readonly infohashV1: string;
  readonly infohashV2?: string;
  readonly magnet: string;
  readonly torrentUrl: string;
}

export interface Band {
  readonly id: string;
  readonly files: readonly BandFile[];
  /** The second is null for the band that is open at the tip. */
  readonly heightRange?: readonly [number, number | null];
  readonly records?: number;
  readonly http?: { readonly baseUrl: string };
  readonly torrent?: BandTorrent;
  readonly arweave?: { readonly manifestTxId: string };
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface PublishedIndex {
  readonly name: string;
  readonly kind: string;
  readonly filter?: unknown;
  readonly bands: readonly Band[];
}

export interface Publication {
  readonly version: 1;
  /** base58 of 32 bytes. */
  readonly publisher: string;
  readonly sequence: number;
  /** Of the document before, as it was served; null for the first. */
  readonly previousManifestSha256: string | null;
  readonly issuedAt: string;
  readonly expiresAt: string;
  readonly indexes: readonly PublishedIndex[];
}

export interface VerifiedPublication extends Publication {
  /** Who signed: base58 of the public key. */
  readonly keyId: string;
}

/** The bytes to publish: the canonical form of the whole signed document. */
export function signPublication(publication: Publication, observer: Observer): Buffer {
  const sig = observer.sign(signingBase(publication)).toString('base64');
  const signature = { alg: 'ed25519', keyId: observer.address, sig };
  return Buffer.from(canonicalJson({ ...publication, signature }));
}

/** Reads and checks a document; throws `FormatError` for one that is malformed or not signed by who it says. */
export function verifyPublication(bytes: Buffer): VerifiedPublication {
  if (bytes.length > maxDocumentBytes) throw new FormatError('the document is too large');
  const document = members(parse(bytes), 'the document');
  const publication = readPublication(document);
  const signature = members(document.signature, 'signature');
  const { alg, keyId, sig } = signature;
  if (alg !== 'ed25519' || typeof keyId !== 'string' || typeof sig !== 'string')
    throw new FormatError('the signature is not one by Ed25519');
  const key = publicKey(keyId);
  const signed = Buffer.from(sig, 'base64');
  if (signed.length !== 64 || signed.toString('base64') !== sig)
    throw new FormatError('the signature is not 64 bytes of base64');
  const { signature: _signature, ...unsigned } = document;
  if (!verify(null, signingBase(unsigned), key, signed)) throw new FormatError('the signature is wrong');
  return { ...publication, keyId };
}

export function sha256Hex(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function signingBase(document: object): Buffer {
  return Buffer.from(`${signingPrefix}${canonicalJson(document)}`);
}

function readPublication(document: Readonly<Record<string, unknown>>): Publication {
  const { version, publisher, sequence, previousManifestSha256, issuedAt, expiresAt } = document;
  if (version !== 1) throw new FormatError('the document has another version than 1');
  if (typeof publisher !== 'string' || tryDecodeBase58(publisher)?.length !== 32)
    throw new FormatError('publisher must be base58 of 32 bytes');
  if (
    previousManifestSha256 !== null &&
    !(typeof previousManifestSha256 === 'string' && isSha256(previousManifestSha256))
  )
    throw new FormatError('previousManifestSha256 must be a digest or null');
  if (timeOf(expiresAt, 'expiresAt') < timeOf(issuedAt, 'issuedAt'))
    throw new FormatError('expiresAt is before issuedAt');
  return {
    version,
    publisher,
    sequence: readCount(sequence, 'sequence'),
    previousManifestSha256,
    issuedAt: String(issuedAt),
    expiresAt: String(expiresAt),
    indexes: readIndexes(document.indexes),
  };
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new FormatError('the document is not JSON');
  }
}

function publicKey(address: string) {
  const x = tryDecodeBase58(address);
  if (x?.length !== 32) throw new FormatError('keyId must be base58 of 32 bytes');
  return createPublicKey({
    format: 'jwk',
    key: { kty: 'OKP', crv: 'Ed25519', x: x.toString('base64url') },
  });
}

function timeOf(value: unknown, what: string): number {
  const time =
    typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/.test(value)
      ? Date.parse(value)
      : Number.NaN;
  if (Number.isNaN(time)) throw new FormatError(`${what} must be a time in ISO 8601`);
  return time;
}

/** The lists are read strictly: names that are no paths, digests, bounded counts, nothing twice. */
const limits = { indexes: 64, bands: 1024, files: 1024 };

function readIndexes(value: unknown): PublishedIndex[] {
  return readList(value, 'indexes', 0, limits.indexes, readIndex, ({ name }) => name);
}

function readIndex(value: unknown): PublishedIndex {
  const { name, kind, filter, bands } = members(value, 'an index');
  if (typeof name !== 'string' || !isIndexName(name)) throw new FormatError('the name of an index is wrong');
  if (typeof kind !== 'string' || !isIndexName(kind)) throw new FormatError('the kind of an index is wrong');
  const list = readList(bands, 'bands', 0, limits.bands, readBand, ({ id }) => id);
  return { name, kind, ...(filter !== undefined && { filter }), bands: list };
}

function readBand(value: unknown): Band {
  const { id, files, heightRange, records, http, torrent, arweave, metadata } = members(value, 'a band');
  if (typeof id !== 'string' || !isPartName(id)) throw new FormatError('the id of a band is wrong');
  return {
    id,
    files: readList(files, 'files', 1, limits.files, readFile, ({ name }) => name),
    ...(heightRange !== undefined && { heightRange: readHeights(heightRange) }),
    ...(records !== undefined && { records: readCount(records, 'records') }),
    ...(http !== undefined && { http: { baseUrl: readText(members(http, 'http').baseUrl, 'baseUrl') } }),
    ...(torrent !== undefined && { torrent: readTorrent(torrent) }),
    ...(arweave !== undefined && { arweave: readArweave(arweave) }),
    ...(metadata !== undefined && { metadata: members(metadata, 'metadata') }),
  };
}

function readFile(value: unknown): BandFile {
  const { name, size, sha256 } = members(value, 'a file');
  if (typeof name !== 'string' || !isPartName(name)) throw new FormatError('the name of a file is wrong');
  if (typeof sha256 !== 'string' || !isSha256(sha256)) throw new FormatError('the digest of a file is wrong');
  return { name, size: readCount(size, 'size'), sha256 };
}

function readHeights(value: unknown): [number, number | null] {
  if (!Array.isArray(value) || value.length !== 2) throw new FormatError('a height range has two ends');
  const from = readCount(value[0], 'heightRange');
  const to = value[1] === null ? null : readCount(value[1], 'heightRange');
  if (to !== null && to < from) throw new FormatError('a height range ends before it starts');
  return [from, to];
}

function readTorrent(value: unknown): BandTorrent {
  const { infohashV1, infohashV2, magnet, torrentUrl } = members(value, 'torrent');
  if (typeof infohashV1 !== 'string' || !/^[0-9a-f]{40}$/.test(infohashV1))
    throw new FormatError('infohashV1 is wrong');
  if (infohashV2 !== undefined && !(typeof infohashV2 === 'string' && isSha256(infohashV2)))
    throw new FormatError('infohashV2 is wrong');
  return {
    infohashV1,
    ...(infohashV2 !== undefined && { infohashV2 }),
    magnet: readText(magnet, 'magnet'),
    torrentUrl: readText(torrentUrl, 'torrentUrl'),
  };
}

function readArweave(value: unknown): { manifestTxId: string } {
  const { manifestTxId } = members(value, 'arweave');
  if (typeof manifestTxId !== 'string' || !isTxId(manifestTxId))
    throw new FormatError('manifestTxId must be an id');
  return { manifestTxId };
}

function readList<T>(
  value: unknown,
  what: string,
  min: number,
  max: number,
  read: (item: unknown) => T,
  key: (item: T) => string,
): T[] {
  if (!Array.isArray(value) || value.length < min || value.length > max)
    throw new FormatError(`${what} must be a list of ${min} to ${max}`);
  const items = value.map(read);
  if (new Set(items.map(key)).size !== items.length) throw new FormatError(`${what} name something twice`);
  return items;
}

const members = (value: unknown, what: string) => ownMembers(value, `${what} must be an object`);

function readCount(value: unknown, what: string): number {
  if (!isCount(value)) throw new FormatError(`${what} must be a whole number`);
  return value;
}

function readText(value: unknown, what: string): string {
  if (typeof value !== 'string' || value === '' || value.length > 4096)
    throw new FormatError(`${what} must be a text`);
  return value;
}
