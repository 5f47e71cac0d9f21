/**
 * Content-addressed bytes, on disk or on an S3-compatible store. A blob is named by the SHA-256 of its
 * bytes (64 hex digits); what is under a name is complete, durable and has that digest.
 */
import type { Scrubbable } from '../scrub.ts';

export type BlobDigest = string;

/**
 * Called with the digest before the blob is visible under it: the moment to record that it is about to be there, so that
 * a crash right after leaves no blob without a record. If it fails, the blob is not committed.
 */
export type BlobNamed = (digest: BlobDigest) => Promise<void>;

export interface BlobWriter {
  /** Resolves when the store can take more: await it to hold back-pressure. */
  write(bytes: Uint8Array): Promise<void>;
  /** Makes the blob durable and visible under its digest. Writing bytes that exist already is no error. */
  commit(named?: BlobNamed): Promise<{ digest: BlobDigest; size: number }>;
  /** Forgets what was written. Safe to call at any time, also after commit (then it does nothing). */
  abort(): Promise<void>;
}

export interface BlobReader {
  readonly digest: BlobDigest;
  readonly size: number;
  /** On disk: an open descriptor for positional reads by the HTTP data path; elsewhere undefined. */
  readonly fd: number | undefined;
  /** Bytes `start` (inclusive) to `end` (exclusive), in order, in pieces of bounded size. */
  stream(start?: number, end?: number): AsyncIterable<Buffer>;
  /** Fills as much of `target` as there is from `position`; answers the count. */
  read(target: Uint8Array, position: number): Promise<number>;
  /**
   * For those who read by `fd`, before they give out the last of it: throws `BlobDamaged` where the file was changed and
   * what was read may be wrong. `stream` and `read` look for themselves.
   */
  check(): void | Promise<void>;
  close(): Promise<void>;
}

export interface BlobStore {
  /** `expected` is the size, where it is known before: some stores do better then. Another size is no error. */
  writer(expected?: number): Promise<BlobWriter>;
  put(
    bytes: Uint8Array | AsyncIterable<Uint8Array>,
    expected?: number,
  ): Promise<{ digest: BlobDigest; size: number }>;
  /** undefined when there is no such blob; an unreachable store throws `BlobStoreUnavailable`. */
  open(digest: BlobDigest): Promise<BlobReader | undefined>;
  /**
   * A reader of a blob that should be there with that size, made without asking: undefined where the store is near, and
   * asking costs nothing. Reading what is not there throws `BlobMissing`, what has another size `BlobDamaged`.
   */
  readonly assume?: ((digest: BlobDigest, size: number) => BlobReader) | undefined;
  /** As `loadBlob`, where a store can do better than open and read. */
  load?(digest: BlobDigest, target: Uint8Array): Promise<void>;
  size(digest: BlobDigest): Promise<number | undefined>;
  delete(digest: BlobDigest): Promise<boolean>;
  /** What a scrub reads; undefined where the store looks after its bytes itself, as S3 does. */
  readonly scrubbed?: Scrubbable | undefined;
  /**
   * Removes what writers that died left behind so long ago, and answers how many pieces that were, or that the key in use
   * may not list the store. Undefined where that is done when a store is opened.
   */
  removeLeftovers?(olderThanMs: number): Promise<number | 'refused'>;
  close(): Promise<void>;
}

/** The disk is full or the store cannot be reached; nothing was stored under the digest. */
export class BlobStoreUnavailable extends Error {
  override readonly name = 'BlobStoreUnavailable';
}

/** There is no blob of that name. */
export class BlobMissing extends Error {
  override readonly name = 'BlobMissing';

  constructor(digest: BlobDigest) {
    super(`blob ${digest} is not there`);
  }
}

/** There is a blob of that name, and its bytes are not those of the name. */
export class BlobDamaged extends Error {
  override readonly name = 'BlobDamaged';

  constructor(digest: BlobDigest) {
    super(`blob ${digest} is damaged`);
  }
}

/** Opens a blob whose size is known, with no more trips than reading takes. Throws `BlobMissing` and `BlobDamaged`. */
export async function openSized(store: BlobStore, digest: BlobDigest, size: number): Promise<BlobReader> {
  const assumed = store.assume?.(digest, size);
  if (assumed !== undefined) return assumed;
  const reader = await store.open(digest);
  if (reader === undefined) throw new BlobMissing(digest);
  if (reader.size === size) return reader;
  await reader.close();
  throw new BlobDamaged(digest);
}

/**
 * Fills the target with the whole of a small blob of its size, as it lies there: for who compares it with its digest. Throws
 * `BlobMissing`, and `BlobDamaged` where the blob has another size.
 */
export async function loadBlob(store: BlobStore, digest: BlobDigest, target: Uint8Array): Promise<void> {
  if (store.load !== undefined) return store.load(digest, target);
  const reader = await openSized(store, digest, target.length);
  try {
    await reader.read(target, 0);
  } finally {
    await reader.close();
  }
}

const pattern = /^[0-9a-f]{64}$/;

/** Digests become paths and keys, so one that is malformed is a bug of the caller's, never a look-up. */
export function assertDigest(digest: BlobDigest): void {
  if (!pattern.test(digest)) throw new TypeError('a blob is named by 64 lower-case hex digits');
}

export function isDigest(text: string): boolean {
  return pattern.test(text);
}

/** `abcd…` lives at `ab/cd/abcd…`: no folder or listing grows with the whole store. */
export function digestPath(digest: BlobDigest): string {
  return `${digest.slice(0, 2)}/${digest.slice(2, 4)}/${digest}`;
}

/** Throws unless `start` ≤ `end` are whole numbers within a blob of `size` bytes. */
export function checkedRange(start: number, end: number, size: number): void {
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end) || start < 0 || start > end || end > size) {
    throw new RangeError(`bytes ${start} to ${end} are not within ${size}`);
  }
}
