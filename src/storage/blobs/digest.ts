import type { BlobDigest } from './blobs.ts';

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
