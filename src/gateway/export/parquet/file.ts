/**
 * One Parquet file on disk: row groups as they come, the footer at the end. It has a temporary name until it is whole
 * and synced.
 */
import { createHash } from 'node:crypto';
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writevSync } from 'node:fs';
import type { Column } from './column.ts';
import { binary, i32, i64, list, struct, type Value } from './thrift.ts';

export interface FinishedFile {
  readonly rows: number;
  readonly bytes: number;
  /** In hex. */
  readonly sha256: string;
}

const magic = Buffer.from('PAR1');

export class ParquetFile {
  readonly #temporary: string;
  readonly #columns: readonly Column[];
  readonly #groups: Value[] = [];
  readonly #hash = createHash('sha256');
  #fd: number | undefined;
  #offset = 0;
  #rows = 0;

  constructor(path: string, columns: readonly Column[]) {
    this.#temporary = path;
    this.#columns = columns;
    this.#fd = openSync(path, 'wx');
    this.#write([magic]);
  }

  /** Takes what the columns hold as the next row group. */
  addGroup(): void {
    const rows = this.#columns[0]?.count ?? 0;
    if (rows === 0) return;
    for (const column of this.#columns) {
      if (column.count !== rows) throw new Error(`${column.name} has ${column.count} of ${rows} values`);
    }
    const start = this.#offset;
    let rawSize = 0;
    const chunks = this.#columns.map((column) => {
      const chunk = column.take();
      const metadata = chunk.metadata(this.#offset);
      const offset = this.#offset;
      this.#write(chunk.parts);
      rawSize += chunk.rawSize;
      return struct({ 2: i64(offset), 3: metadata });
    });
    this.#groups.push(
      struct({ 1: list(chunks), 2: i64(rawSize), 3: i64(rows), 5: i64(start), 6: i64(this.#offset - start) }),
    );
    this.#rows += rows;
  }

  /** Whole and on disk when it returns. */
  finish(): FinishedFile {
    this.addGroup();
    const root = struct({ 4: binary('root'), 5: i32(this.#columns.length) });
    const typeOrder = struct({ 1: struct({}) });
    const footer = struct({
      1: i32(2),
      2: list([root, ...this.#columns.map(({ schema }) => schema)]),
      3: i64(this.#rows),
      4: list(this.#groups),
      6: binary('turnpike'),
      // Without it readers may not trust the least and greatest values.
      7: list(this.#columns.map(() => typeOrder)),
    }).bytes;
    const size = Buffer.alloc(4);
    size.writeUInt32LE(footer.length);
    this.#write([footer, size, magic]);
    if (this.#fd !== undefined) fsyncSync(this.#fd);
    this.#close();
    return { rows: this.#rows, bytes: this.#offset, sha256: this.#hash.digest('hex') };
  }

  moveTo(path: string): void {
    renameSync(this.#temporary, path);
  }

  /** After a failure: closed and gone. */
  discard(): void {
    this.#close();
    rmSync(this.#temporary, { force: true });
  }

  #close(): void {
    const fd = this.#fd;
    this.#fd = undefined;
    if (fd !== undefined) closeSync(fd);
  }

  /** All of it, or it throws: a disk may take a part of a write. */
  #write(parts: readonly Buffer[]): void {
    if (this.#fd === undefined) throw new Error('the file is closed');
    for (const part of parts) this.#hash.update(part);
    let rest = parts.filter(({ length }) => length > 0);
    while (rest.length > 0) {
      let written = writevSync(this.#fd, rest);
      this.#offset += written;
      const left: Buffer[] = [];
      for (const part of rest) {
        if (written < part.length) left.push(part.subarray(written));
        written = Math.max(0, written - part.length);
      }
      rest = left;
    }
  }
}
