/**
 * What one transaction changes about records and blocks, as one row of the event log. Everything that is imported passes
 * here, so the row is small: records stand in it by their keys, and who tells of them looks up the rest.
 *
 * Of one record the row has at most one change of each kind, in the order in which they follow one another: taken out of
 * the chain, new, mined, final.
 */
import { appendEvents, type LoggedEvent } from '../../events/event-log.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { compareKeys, heightOf, type OrderKey } from './order.ts';
import type { Mined } from './records.ts';
import { VarintReader, varintSize, writeVarint } from './varint.ts';

/** In the order of a row. The numbers are stored: never reuse one. */
const recordCodes = { reverted: 1, new: 2, mined: 3, final: 4 } as const;
const blockCodes = { reverted: 17, new: 18, final: 19 } as const;
/** Rows of another layout would have another topic. */
const topic = 'chain';

export type RecordState = keyof typeof recordCodes;
export type BlockState = keyof typeof blockCodes;

export interface RecordsChange {
  readonly state: RecordState;
  /** Where they are now; of those taken out of the chain, where they were. undefined while not mined. */
  readonly height: number | undefined;
  /** undefined where it was not known. */
  readonly blockId: Buffer | undefined;
  /** Keys, ascending. */
  readonly records: readonly number[];
}

export interface ChangedBlock {
  readonly height: number;
  readonly id: Buffer;
  readonly previous: Buffer;
  readonly timestamp: number;
  readonly txCount: number;
}

export interface BlockChange {
  readonly state: BlockState;
  readonly block: ChangedBlock;
}

export type ChainChange = RecordsChange | BlockChange;

/** Up to here everything mined was told to be final. */
export const readFinalCursor = async (tx: SqlExecutor, lock: string): Promise<OrderKey> => {
  const cursor = await tx.get<OrderKey>(`SELECT pos, tie, record FROM final_cursor ${lock}`);
  if (cursor === undefined) throw new Error('the cursor of what is final is gone');
  return cursor;
};

interface MinedRecord {
  readonly key: OrderKey;
  readonly mined: Mined;
}

export class EventBatch {
  readonly #onAppend: () => void;
  readonly #records = new Map<string, RecordsChange & { readonly records: number[] }>();
  readonly #blocks: BlockChange[] = [];
  readonly #mined: MinedRecord[] = [];

  constructor(onAppend: () => void) {
    this.#onAppend = onAppend;
  }

  /** A record that was not there before. Where it is not mined, it is told only if it `isNews`. */
  appeared(key: OrderKey, mined: Mined | undefined, isNews: boolean): void {
    if (mined !== undefined) this.#enters(key, mined);
    else if (isNews) this.#add('new', undefined, undefined, key.record);
  }

  /** A known record that was at this height (null: not mined); its key is that of where it is now. */
  moved(key: OrderKey, from: number | null, to: Mined | undefined): void {
    if (from === (to?.height ?? null)) return;
    if (from !== null) this.#add('reverted', from, undefined, key.record);
    if (to !== undefined) this.#enters(key, to);
  }

  final(record: number, height: number, blockId: Buffer | undefined): void {
    this.#add('final', height, blockId, record);
  }

  block(state: BlockState, block: ChangedBlock): void {
    this.#blocks.push({ state, block });
  }

