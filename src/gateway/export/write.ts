/**
 * Writes a range of heights, partition by partition. A partition's files appear together once all of them are whole,
 * and are marked as done: an export that failed goes on after the last of them.
 */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { syncFolderBlocking } from '../../kernel/files.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { makeInside } from './folder.ts';
import { RecordReader, readBlocks } from './read-records.ts';
import { addBlock, addTags, addTransaction } from './rows.ts';
import { type Partition, TableFiles } from './table-files.ts';
import { type TableName, tables } from './tables.ts';

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

/** Whether what is under way must end; asked again and again. */
export type Stopped = () => boolean;

/** Rows between two reports of progress. */
const reportEvery = 20_000;

export async function writeExport(
  sql: Sql,
  plan: ExportPlan,
  report: (progress: ExportProgress) => void,
  stopped: Stopped,
): Promise<ExportProgress> {
  const run = new ExportRun(sql, plan, report, stopped);
  for (const partition of run.partitions) await run.write(partition);
  return run.progress();
}

class ExportRun {
  readonly partitions: readonly Partition[];
  readonly #sql: Sql;
  readonly #plan: ExportPlan;
  readonly #reader: RecordReader;
  readonly #report: (progress: ExportProgress) => void;
  readonly #stopped: Stopped;
  readonly #blocks;
  readonly #transactions;
  readonly #tags;
  readonly #marks: string;
  #done = 0;
  #files = 0;
  #reported = 0;

  constructor(sql: Sql, plan: ExportPlan, report: (progress: ExportProgress) => void, stopped: Stopped) {
    this.#sql = sql;
    this.#plan = plan;
    this.#report = report;
    this.#stopped = stopped;
    this.#reader = new RecordReader(sql);
    this.partitions = [...partitionsOf(plan)];
    const { outputDir: folder, runId, maxFileRows } = plan;
    this.#blocks = new TableFiles(tables.blocks(), { table: 'blocks', folder, runId, maxFileRows: 0 });
    this.#transactions = new TableFiles(tables.transactions(), {
      table: 'transactions',
      folder,
      runId,
      maxFileRows,
    });
    this.#tags = new TableFiles(tables.tags(), { table: 'tags', folder, runId, maxFileRows });
    this.#marks = makeInside(folder, '.done');
  }

  progress(): ExportProgress {
    return {
      partitionsDone: this.#done,
      partitions: this.partitions.length,
      rows: { blocks: this.#blocks.rows, transactions: this.#transactions.rows, tags: this.#tags.rows },
      files: this.#files,
    };
  }

  async write(partition: Partition): Promise<void> {
    this.#goOn();
    const mark = join(this.#marks, `${partition.from}-${partition.to}`);
    if (!(this.#plan.resume && existsSync(mark))) {
      // Without its mark a partition is written again, and what is there of it then goes: never twice, never half.
      rmSync(mark, { force: true });
      const all = [this.#blocks, this.#transactions, this.#tags];
      for (const table of all) table.begin(partition);
      try {
        await this.#fill(partition);
        for (const table of all) table.finish();
      } catch (error) {
        for (const table of all) table.discard();
        throw error;
      }
      for (const table of all) this.#files += table.publish();
      writeFileSync(mark, `${this.#plan.runId}\n`, { flush: true });
      syncFolderBlocking(this.#marks);
    }
    this.#done += 1;
    this.#report(this.progress());
  }

  async #fill({ from, to }: Partition): Promise<void> {
    const { skipL1Transactions, skipL1Tags } = this.#plan;
    const endOfTag = () => this.#tags.endRow();
    for await (const block of readBlocks(this.#sql, from, to)) {
      this.#goOn();
      addBlock(this.#blocks.columns, block);
      this.#blocks.endRow();
    }
    for await (const batch of this.#reader.read(from, to)) {
      this.#goOn();
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

function* partitionsOf(plan: ExportPlan): Generator<Partition> {
  const { startHeight, endHeight, heightPartitionSize: size, share = { first: 0, of: 1 } } = plan;
  for (let from = startHeight + share.first * size; from <= endHeight; from += share.of * size) {
    yield { from, to: Math.min(endHeight, from + size - 1) };
  }
}
