/**
 * Writes a range of heights, partition by partition. A partition's files appear together once all of them are whole,
 * and are marked as done: an export that failed goes on after the last of them.
 */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inflateRawSync } from 'node:zlib';
import type { Sql } from '../../storage/sql/sql.ts';
import { firstPos } from '../index/order.ts';
import { EVERY_TERM } from '../index/schema.ts';
import { ParquetFile } from './file.ts';
import { type RecordRow, tagRows, transactionRow } from './rows.ts';
import { type Cell, type TableName, tables } from './tables.ts';

export interface ExportPlan {
  /** Absolute. */
  readonly outputDir: string;
  readonly startHeight: number;
  readonly endHeight: number;
  /** 0 = no limit; of transactions and tags. */
  readonly maxFileRows: number;
  readonly heightPartitionSize: number;
  readonly skipL1Transactions: boolean;
  readonly skipL1Tags: boolean;
  /** Leave out partitions that an earlier export of this folder finished. */
  readonly resume: boolean;
  readonly runId: string;
  /** Which of the partitions are written: every `of`-th, from `first` on. All where it is absent. */
  readonly share?: { readonly first: number; readonly of: number };
}

export interface ExportProgress {
  readonly partitionsDone: number;
  readonly partitions: number;
  readonly rows: Readonly<Record<TableName, number>>;
  readonly files: number;
}

interface Partition {
  readonly from: number;
  readonly to: number;
}

const maxBlockBytes = 64 * 1024 * 1024;
/** Rows between two reports of progress. */
const reportEvery = 20_000;

export async function writeExport(
  sql: Sql,
  plan: ExportPlan,
  report: (progress: ExportProgress) => void,
): Promise<ExportProgress> {
  const partitions = [...partitionsOf(plan)];
  const rows: Record<TableName, number> = { blocks: 0, transactions: 0, tags: 0 };
  let done = 0;
  let files = 0;
  const progress = (): ExportProgress => ({
    partitionsDone: done,
    partitions: partitions.length,
    rows: { ...rows },
    files,
  });
  for (const table of tableNames) mkdirSync(join(plan.outputDir, table, 'data'), { recursive: true });
  const marks = join(plan.outputDir, '.done');
  mkdirSync(marks, { recursive: true });
  for (const partition of partitions) {
    const mark = join(marks, `${partition.from}-${partition.to}`);
    if (!(plan.resume && existsSync(mark))) {
      const written = await writePartition(sql, plan, partition, rows, () => report(progress()));
      files += written;
      writeFileSync(mark, `${plan.runId}\n`);
    }
    done += 1;
    report(progress());
  }
  return progress();
}

const tableNames: readonly TableName[] = ['blocks', 'transactions', 'tags'];

function* partitionsOf(plan: ExportPlan): Generator<Partition> {
  const { startHeight, endHeight, heightPartitionSize: size, share = { first: 0, of: 1 } } = plan;
  for (let from = startHeight + share.first * size; from <= endHeight; from += share.of * size) {
    yield { from, to: Math.min(endHeight, from + size - 1) };
  }
}

/** Answers how many files there are now. */
async function writePartition(
  sql: Sql,
  plan: ExportPlan,
  partition: Partition,
  counts: Record<TableName, number>,
  report: () => void,
): Promise<number> {
  const writers = new Map(tableNames.map((name) => [name, new TableFiles(name, plan, partition)]));
  let sinceReport = 0;
  const add = (table: TableName, row: readonly Cell[]): void => {
    writers.get(table)?.add(row);
    counts[table] += 1;
    sinceReport += 1;
    if (sinceReport < reportEvery) return;
    sinceReport = 0;
    report();
  };
  try {
    for await (const row of blockRows(sql, partition)) add('blocks', row);
    for await (const record of recordRows(sql, partition)) {
      const isItem = record.kind === 1;
      if (isItem || !plan.skipL1Transactions) add('transactions', transactionRow(record));
      if (isItem || !plan.skipL1Tags) for (const row of tagRows(record)) add('tags', row);
    }
    for (const writer of writers.values()) writer.finish();
    let files = 0;
    for (const writer of writers.values()) files += writer.publish();
    return files;
  } catch (error) {
    for (const writer of writers.values()) writer.discard();
    throw error;
  }
}

