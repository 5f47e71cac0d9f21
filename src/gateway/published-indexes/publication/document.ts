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
import { canonicalJson } from '../../../formats/canonical-json.ts';
import { FormatError } from '../../../formats/format-error.ts';
import type { Observer } from './observer.ts';
import { type Band, readIndexes } from './read-indexes.ts';

export const maxDocumentBytes = 4 * 1024 * 1024;
export const signingPrefix = 'ar-io-index-publication/v1\n';

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
  const document = asObject(parse(bytes), 'the document');
  const publication = readPublication(document);
  const signature = asObject(document.signature, 'signature');
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
  if (typeof sequence !== 'number' || !Number.isSafeInteger(sequence) || sequence < 0)
    throw new FormatError('sequence must be a whole number');
  if (
    previousManifestSha256 !== null &&
    !(typeof previousManifestSha256 === 'string' && /^[0-9a-f]{64}$/.test(previousManifestSha256))
  )
    throw new FormatError('previousManifestSha256 must be a digest or null');
  if (timeOf(expiresAt, 'expiresAt') < timeOf(issuedAt, 'issuedAt'))
    throw new FormatError('expiresAt is before issuedAt');
  return {
    version,
    publisher,
    sequence,
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

function asObject(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new FormatError(`${what} must be an object`);
  return Object.fromEntries(Object.entries(value));
}

function timeOf(value: unknown, what: string): number {
  const time =
    typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/.test(value)
      ? Date.parse(value)
      : Number.NaN;
  if (Number.isNaN(time)) throw new FormatError(`${what} must be a time in ISO 8601`);
  return time;
}
