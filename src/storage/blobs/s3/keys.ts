/** The keys of this program in a bucket, which others may use too. */
import { randomBytes } from 'node:crypto';
import { digestPath, isDigest } from '../blobs.ts';

/** Below it are objects that are not complete blobs yet. */
export const temporaryPrefix = 'tmp/';

export function temporaryKey(): string {
  return `${temporaryPrefix}${randomBytes(16).toString('hex')}`;
}

export function isTemporaryKey(key: string): boolean {
  return /^tmp\/[0-9a-f]{32}$/.test(key);
}

export function isBlobKey(key: string): boolean {
  const digest = key.slice(key.lastIndexOf('/') + 1);
  return isDigest(digest) && key === digestPath(digest);
}
