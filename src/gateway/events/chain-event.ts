/** Events of the chain as readers get them: what happened to a transaction, a data item or a block. */
import type { FeedEvent } from '../../events/feed.ts';
import type { BlockState, ChangedBlock, RecordState } from '../chain-index/event-batch.ts';
import { TRANSACTION } from '../chain-index/order.ts';
import type { Selected } from '../chain-index/records.ts';
import { type RawTag, type Tag, unpackRawTags, unpackTags } from '../chain-index/tags.ts';
import type { Subject } from '../filters/match.ts';

export const recordStates = ['new', 'mined', 'reverted', 'final'] as const satisfies readonly RecordState[];
export const blockStates = ['new', 'reverted', 'final'] as const satisfies readonly BlockState[];

/** Every type that there is. */
export const eventTypes: readonly string[] = [
  ...recordStates.map((state) => `transaction.${state}`),
  ...recordStates.map((state) => `item.${state}`),
  ...blockStates.map((state) => `block.${state}`),
];

export const eventColumns =
  'record, id, kind, indexed_at, owner, format, signature_type, target, anchor, quantity, reward, data_size, data_root, content_type, content_encoding, tags, root, parent';
export type EventRow = Selected<typeof eventColumns>;

/** What is looked up for a record beside its row. */
export interface Named {
  readonly ownerAddress: string;
  readonly parentId: string | undefined;
  readonly rootId: string | undefined;
}

/** Where a record is in the chain, or was before it was taken out. */
export interface InChain {
  readonly height: number | undefined;
  readonly blockId: Buffer | undefined;
}

export type ChainEvent = RecordEvent | BlockEvent;

/** What most readers pass over is put together only for those who want it. */
export class RecordEvent implements FeedEvent, Subject {
  readonly index: number;
  readonly time: number;
  readonly state: RecordState;
  readonly row: EventRow;
  readonly #named: Named;
  readonly #place: InChain;
  #tags: readonly RawTag[] | undefined;
  #textTags: readonly Tag[] | undefined;
  #data: Readonly<Record<string, unknown>> | undefined;

  constructor(
    given: Pick<FeedEvent, 'index' | 'time'> & { readonly state: RecordState },
    row: EventRow,
    named: Named,
    place: InChain,
  ) {
    this.index = given.index;
    this.time = given.time;
    this.state = given.state;
    this.row = row;
    this.#named = named;
    this.#place = place;
  }

  get type(): string {
    return `${this.row.kind === TRANSACTION ? 'transaction' : 'item'}.${this.state}`;
  }

  get height(): number | undefined {
    return this.#place.height;
  }

  get tags(): readonly RawTag[] {
    this.#tags ??= unpackRawTags(this.row.tags);
    return this.#tags;
  }

  get textTags(): readonly Tag[] {
    this.#textTags ??= unpackTags(this.row.tags);
    return this.#textTags;
  }

  attribute(name: string): string | number | undefined {
    return attributes[name]?.(this.row, this.#named);
  }

  get data(): Readonly<Record<string, unknown>> {
    this.#data ??= this.#describe();
    return this.#data;
  }

  #describe(): Record<string, unknown> {
    const { row } = this;
    const { ownerAddress, parentId, rootId } = this.#named;
    const { height, blockId } = this.#place;
    return {
      id: text(row.id),
      owner_address: ownerAddress,
      target: text(row.target),
      quantity: row.quantity,
      tags: this.textTags,
      data_size: row.data_size,
      content_type: row.content_type,
      ...(row.kind !== TRANSACTION && { parent_id: parentId ?? null, root_tx_id: rootId ?? null }),
      height: height ?? null,
      ...(this.state !== 'reverted' && { block_id: blockId === undefined ? null : text(blockId) }),
    };
  }
}

export class BlockEvent implements FeedEvent {
  readonly index: number;
  readonly time: number;
  readonly state: BlockState;
  readonly block: ChangedBlock;

  constructor(
    given: Pick<FeedEvent, 'index' | 'time'> & { readonly state: BlockState },
    block: ChangedBlock,
  ) {
    this.index = given.index;
    this.time = given.time;
    this.state = given.state;
    this.block = block;
  }

  get type(): string {
    return `block.${this.state}`;
  }

  get data(): Readonly<Record<string, unknown>> {
    const { id, height, previous, timestamp, txCount } = this.block;
    return { id: text(id), height, previous: text(previous), timestamp, transactions: txCount };
  }
}

const text = (bytes: Buffer | null): string => (bytes === null ? '' : bytes.toString('base64url'));

type Attribute = (row: EventRow, named: Named) => string | number | undefined;

/** As the filters of unbundling and indexing see them. `owner` and `signature` are asked for by what they hash to. */
const attributes: Readonly<Record<string, Attribute>> = {
  id: ({ id }) => text(id),
  format: ({ format }) => format,
  anchor: ({ anchor }) => text(anchor),
  last_tx: ({ anchor }) => text(anchor),
  owner_address: (_row, { ownerAddress }) => ownerAddress,
  target: ({ target }) => text(target),
  quantity: ({ quantity }) => quantity,
  reward: ({ reward }) => reward,
  signature_type: ({ signature_type }) => signature_type,
  data_size: ({ data_size }) => data_size,
  data_root: ({ data_root }) => text(data_root),
  content_type: ({ content_type }) => content_type ?? undefined,
  content_encoding: ({ content_encoding }) => content_encoding ?? undefined,
  parent_id: (_row, { parentId }) => parentId,
  root_tx_id: (_row, { rootId }) => rootId,
  root_transaction_id: (_row, { rootId }) => rootId,
};
