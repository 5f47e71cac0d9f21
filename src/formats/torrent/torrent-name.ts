/** The name of a band's torrent (interface §4.4, web seed): it follows from the files alone. */
import { createHash } from 'node:crypto';

export interface NamedFile {
  readonly name: string;
  readonly size: number;
  /** Lower-case hex. */
  readonly sha256: string;
}

/** First 16 hex digits of SHA-256 over name, NUL, size, NUL, digest, newline per file, in bytewise name order. */
export function torrentName(files: readonly NamedFile[]): string {
  const hash = createHash('sha256');
  for (const { name, size, sha256 } of inNameOrder(files)) hash.update(`${name}\0${size}\0${sha256}\n`);
  return hash.digest('hex').slice(0, 16);
}

export function inNameOrder<T extends { readonly name: string }>(files: readonly T[]): T[] {
  return files.toSorted((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
}
