/** The files of one table: of a partition at a time, in groups of rows, published together once all are whole. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { syncFolderBlocking } from '../../kernel/files.ts';
import { makeInside } from './folder.ts';
import type { Heights } from './grid.ts';
import type { FileEntry } from './manifest.ts';
import type { Column } from './parquet/column.ts';
import { ParquetFile } from './parquet/file.ts';
import { partitionFolder, type TableName } from './tables.ts';

export interface TableFilesOptions {
  readonly table: TableName;
  /** Of the version that is written. */
  readonly folder: string;
  readonly runId: string;
  /** 0 = no limit. */
  readonly maxFileRows: number;
}

/** A group is what memory holds of a table. */
const rowsPerGroup = 65_536;
const bytesPerGroup = 16 * 1024 * 1024;
/** Rows between two checks of the bytes. */
const checkEvery = 1_024;

export class TableFiles<C extends Record<string, Column>> {
  readonly columns: C;
  readonly #list: readonly Column[];
  readonly #options: TableFilesOptions;
  #finished: { readonly file: ParquetFile; readonly entry: FileEntry }[] = [];
  #open: ParquetFile | undefined;
  #partition: Heights = { from: 0, to: 0 };
  #folder = '';
  #rowsOfFile = 0;
  #rowsOfGroup = 0;
  rows = 0;

  constructor(columns: C, options: TableFilesOptions) {
    this.columns = columns;
    this.#list = Object.values(columns);
    this.#options = options;
  }

  begin(partition: Heights): void {
    this.#partition = partition;
    this.#finished = [];
    const { folder, table } = this.#options;
    const path = partitionFolder(table, partition);
    this.#folder = makeInside(folder, ...path);
    // A run that was killed may have left files of it, which no manifest names.
    rmSync(this.#folder, { recursive: true });
    makeInside(folder, ...path);
  }

  /** The columns hold one more row. */
  endRow(): void {
    this.#open ??= new ParquetFile(join(this.#folder, `.${this.#name()}.part`), this.#list);
    this.rows += 1;
    this.#rowsOfFile += 1;
    this.#rowsOfGroup += 1;
    if (this.#rowsOfFile === this.#options.maxFileRows) this.finish();
    else if (this.#isGroupFull()) {
      this.#rowsOfGroup = 0;
      this.#open.addGroup();
    }
  }

  /** Gives the files their names. */
  publish(): FileEntry[] {
    for (const { file, entry } of this.#finished) file.moveTo(join(this.#folder, entry.name));
    syncFolderBlocking(this.#folder);
    return this.#finished.map(({ entry }) => entry);
  }

  discard(): void {
    this.#open?.discard();
    for (const { file } of this.#finished) file.discard();
  }

  #name(): string {
    const { table, runId, maxFileRows } = this.#options;
    const { from, to } = this.#partition;
    const part = maxFileRows === 0 ? '' : `_${this.#finished.length}`;
    return `${table}_${from}_${to}${part}_${runId}.parquet`;
  }

  #isGroupFull(): boolean {
    if (this.#rowsOfGroup === rowsPerGroup) return true;
    if (this.#rowsOfGroup % checkEvery !== 0) return false;
    return this.#list.reduce((sum, { size }) => sum + size, 0) >= bytesPerGroup;
  }

  /** What was added is whole and on disk, under a temporary name. */
  finish(): void {
    if (this.#open === undefined) return;
    const name = this.#name();
    const entry = { table: this.#options.table, name, ...this.#open.finish() };
    this.#finished.push({ file: this.#open, entry });
    this.#open = undefined;
    this.#rowsOfFile = 0;
    this.#rowsOfGroup = 0;
  }
}
