/**
 * What is current in a dataset: its partitions, their files with rows and hashes, and the heights that they hold. It
 * lies beside the files of its version, and readers find it as `manifest.json` in the dataset's folder.
 */
import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { tryParseJson } from '../../formats/json.ts';
import { type Grid, type Heights, isOnGrid } from './grid.ts';
import { tableNames } from './tables.ts';

/** Raised when the tables' columns or the layout of the folder change. */
const schemaVersion = 1;
/** A manifest is read and written whole: a dataset has at most so many partitions. */
export const maxPartitions = 20_000;

const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const Table = Type.Union([Type.Literal('blocks'), Type.Literal('transactions'), Type.Literal('tags')]);

const FileEntry = Type.Object({
  table: Table,
  /** Without a folder; which one follows from table and heights. */
  name: Type.String({ pattern: '^[A-Za-z0-9_]{1,160}\\.parquet$' }),
  rows: Count,
  bytes: Count,
  sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
});

const PartitionEntry = Type.Object({
  from: Count,
  to: Count,
  /** The last height that is in it; less than `to` while the chain has not come there. */
  exportedTo: Count,
  complete: Type.Boolean(),
  skipL1Transactions: Type.Boolean(),
  skipL1Tags: Type.Boolean(),
  /** Of the index, also those whose rows were left out: tells whether the index has more of these heights by now. */
  records: Count,
  rows: Type.Object({ blocks: Count, transactions: Count, tags: Count }),
  files: Type.Array(FileEntry),
});

const Manifest = Type.Object({
  schemaVersion: Type.Literal(schemaVersion),
  /** The run that wrote it, and the folder of its files. */
  version: Type.String(),
  folder: Type.String(),
  writtenAt: Type.String(),
  firstHeight: Count,
  heightPartitionSize: Type.Integer({ minimum: 1 }),
  /** Heights that are in the dataset, without gaps each. */
  heights: Type.Array(Type.Object({ from: Count, to: Count })),
  /** Whether the last partition is, and with it every one, whole. */
  complete: Type.Boolean(),
  rows: Type.Object({ blocks: Count, transactions: Count, tags: Count }),
  partitions: Type.Array(PartitionEntry, { maxItems: maxPartitions }),
});

export type FileEntry = Static<typeof FileEntry>;
export type PartitionEntry = Static<typeof PartitionEntry>;
export type DatasetManifest = Static<typeof Manifest>;

const isManifest = Compile(Manifest);
const isPartitionEntry = Compile(PartitionEntry);

/** Undefined where it is none, or one of another schema. */
export function parseManifest(text: string): DatasetManifest | undefined {
  const json = tryParseJson(text);
  if (!isManifest.Check(json)) return undefined;
  const grid = gridOf(json);
  return json.partitions.every((entry) => isSound(entry, grid)) ? json : undefined;
}

export function parseEntry(text: string, grid: Grid): PartitionEntry | undefined {
  const json = tryParseJson(text);
  return isPartitionEntry.Check(json) && isSound(json, grid) ? json : undefined;
}

function isSound(entry: PartitionEntry, grid: Grid): boolean {
  return isOnGrid(grid, entry) && entry.exportedTo >= entry.from && entry.exportedTo <= entry.to;
}

export function gridOf({ firstHeight, heightPartitionSize }: DatasetManifest): Grid {
  return { origin: firstHeight, size: heightPartitionSize };
}

export interface ManifestOrigin {
  readonly version: string;
  readonly folder: string;
  readonly grid: Grid;
}

export function makeManifest(
  { version, folder, grid }: ManifestOrigin,
  entries: readonly PartitionEntry[],
): DatasetManifest {
  const partitions = entries.toSorted((a, b) => a.from - b.from);
  const rows = { blocks: 0, transactions: 0, tags: 0 };
  for (const entry of partitions) for (const table of tableNames) rows[table] += entry.rows[table];
  return {
    ...{ schemaVersion, version, folder, writtenAt: new Date().toISOString() },
    ...{ firstHeight: grid.origin, heightPartitionSize: grid.size },
    heights: joined(partitions),
    complete: partitions.every(({ complete }) => complete),
    rows,
    partitions,
  };
}

/** The heights of partitions in order, those that follow one another in one. */
function joined(partitions: readonly PartitionEntry[]): Heights[] {
  const ranges: { from: number; to: number }[] = [];
  for (const { from, exportedTo } of partitions) {
    const last = ranges.at(-1);
    if (last?.to === from - 1) last.to = exportedTo;
    else ranges.push({ from, to: exportedTo });
  }
  return ranges;
}

/** Up to which height everything from `start` on is in the dataset; undefined where `start` is not. */
export function coveredFrom({ heights }: DatasetManifest, start: number): number | undefined {
  return heights.find(({ from, to }) => from <= start && start <= to)?.to;
}
