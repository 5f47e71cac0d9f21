/**
 * What the signature of an item covers, where there is no Node: the deep hash of its fields and of a file that is read
 * in pieces. Runs in a worker, because it reads every byte.
 *
 * WebCrypto hashes about five times as fast as the fastest script, but only what is whole in memory: so it takes files up to
 * a size that every phone can hold, and the script takes the larger ones piece by piece.
 */
import { utf8 } from '../services/encoding.ts';
import { appendHash, blobHash, deepHash, listHash } from '../wallet/deep-hash.ts';

export interface SignedFields {
  readonly signatureType: number;
  readonly owner: Uint8Array;
  readonly tagBytes: Uint8Array;
}

export interface HashingOptions {
  /** Told how many bytes of the file are read so far. */
  readonly onRead?: (bytes: number) => void;
  /** The largest file that is hashed in one piece. */
  readonly wholeBytes?: number;
}

const defaultWholeBytes = 64 * 1024 * 1024;
const pieceBytes = 4 * 1024 * 1024;

/** The 48 bytes to sign (ANS-104): deep hash of "dataitem", "1", type, owner, target, anchor, tags, data. */
export async function hashItem(
  { signatureType, owner, tagBytes }: SignedFields,
  file: Blob,
  options: HashingOptions = {},
): Promise<Uint8Array> {
  const none = new Uint8Array();
  const fields = [utf8('dataitem'), utf8('1'), utf8(String(signatureType)), owner, none, none, tagBytes];
  const data = await blobHash(file.size, await hashFile(file, options));
  const elements = [...(await Promise.all(fields.map(deepHash))), data];
  let accumulator = await listHash(elements.length);
  for (const element of elements) accumulator = await appendHash(accumulator, element);
  return accumulator;
}

async function hashFile(
  file: Blob,
  { onRead, wholeBytes = defaultWholeBytes }: HashingOptions,
): Promise<Uint8Array> {
  if (file.size <= wholeBytes) {
    const digest = await crypto.subtle.digest('SHA-384', await file.arrayBuffer());
    onRead?.(file.size);
    return new Uint8Array(digest);
  }
  const { sha384 } = await import('@noble/hashes/sha2.js');
  const hash = sha384.create();
  for (let at = 0; at < file.size; at += pieceBytes) {
    hash.update(new Uint8Array(await file.slice(at, at + pieceBytes).arrayBuffer()));
    onRead?.(Math.min(at + pieceBytes, file.size));
  }
  return hash.digest();
}
