/**
 * The one order of the index, as two integers. Ascending by height it is: height, index in the block,
 * transactions before data items, id bytes; records that are not mined come last, by the time they were
 * indexed, then id bytes. `pos` carries everything but the id, `tie` the id's first 48 bits, and the record
 * key settles the rest, so that the order is total and stable.
 */

/** Positions of records without a height begin here, above any mined one. */
export const PENDING_POS = 2 ** 52;

const INDEX_BITS = 17;
const perBlock = 2 ** (INDEX_BITS + 1);
/** Blocks hold at most 1,000 transactions today; far more fit. */
export const MAX_BLOCK_INDEX = 2 ** INDEX_BITS - 1;
/** Heights beyond this are refused on import: at two minutes a block, sixty-five thousand years. */
export const MAX_HEIGHT = 2 ** 34 - 1;

export type RecordKind = 0 | 1;
export const TRANSACTION: RecordKind = 0;
export const DATA_ITEM: RecordKind = 1;

export function minedPos(height: number, blockIndex: number, kind: RecordKind): number {
  return height * perBlock + blockIndex * 2 + kind;
}

export function pendingPos(indexedAt: number): number {
  return PENDING_POS + indexedAt;
}

/** First position of a block; `firstPos(height + 1) - 1` is its last. */
export function firstPos(height: number): number {
  return Math.min(height, MAX_HEIGHT + 1) * perBlock;
}

/** The height of a mined position. */
export function heightOf(pos: number): number {
  return Math.floor(pos / perBlock);
}

/** The index in its block of a mined position. */
export function blockIndexOf(pos: number): number {
  return Math.floor((pos % perBlock) / 2);
}

export function tieOf(id: Buffer): number {
  return id.readUIntBE(0, 6);
}

export interface OrderKey {
  readonly pos: number;
  readonly tie: number;
  readonly record: number;
}

/** A key without what only settles a tie. */
export type PlaceKey = Pick<OrderKey, 'pos' | 'tie'>;

/** A key that a search found. */
export interface FoundKey extends OrderKey {
  /** Of an item of the history: its position, whatever the answer is ordered by. */
  readonly minedAt?: number;
}

export function compareKeys(a: OrderKey, b: OrderKey): number {
  return a.pos - b.pos || a.tie - b.tie || a.record - b.record;
}