async function* blockRows(sql: Sql, { from, to }: Partition): AsyncGenerator<Cell[]> {
  const rows = sql.stream<{
    height: number;
    id: Buffer;
    previous: Buffer;
    timestamp: number;
    tx_count: number;
    block_size: string;
    body: Buffer | null;
  }>(
    `SELECT b.height, b.id, b.previous, b.timestamp, b.tx_count, b.block_size, body.body
     FROM blocks b LEFT JOIN block_bodies body ON body.height = b.height
     WHERE b.height >= ? AND b.height <= ? ORDER BY b.height`,
    from,
    to,
  );
  for await (const row of rows) {
    const json: unknown =
      row.body === null
        ? {}
        : JSON.parse(inflateRawSync(row.body, { maxOutputLength: maxBlockBytes }).toString('utf8'));
    yield [
      row.id,
      BigInt(row.height),
      row.previous.length === 0 ? null : row.previous,
      field(json, 'nonce'),
      field(json, 'hash'),
      BigInt(row.timestamp),
      BigInt(row.tx_count),
      BigInt(row.block_size),
    ];
  }
}

function field(json: unknown, name: string): Buffer | null {
  const value: unknown = typeof json === 'object' && json !== null ? Reflect.get(json, name) : undefined;
  return typeof value === 'string' && value !== '' ? Buffer.from(value, 'base64url') : null;
}

function recordRows(sql: Sql, { from, to }: Partition): AsyncIterable<RecordRow> {
  return sql.stream<RecordRow>(
    `SELECT r.id, r.kind, r.height, r.block_index, r.indexed_at, r.format, r.signature_type, r.target, r.anchor,
       r.quantity, r.reward, r.data_size, r.data_root, r.content_type, r.tags, r.parent_offset, r.item_offset,
       r.data_offset, r.item_size, o.hash AS owner_address, o.value AS owner_key,
       length(s.signature) AS signature_size, parent.id AS parent_id, root.id AS root_id
     FROM postings p JOIN records r ON r.record = p.record JOIN terms o ON o.term = r.owner
       LEFT JOIN signatures s ON s.record = r.record
       LEFT JOIN records parent ON parent.record = r.parent LEFT JOIN records root ON root.record = r.root
     WHERE p.term = ? AND p.pos >= ? AND p.pos < ? ORDER BY r.height, r.id`,
    EVERY_TERM,
    firstPos(from),
    firstPos(to + 1),
  );
}

/** The files of one table in one partition. */
class TableFiles {
  readonly #table: TableName;
  readonly #plan: ExportPlan;
  readonly #partition: Partition;
  readonly #finished: { readonly file: ParquetFile; readonly name: string }[] = [];
  #open: ParquetFile | undefined;

  constructor(table: TableName, plan: ExportPlan, partition: Partition) {
    this.#table = table;
    this.#plan = plan;
    this.#partition = partition;
  }

  get #folder(): string {
    const { from, to } = this.#partition;
    return join(this.#plan.outputDir, this.#table, 'data', `height=${from}-${to}`);
  }

  get #limit(): number {
    return this.#table === 'blocks' ? 0 : this.#plan.maxFileRows;
  }

  add(row: readonly Cell[]): void {
    this.#open ??= this.#create();
    this.#open.add(row);
    if (this.#open.rows === this.#limit) this.#close();
  }

  #create(): ParquetFile {
    mkdirSync(this.#folder, { recursive: true });
    return new ParquetFile(join(this.#folder, `.${this.#name()}.part`), tables[this.#table]);
  }

  #name(): string {
    const { from, to } = this.#partition;
    const part = this.#limit === 0 ? '' : `_${this.#finished.length}`;
    return `${this.#table}_${from}_${to}${part}_${this.#plan.runId}.parquet`;
  }

  #close(): void {
    if (this.#open === undefined) return;
    this.#open.finish();
    this.#finished.push({ file: this.#open, name: this.#name() });
    this.#open = undefined;
  }

  finish(): void {
    this.#close();
  }

  publish(): number {
    for (const { file, name } of this.#finished) file.moveTo(join(this.#folder, name));
    return this.#finished.length;
  }

  discard(): void {
    this.#open?.abandon();
    const files = [
      ...this.#finished.map(({ file }) => file),
      ...(this.#open === undefined ? [] : [this.#open]),
    ];
    for (const file of files) rmSync(file.temporary, { force: true });
  }
}
