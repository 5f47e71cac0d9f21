/** The files of one table: of a partition at a time, in groups of rows, published together once all are whole. */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { syncFolderBlocking } from '../../kernel/files.ts';
import { makeInside } from './folder.ts';
import type { Column } from './parquet/column.ts';
import { ParquetFile } from './parquet/file.ts';
import type { TableName } from './tables.ts';

export interface Partition {
  readonly from: number;
  readonly to: number;
}

export interface TableFilesOptions {
  readonly table: TableName;
  /** Of the whole export. */
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
  #finished: { readonly file: ParquetFile; readonly name: string }[] = [];
  #open: ParquetFile | undefined;
  #partition: Partition = { from: 0, to: 0 };
  #folder = '';
  #rowsOfFile = 0;
  #rowsOfGroup = 0;
  rows = 0;

  constructor(columns: C, options: TableFilesOptions) {
    this.columns = columns;
    this.#list = Object.values(columns);
    this.#options = options;
  }

  begin(partition: Partition): void {
    this.#partition = partition;
    this.#finished = [];
    const { folder, table } = this.#options;
    this.#folder = makeInside(folder, table, 'data', `height=${partition.from}-${partition.to}`);
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

  /** Gives the files their names, and removes what earlier runs left of this partition. Answers how many there are. */
  publish(): number {
    const mine = new Set(this.#finished.map(({ name }) => name));
    for (const { file, name } of this.#finished) file.moveTo(join(this.#folder, name));
    const { from, to } = this.#partition;
    const start = `${this.#options.table}_${from}_${to}_`;
    for (const name of readdirSync(this.#folder)) {
      const isEarlier = name.startsWith(start) && name.endsWith('.parquet') && !mine.has(name);
      const isUnfinished = name.startsWith(`.${start}`) && name.endsWith('.parquet.part');
      if (isEarlier || isUnfinished) rmSync(join(this.#folder, name), { force: true });
    }
    syncFolderBlocking(this.#folder);
    return mine.size;
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
    this.#open.finish();
    this.#finished.push({ file: this.#open, name: this.#name() });
    this.#open = undefined;
    this.#rowsOfFile = 0;
    this.#rowsOfGroup = 0;
  }
}
