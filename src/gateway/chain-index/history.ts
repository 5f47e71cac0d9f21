/**
 * The part of the index that may live outside of SQL: stable data items that were moved to a store made for billions of
 * rows (`gateway/history/`). Blocks, chain transactions, bundles and everything that may still change stay in SQL. An item
 * keeps its record key when it is moved, and is removed from SQL only after the store was read back, so every item is in
 * at least one of the two at any time. Whoever wants both asks SQL first: an item that moves meanwhile is then met twice,
 * never missed.
 */
import type { FoundKey, OrderKey, PlaceKey } from './order.ts';
import type { Criteria, PageRequest } from './page-request.ts';
import type { RecordRow } from './records.ts';

/** A moved item. Its hash is not kept: it is told anew when the bytes are read. */
export type HistoryRow = Omit<
  RecordRow,
  'hash' | 'verified' | 'terms' | 'height' | 'block_index' | 'root' | 'parent' | 'item_offset' | 'data_offset'
> & {
  readonly height: number;
  readonly block_index: number;
  readonly root: number;
  readonly parent: number;
  readonly item_offset: number;
  readonly data_offset: number;
};

/** The store did not answer, or not in time: whether it has something is not known. */
export class HistoryUnavailable extends Error {
  override readonly name = 'HistoryUnavailable';
}

/** Items were moved since the store was asked which ones it has: it must be asked again. */
export class HistoryMoved extends Error {
  override readonly name = 'HistoryMoved';
}

/** Every call throws `HistoryUnavailable` where the store cannot answer. */
export interface History {
  /** Keys of matching items in order, as many as asked for, or all there are; none beyond `until` are wanted. */
  page(request: PageRequest, until: OrderKey | undefined): Promise<FoundKey[]>;
  /** How many match of those that are no longer in SQL; undefined where that is more than the limit or too much to count. */
  count(criteria: Criteria, limit: number): Promise<number | undefined>;
  /** The items at these keys that are there, in any order. */
  rowsAt(keys: readonly PlaceKey[]): Promise<HistoryRow[]>;
  byIds(ids: readonly Buffer[]): Promise<HistoryRow[]>;
  /** Signatures by record; those that were never known are left out. */
  signatures(keys: readonly PlaceKey[]): Promise<ReadonlyMap<number, Buffer>>;
  /** How many batches it has. An answer about ids holds while this stays. */
  batches(): Promise<number>;
  /** Another text after any item was taken out of SQL. */
  progress(): Promise<string>;
}

const maxTries = 20;

/** Does work that asks the history before its transaction, again where items were moved in between. */
export async function whileNothingMoves<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof HistoryMoved) || tries === maxTries) throw error;
    }
  }
}
