/** A file read in pages that are kept in memory while they are asked for: warm look-ups touch no disk. */
import type { FileHandle } from 'node:fs/promises';
import { LRUCache } from 'lru-cache';
import { files } from '../../../storage/blobs/disk/files.ts';
import { isSameStamp, type Stamp, stampOf } from '../../../storage/blobs/disk/stamp.ts';

const pageBytes = 8 * 1024;
const cacheBytes = 64 * 1024 * 1024;
/** Shared by all files: a key is the file's number and the page's. */
const pages = new LRUCache<number, Buffer>({ max: cacheBytes / pageBytes });
const pagesPerFile = 2 ** 32;
let opened = 0;

export class PagedFile {
  readonly #file: FileHandle;
  #stamp: Stamp;
  readonly #onChanged: () => void;
  readonly #firstKey: number;
  readonly size: number;
  /** Reads from disk so far. */
  reads = 0;

  /** `onChanged` is told whenever a read finds the file changed. */
  constructor(file: FileHandle, stamp: Stamp, onChanged: () => void) {
    this.#file = file;
    this.#stamp = stampOf(stamp);
    this.#onChanged = onChanged;
    this.size = stamp.size;
    this.#firstKey = opened * pagesPerFile;
    opened = (opened + 1) % 2 ** 20;
  }

  /** At once where the pages are in memory; else by one read. */
  readonly read = (position: number, length: number): Buffer | Promise<Buffer> => {
    const first = Math.floor(position / pageBytes);
    const end = Math.min(position + length, this.size);
    if (position >= end) return empty;
    const last = Math.floor((end - 1) / pageBytes);
    const from = position - first * pageBytes;
    const page = pages.get(this.#firstKey + first);
    if (page === undefined) return this.#load(first, last, from, end - position);
    if (first === last) return page.subarray(from, from + end - position);
    const found: Buffer[] = [page];
    for (let at = first + 1; at <= last; at += 1) {
      const next = pages.get(this.#firstKey + at);
      if (next === undefined) return this.#load(first, last, from, end - position);
      found.push(next);
    }
    return Buffer.concat(found).subarray(from, from + end - position);
  };

  async close(): Promise<void> {
    await this.#file.close();
  }

  #look(): void {
    const now = files.fstatNow(this.#file.fd);
    if (isSameStamp(this.#stamp, now)) return;
    this.#stamp = stampOf(now);
    this.#onChanged();
  }

  async #load(first: number, last: number, from: number, length: number): Promise<Buffer> {
    this.reads += 1;
    const bytes = Buffer.alloc((last - first + 1) * pageBytes);
    const { bytesRead } = await this.#file.read(bytes, 0, bytes.length, first * pageBytes);
    this.#look();
    for (let at = first; at <= last; at += 1) {
      const start = (at - first) * pageBytes;
      if (start >= bytesRead) break;
      // A copy, so that a page kept does not keep its neighbours.
      const page = bytes.subarray(start, Math.min(start + pageBytes, bytesRead));
      pages.set(this.#firstKey + at, first === last ? page : Buffer.from(page));
    }
    return bytes.subarray(from, Math.min(from + length, bytesRead));
  }
}

const empty = Buffer.alloc(0);
