/**
 * The heights of a dataset, cut into partitions of one size. A partition has its name from the grid and not from the
 * moment it was written: what is written again, with more heights in it, is the same partition.
 */

export interface Grid {
  /** Where the first partition begins: less than the size. */
  readonly origin: number;
  /** Heights of a partition. */
  readonly size: number;
}

/** Heights, both included. */
export interface Heights {
  readonly from: number;
  readonly to: number;
}

/** The grid that has a partition beginning at a height. */
export function gridFrom(startHeight: number, size: number): Grid {
  return { origin: startHeight % size, size };
}

export function isSameGrid(a: Grid, b: Grid): boolean {
  return a.origin === b.origin && a.size === b.size;
}

export function isOnGrid({ origin, size }: Grid, { from, to }: Heights): boolean {
  return from >= origin && (from - origin) % size === 0 && to === from + size - 1;
}

/** The partitions that hold these heights: every `of`-th from `first` on, or all. */
export function* partitionsOf(
  { size }: Grid,
  { from, to }: Heights,
  share = { first: 0, of: 1 },
): Generator<Heights> {
  for (let at = from + share.first * size; at <= to; at += share.of * size) {
    yield { from: at, to: at + size - 1 };
  }
}

export function countPartitions({ size }: Grid, { from, to }: Heights): number {
  return Math.max(0, Math.ceil((to - from + 1) / size));
}
