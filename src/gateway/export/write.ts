/**
 * Writes partitions into the folder of a version that nobody reads yet. A partition is there when its entry is: an
 * export that was killed goes on after the last of them.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { syncFolderBlocking } from '../../kernel/files.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { firstPos } from '../chain-index/order.ts';
import { EVERY_TERM } from '../chain-index/terms.ts';
import { isMovedFrom } from '../history/ledger.ts';
import { makeInside } from './folder.ts';
import { countPartitions, type Grid, type Heights, partitionsOf } from './grid.ts';
import type { PartitionEntry } from './manifest.ts';
import { RecordReader, readBlocks } from './read-records.ts';
import { addBlock, addTags, addTransaction } from './rows.ts';
import { TableFiles } from './table-files.ts';
import { type TableName, tables } from './tables.ts';

export interface ExportRequest {
  /** Absolute. */
  readonly outputDir: string;
  readonly startHeight: number;
  /** The last that is exported: at most the stable height, and less than the start where nothing is. */
  readonly endHeight: number;
  /** 0 = no limit; of transactions and tags. */
  readonly maxFileRows: number;
  readonly heightPartitionSize: number;
  readonly skipL1Transactions: boolean;
  readonly skipL1Tags: boolean;
  /** Leave out partitions of which the dataset has everything. */
  readonly resume: boolean;
}

export interface ExportPlan extends ExportRequest {
  readonly grid: Grid;
  readonly runId: string;
  /** Of the version that is written. */
  readonly versionFolder: string;
  /** What the dataset has of these partitions, and what an export that was killed had finished of them. */
  readonly written: readonly WrittenPartition[];
  /** Which of the partitions are written: every `of`-th, from `first` on. All where it is absent. */
  readonly share?: { readonly first: number; readonly of: number };
}

export type WrittenPartition = Omit<PartitionEntry, 'to' | 'complete' | 'rows' | 'files'>;

export interface ExportProgress {
  readonly partitionsDone: number;
  readonly partitions: number;
  readonly rows: Readonly<Record<TableName, number>>;
  readonly files: number;
}

/** Whether what is under way must end; asked again and again. */
export type Stopped = () => boolean;

/** Rows between two reports of progress. */
const reportEvery = 20_000;

/** Where entries of finished partitions lie, below the folder of a version. */
export const entriesFolder = 'partitions';

export async function writeExport(
  sql: Sql,
  plan: ExportPlan,
  report: (progress: ExportProgress) => void,
  stopped: Stopped,
): Promise<ExportProgress> {
  const run = new ExportRun(sql, plan, report, stopped);
  for (const partition of partitionsOf(plan.grid, heightsOf(plan), plan.share)) await run.write(partition);
  return run.progress();
}

export function heightsOf({ startHeight, endHeight }: ExportRequest): Heights {
  return { from: startHeight, to: endHeight };
}

class ExportRun {
  readonly #sql: Sql;
  readonly #plan: ExportPlan;
  readonly #written: ReadonlyMap<number, WrittenPartition>;
  readonly #reader: RecordReader;
  readonly #report: (progress: ExportProgress) => void;
  readonly #stopped: Stopped;
  readonly #blocks;
  readonly #transactions;
  readonly #tags;
  #done = 0;
  #files = 0;
  #reported = 0;

