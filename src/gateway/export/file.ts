/**
 * One Parquet file. Rows are gathered column by column and written as a row group when there are enough, so that
 * memory holds one group. The file has a temporary name until it is whole and synced.
 */
import { closeSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs';
import { zstdCompressSync } from 'node:zlib';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import type { Cell, Column } from './tables.ts';

const rowsPerGroup = 20_000;
const flushBytes = 1_000_000;

export class ParquetFile {
  readonly #columns: readonly Column[];
  readonly #cells: Cell[][];
  readonly #writer: ParquetWriter;
  readonly #sink: FileSink;
  readonly temporary: string;
  rows = 0;
  #waiting = 0;

  constructor(path: string, columns: readonly Column[]) {
    this.temporary = path;
    this.#columns = columns;
    this.#cells = columns.map(() => []);
    this.#sink = new FileSink(path);
    this.#writer = new ParquetWriter({
      writer: this.#sink,
      schema: [{ name: 'root', num_children: columns.length }, ...columns.map(({ schema }) => schema)],
      codec: 'ZSTD',
      compressors: { ZSTD: (input) => zstdCompressSync(input) },
    });
  }

  /** Cells in the order of the columns. */
  add(row: readonly Cell[]): void {
    for (let index = 0; index < row.length; index += 1)
      this.#cells[index]?.push(plainBytes(row[index] ?? null));
    this.rows += 1;
    this.#waiting += 1;
    if (this.#waiting === rowsPerGroup) this.#flush();
  }

  #flush(): void {
    if (this.#waiting === 0) return;
    this.#writer.write({
      columnData: this.#columns.map(({ schema, plain }, index) => ({
        name: schema.name,
        data: this.#cells[index] ?? [],
        ...(plain && { encoding: 'PLAIN' as const }),
      })),
      rowGroupSize: rowsPerGroup,
    });
    for (const cells of this.#cells) cells.length = 0;
    this.#waiting = 0;
  }

  /** Whole and on disk when it returns. */
  finish(): void {
    this.#flush();
    this.#writer.finish();
    this.#sink.sync();
  }

  moveTo(path: string): void {
    renameSync(this.temporary, path);
  }

  /** After a failure; the file stays where it is, unfinished. */
  abandon(): void {
    this.#sink.close();
  }
}

/**
 * A `Buffer` as the `Uint8Array` over the same bytes: the library cuts and changes a slice for its statistics, and a
 * slice of a `Buffer` is no copy.
 */
function plainBytes(cell: Cell): Cell {
  return Buffer.isBuffer(cell) ? new Uint8Array(cell.buffer, cell.byteOffset, cell.length) : cell;
}

/** The library's byte writer, emptied into a file whenever it holds a megabyte. */
class FileSink extends ByteWriter {
  #fd: number | undefined;

  constructor(path: string) {
    super();
    this.#fd = openSync(path, 'wx');
  }

  override ensure(size: number): void {
    if (this.index > flushBytes) this.#drain();
    super.ensure(size);
  }

  override finish(): void {
    this.#drain();
  }

  sync(): void {
    if (this.#fd !== undefined) fsyncSync(this.#fd);
    this.close();
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  #drain(): void {
    if (this.#fd === undefined) throw new Error('the file is closed');
    for (let at = 0; at < this.index; )
      at += writeSync(this.#fd, new Uint8Array(this.buffer, at, this.index - at));
    this.index = 0;
  }
}
