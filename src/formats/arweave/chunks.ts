/**
 * How data is cut into chunks. Every chunk has 256 KiB but the last one or two:
 *
 * - `balanced` (published clients): a last chunk under 32 KiB is avoided by cutting the last two in half;
 * - `fixed` (the node's own splitter, used for version 1 data and for data posted inline): the remainder is
 *   the last chunk, however small.
 *
 * Data whose size is an exact multiple of 256 KiB has two legal trees: with a zero-length last leaf
 * (`zeroLeaf`, what the node and arweave-js build) and without it (streaming libraries).
 */
export const CHUNK_BYTES = 262_144;
export const MIN_CHUNK_BYTES = 32_768;

export interface Split {
  readonly style: 'balanced' | 'fixed';
  readonly zeroLeaf: boolean;
}

export const clientSplit: Split = { style: 'balanced', zeroLeaf: true };
export const nodeSplit: Split = { style: 'fixed', zeroLeaf: true };

/** The size of the next chunk when `rest` bytes are left; 0 only for the zero-length leaf. */
export function nextChunkBytes(rest: number, style: Split['style']): number {
  if (rest < CHUNK_BYTES) return rest;
  const after = rest - CHUNK_BYTES;
  return style === 'balanced' && after > 0 && after < MIN_CHUNK_BYTES ? Math.ceil(rest / 2) : CHUNK_BYTES;
}

/** True when a tree over `size` bytes ends with a leaf of length zero. */
export function endsWithZeroLeaf(size: number, split: Split): boolean {
  return split.zeroLeaf && size > 0 && size % CHUNK_BYTES === 0;
}

/** The end offset of each chunk of `size` bytes, in order, without the zero-length leaf. */
export function* chunkEnds(size: number, split: Split = clientSplit): Generator<number> {
  for (let end = 0; end < size; ) {
    end += nextChunkBytes(size - end, split.style);
    yield end;
  }
}