  /** Appends the row, where anything happened. */
  async append(tx: SqlExecutor): Promise<void> {
    await this.#addLate(tx);
    const changes: ChainChange[] = [...this.#records.values()]
      .sort((a, b) => recordCodes[a.state] - recordCodes[b.state])
      .concat();
    changes.push(...this.#blocks);
    if (changes.length === 0) return;
    await appendEvents(tx, [{ topic, subject: '', body: packChanges(changes) }], Date.now());
    this.#onAppend();
  }

  #enters(key: OrderKey, mined: Mined): void {
    this.#add('mined', mined.height, mined.blockId, key.record);
    this.#mined.push({ key, mined });
  }

  /**
   * What enters the chain behind the cursor is final at once: nobody passes there again. The row lock keeps the cursor
   * where it is until this transaction is over.
   */
  async #addLate(tx: SqlExecutor): Promise<void> {
    const newBlocks = this.#blocks.filter(({ state }) => state === 'new');
    if (this.#mined.length === 0 && newBlocks.length === 0) return;
    const cursor = await readFinalCursor(tx, tx.forUpdate === '' ? '' : 'FOR SHARE');
    for (const { key, mined } of this.#mined) {
      if (compareKeys(key, cursor) <= 0) this.final(key.record, mined.height, mined.blockId);
    }
    for (const { block } of newBlocks) if (block.height < heightOf(cursor.pos)) this.block('final', block);
  }

  #add(state: RecordState, height: number | undefined, blockId: Buffer | undefined, record: number): void {
    const key = `${state} ${height ?? ''}`;
    const known = this.#records.get(key);
    if (known === undefined) this.#records.set(key, { state, height, blockId, records: [record] });
    else known.records.push(record);
  }
}

/** Layout: for each change its code; of records then height + 1, block, number of keys and the steps between them. */
function packChanges(changes: readonly ChainChange[]): Buffer {
  const parts: (number | Buffer)[] = [];
  const addBytes = (bytes: Buffer | undefined) => {
    parts.push(bytes?.length ?? 0);
    if (bytes !== undefined) parts.push(bytes);
  };
  for (const change of changes) {
    if ('block' in change) {
      const { height, id, previous, timestamp, txCount } = change.block;
      parts.push(blockCodes[change.state], height, timestamp, txCount);
      addBytes(id);
      addBytes(previous);
      continue;
    }
    parts.push(recordCodes[change.state], change.height === undefined ? 0 : change.height + 1);
    addBytes(change.blockId);
    parts.push(change.records.length);
    let last = 0;
    for (const record of change.records.toSorted((a, b) => a - b)) {
      parts.push(record - last);
      last = record;
    }
  }
  let size = 0;
  for (const part of parts) size += typeof part === 'number' ? varintSize(part) : part.length;
  const packed = Buffer.allocUnsafe(size);
  let at = 0;
  for (const part of parts) {
    at = typeof part === 'number' ? writeVarint(packed, at, part) : at + part.copy(packed, at);
  }
  return packed;
}

/** What a row of the log says; nothing where the row is of another kind. */
export function unpackChanges(row: Pick<LoggedEvent, 'topic' | 'body'>): ChainChange[] {
  if (row.topic !== topic) return [];
  const reader = new VarintReader(row.body);
  const bytes = (): Buffer => {
    const length = reader.next();
    reader.at += length;
    return row.body.subarray(reader.at - length, reader.at);
  };
  const changes: ChainChange[] = [];
  while (reader.at < row.body.length) {
    const code = reader.next();
    const blockState = stateOf(blockCodes, code);
    if (blockState !== undefined) {
      const [height, timestamp, txCount] = [reader.next(), reader.next(), reader.next()];
      changes.push({
        state: blockState,
        block: { height, timestamp, txCount, id: bytes(), previous: bytes() },
      });
      continue;
    }
    const state = stateOf(recordCodes, code);
    if (state === undefined) throw new RangeError(`a row of events has the unknown code ${code}`);
    const height = reader.next();
    const blockId = bytes();
    const records: number[] = [];
    for (let left = reader.next(); left > 0; left -= 1) records.push((records.at(-1) ?? 0) + reader.next());
    changes.push({
      state,
      height: height === 0 ? undefined : height - 1,
      blockId: blockId.length === 0 ? undefined : blockId,
      records,
    });
  }
  return changes;
}

function stateOf<S extends string>(codes: Readonly<Record<S, number>>, code: number): S | undefined {
  for (const state in codes) if (codes[state] === code) return state;
  return undefined;
}