  constructor(sql: Sql, plan: ExportPlan, report: (progress: ExportProgress) => void, stopped: Stopped) {
    this.#sql = sql;
    this.#plan = plan;
    this.#report = report;
    this.#stopped = stopped;
    this.#written = new Map(plan.written.map((entry) => [entry.from, entry]));
    this.#reader = new RecordReader(sql);
    const { versionFolder: folder, runId, maxFileRows } = plan;
    this.#blocks = new TableFiles(tables.blocks(), { table: 'blocks', folder, runId, maxFileRows: 0 });
    this.#transactions = new TableFiles(tables.transactions(), {
      table: 'transactions',
      folder,
      runId,
      maxFileRows,
    });
    this.#tags = new TableFiles(tables.tags(), { table: 'tags', folder, runId, maxFileRows });
  }

  progress(): ExportProgress {
    return {
      partitionsDone: this.#done,
      partitions: countPartitions(this.#plan.grid, heightsOf(this.#plan)),
      rows: { blocks: this.#blocks.rows, transactions: this.#transactions.rows, tags: this.#tags.rows },
      files: this.#files,
    };
  }

  async write(partition: Heights): Promise<void> {
    this.#goOn();
    const written = this.#written.get(partition.from);
    // A dataset never loses heights that it has.
    const exportedTo = Math.max(
      Math.min(partition.to, this.#plan.endHeight),
      written?.exportedTo ?? partition.from,
    );
    if (written === undefined || (await this.#hasMore(written, exportedTo))) {
      await this.#writeAnew(partition, exportedTo);
    }
    this.#done += 1;
    this.#report(this.progress());
  }

  /** Whether a partition has to be written again. Throws where that would take rows out of the dataset. */
  async #hasMore(written: WrittenPartition, exportedTo: number): Promise<boolean> {
    const { resume, skipL1Transactions, skipL1Tags } = this.#plan;
    const row = await this.#sql.get<{ n: number }>(
      'SELECT count(*) AS n FROM postings WHERE term = ? AND pos >= ? AND pos < ?',
      EVERY_TERM,
      firstPos(written.from),
      firstPos(written.exportedTo + 1),
    );
    const indexed = row?.n ?? 0;
    const isAsAsked =
      written.exportedTo === exportedTo &&
      written.skipL1Transactions === skipL1Transactions &&
      written.skipL1Tags === skipL1Tags;
    if (resume && isAsAsked && indexed <= written.records) return false;
    if (indexed >= written.records) return true;
    throw new Error(
      `The partition of heights ${written.from} to ${written.exportedTo} holds ${written.records} records, of which ` +
        `the index has ${indexed} left (were they pruned?). What is there stays: use resume, or another folder`,
    );
  }

  async #writeAnew(partition: Heights, exportedTo: number): Promise<void> {
    if (await isMovedFrom(this.#sql, partition.from, exportedTo)) {
      throw new Error(
        `Items of heights ${partition.from} to ${exportedTo} were moved to the history (INDEX_HISTORY_URL): export them from ClickHouse`,
      );
    }
    const all = [this.#blocks, this.#transactions, this.#tags];
    const before = this.progress().rows;
    for (const table of all) table.begin(partition);
    let records: number;
    try {
      records = await this.#fill({ from: partition.from, to: exportedTo });
      for (const table of all) table.finish();
    } catch (error) {
      for (const table of all) table.discard();
      throw error;
    }
    const files = all.flatMap((table) => table.publish());
    this.#files += files.length;
    const { skipL1Transactions, skipL1Tags } = this.#plan;
    const { rows } = this.progress();
    this.#enter({
      ...{ ...partition, exportedTo, complete: exportedTo === partition.to },
      ...{ skipL1Transactions, skipL1Tags, records },
      rows: {
        blocks: rows.blocks - before.blocks,
        transactions: rows.transactions - before.transactions,
        tags: rows.tags - before.tags,
      },
      files,
    });
  }

  #enter(entry: PartitionEntry): void {
    const folder = makeInside(this.#plan.versionFolder, entriesFolder);
    const path = join(folder, `${entry.from}-${entry.to}.json`);
    writeFileSync(`${path}.part`, JSON.stringify(entry), { flush: true });
    renameSync(`${path}.part`, path);
    syncFolderBlocking(folder);
  }

  /** Answers how many records of the index there are. */
  async #fill({ from, to }: Heights): Promise<number> {
    const { skipL1Transactions, skipL1Tags } = this.#plan;
    const endOfTag = () => this.#tags.endRow();
    let records = 0;
    for await (const block of readBlocks(this.#sql, from, to)) {
      this.#goOn();
      addBlock(this.#blocks.columns, block);
      this.#blocks.endRow();
    }
    for await (const batch of this.#reader.read(from, to)) {
      this.#goOn();
      records += batch.length;
      for (const { row, relations } of batch) {
        const isItem = row.kind === 1;
        if (isItem || !skipL1Transactions) {
          addTransaction(this.#transactions.columns, row, relations);
          this.#transactions.endRow();
        }
        if (isItem || !skipL1Tags) addTags(this.#tags.columns, row, endOfTag);
      }
      this.#reportSometimes();
    }
    return records;
  }

  #goOn(): void {
    if (this.#stopped()) throw new Error('the export was stopped');
  }

  #reportSometimes(): void {
    const rows = this.#transactions.rows + this.#tags.rows;
    if (rows - this.#reported < reportEvery) return;
    this.#reported = rows;
    this.#report(this.progress());
  }
}
