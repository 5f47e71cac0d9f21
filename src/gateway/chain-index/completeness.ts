/**
 * Which heights are complete: their block is imported, every transaction of it is known, and every bundle among them
 * that the unbundle filter lets through is read. Told from what is kept anyway (stretches of blocks, missing
 * transactions, bundles that are not read), by indexes of just these: the size of the index does not matter.
 */
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { type HeightRange, importedRanges, newestImported } from './blocks.ts';
import { leftOutBundles, unreadBundles } from './bundle-heights.ts';

export type BundleGap = 'QUEUED' | 'FAILED' | 'SKIPPED' | 'PRUNED';

interface BundleAtHeight {
  readonly id: string;
  readonly height: number;
  readonly state: BundleGap;
  /** What the last try came to. */
  readonly error: string | null;
}

export interface Completeness extends HeightRange {
  /** Nothing is lacking that the filters let through. */
  readonly complete: boolean;
  /** Nothing is left out by filters or pruned either. */
  readonly everything: boolean;
  /** Stretches of complete heights, lowest first. */
  readonly ranges: readonly HeightRange[];
  /** From where the stretches go on; null where all are told. */
  readonly next: number | null;
  /** What is lacking, lowest heights first; of each kind no more than the limit. */
  readonly missingBlocks: readonly HeightRange[];
  readonly missingTransactions: readonly { readonly id: string; readonly height: number }[];
  readonly unreadBundles: readonly BundleAtHeight[];
  readonly leftOutBundles: readonly BundleAtHeight[];
}

/** Entries of each list. */
export const completenessLimit = 100;

export interface CompletenessOptions {
  /** The index filter lets every item through. */
  readonly indexesAllItems: boolean;
}

/** Ends that are not given are 0 and the newest imported block. */
export type AskedHeights = { readonly [end in keyof HeightRange]?: number | null | undefined };

export class CompletenessReader {
  readonly #sql: SqlExecutor;
  readonly #options: CompletenessOptions;

  constructor(sql: SqlExecutor, options: CompletenessOptions) {
    this.#sql = sql;
    this.#options = options;
  }

  async of(asked: AskedHeights): Promise<Completeness> {
    const sql = this.#sql;
    const min = Math.max(0, asked.min ?? 0);
    // Of an empty index not even the first block is there.
    const range = { min, max: asked.max ?? Math.max(min, await newestImported(sql)) };
    const blocks = await blockGaps(sql, range);
    const transactions = await gapsAt(sql, range, missingIn);
    const bundles = await gapsAt(sql, range, `bundles WHERE ${unreadBundles}`);
    const leftOut = await bundlesIn(sql, range, leftOutBundles);
    const lacking = [blocks, transactions, bundles];
    const complete = lacking.every(({ gaps }) => gaps.length === 0);
    return {
      ...range,
      complete,
      everything: complete && leftOut.length === 0 && this.#options.indexesAllItems,
      ...completeRanges(range, lacking),
      missingBlocks: blocks.gaps.slice(0, completenessLimit),
      missingTransactions: transactions.gaps.length === 0 ? [] : await missingTransactions(sql, range),
      unreadBundles: bundles.gaps.length === 0 ? [] : await bundlesIn(sql, range, unreadBundles),
      leftOutBundles: leftOut,
    };
  }
}

/** What is lacking of one kind, lowest first. */
interface Gaps {
  readonly gaps: readonly HeightRange[];
  /** Up to this height all are told. */
  readonly toldTo: number;
}

async function blockGaps(sql: SqlExecutor, range: HeightRange): Promise<Gaps> {
  const imported = await importedRanges(sql, range, completenessLimit);
  const gaps: HeightRange[] = [];
  let from = range.min;
  for (const { min, max } of imported) {
    if (min > from) gaps.push({ min: from, max: min - 1 });
    from = max + 1;
  }
  if (imported.length === completenessLimit) return { gaps, toldTo: from - 1 };
  if (from <= range.max) gaps.push({ min: from, max: range.max });
  return { gaps, toldTo: range.max };
}

const missingIn = 'missing_transactions WHERE TRUE';

async function gapsAt(sql: SqlExecutor, { min, max }: HeightRange, rows: string): Promise<Gaps> {
  const found = await sql.all<{ height: number }>(
    `SELECT DISTINCT height FROM ${rows} AND height >= ? AND height <= ? ORDER BY height LIMIT ?`,
    min,
    max,
    completenessLimit,
  );
  const gaps = found.map(({ height }) => ({ min: height, max: height }));
  return { gaps, toldTo: found.length === completenessLimit ? (found.at(-1)?.height ?? max) : max };
}

/** The heights between the gaps, as far as all gaps are known. */
function completeRanges(range: HeightRange, lacking: readonly Gaps[]): Pick<Completeness, 'ranges' | 'next'> {
  const toldTo = Math.min(range.max, ...lacking.map((gaps) => gaps.toldTo));
  const gaps = lacking.flatMap((kind) => kind.gaps).sort((a, b) => a.min - b.min);
  const ranges: HeightRange[] = [];
  let from = range.min;
  for (const gap of gaps) {
    if (gap.min > toldTo) break;
    if (gap.min > from) ranges.push({ min: from, max: gap.min - 1 });
    from = Math.max(from, gap.max + 1);
  }
  if (from <= toldTo) ranges.push({ min: from, max: toldTo });
  const isCut = ranges.length > completenessLimit;
  const cut = ranges.slice(0, completenessLimit);
  const next = isCut ? (cut.at(-1)?.max ?? toldTo) + 1 : toldTo + 1;
  return { ranges: cut, next: next > range.max ? null : next };
}

async function missingTransactions(
  sql: SqlExecutor,
  { min, max }: HeightRange,
): Promise<Completeness['missingTransactions']> {
  const rows = await sql.all<{ id: Buffer; height: number }>(
    `SELECT id, height FROM ${missingIn} AND height >= ? AND height <= ? ORDER BY height, id LIMIT ?`,
    min,
    max,
    completenessLimit,
  );
  return rows.map(({ id, height }) => ({ id: id.toString('base64url'), height }));
}

async function bundlesIn(
  sql: SqlExecutor,
  { min, max }: HeightRange,
  which: string,
): Promise<BundleAtHeight[]> {
  const rows = await sql.all<{ id: Buffer; height: number; state: string; last_error: string | null }>(
    `SELECT id, height, state, last_error FROM bundles WHERE ${which} AND height >= ? AND height <= ?
     ORDER BY height LIMIT ?`,
    min,
    max,
    completenessLimit,
  );
  return rows.map(({ id, height, state, last_error }) => ({
    id: id.toString('base64url'),
    height,
    state: bundleGaps[state] ?? 'QUEUED',
    error: last_error,
  }));
}

/** A bundle that was read is told of only where items of it were pruned. */
const bundleGaps: Readonly<Record<string, BundleGap>> = {
  failed: 'FAILED',
  skipped: 'SKIPPED',
  unbundled: 'PRUNED',
};
