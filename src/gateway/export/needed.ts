/**
 * Heights that exports still need of the index: those of partitions that are not complete, which are written again as a
 * whole. Once items of them are pruned the index has less than the dataset, and writing such a partition fails.
 */
import { lstat, readdir } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { readDataset } from './dataset.ts';
import type { Heights } from './grid.ts';
import type { PartitionEntry } from './manifest.ts';

/** A dataset that grows by itself. */
export interface GrowingDataset {
  /** Below the export folder. */
  readonly outputDir: string;
  /** It has nothing below. */
  readonly startHeight: number;
}

export interface NeededHeights {
  /** To be left alone: the growing dataset does not have them in a complete partition. */
  readonly leftOut: readonly Heights[];
  /** Of datasets that an operator writes. */
  readonly endangered: readonly { readonly dataset: string; readonly heights: readonly Heights[] }[];
}

/** How far down datasets are looked for, and in how many folders. */
const maxDepth = 4;
const maxFolders = 1_000;

/** What of `range` the datasets below `folder` need. Changes nothing. */
export async function heightsNeeded(
  folder: string,
  range: Heights,
  growing: GrowingDataset | undefined,
): Promise<NeededHeights> {
  const own = growing === undefined ? undefined : resolve(folder, growing.outputDir);
  const leftOut: Heights[] = [];
  if (growing !== undefined && own !== undefined) {
    const whole = { from: Math.max(range.from, growing.startHeight), to: range.to };
    // What cannot be read may need everything: its export says what is wrong with it.
    const partitions = await partitionsIn(own).catch(() => []);
    leftOut.push(
      ...without(
        whole,
        partitions.filter(({ complete }) => complete),
      ),
    );
  }
  const endangered: { dataset: string; heights: Heights[] }[] = [];
  for (const path of await datasetsBelow(folder)) {
    if (path === own) continue;
    // One that no export can go on with loses nothing.
    const partitions = await partitionsIn(path).catch(() => []);
    const heights = partitions.flatMap(({ complete, from, to }) => {
      const part = { from: Math.max(from, range.from), to: Math.min(to, range.to) };
      return complete ? [] : without(part, leftOut);
    });
    if (heights.length > 0) endangered.push({ dataset: relative(folder, path) || '.', heights });
  }
  return { leftOut, endangered };
}

async function partitionsIn(folder: string): Promise<readonly PartitionEntry[]> {
  return (await readDataset(folder)).manifest?.partitions ?? [];
}

/** What is left of heights without others, which are in order and apart. */
function without({ from, to }: Heights, others: readonly Heights[]): Heights[] {
  const left: Heights[] = [];
  let at = from;
  for (const other of others) {
    if (other.to < at || other.from > to) continue;
    if (other.from > at) left.push({ from: at, to: other.from - 1 });
    at = other.to + 1;
  }
  if (at <= to) left.push({ from: at, to });
  return left;
}

async function datasetsBelow(folder: string): Promise<string[]> {
  const found: string[] = [];
  let level = [resolve(folder)];
  let folders = 0;
  for (let depth = 0; depth <= maxDepth && level.length > 0; depth += 1) {
    const below: string[] = [];
    for (const path of level) {
      folders += 1;
      if (folders > maxFolders) return found;
      const link = await lstat(join(path, '.current')).catch(() => undefined);
      if (link?.isSymbolicLink() === true) found.push(path);
      const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
      for (const entry of entries) {
        if (entry.isDirectory() && !entry.name.startsWith('.')) below.push(join(path, entry.name));
      }
    }
    level = below;
  }
  return found;
}
