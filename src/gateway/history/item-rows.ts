/** Items as rows of the history's tables, and back. */
import type { HistoryRow } from '../chain-index/history.ts';
import { blockIndexOf, DATA_ITEM, heightOf, tieOf } from '../chain-index/order.ts';
import { type RecordRow, tagText } from '../chain-index/records.ts';
import { unpackRawTags } from '../chain-index/tags.ts';
import { RowReader, RowWriter } from './row-binary.ts';
import type { TableName } from './tables.ts';

/** What of an item is moved. */
export type MovableItem = Omit<HistoryRow, 'content_type' | 'content_encoding'> & {
  readonly terms: Buffer;
  readonly signature: Buffer | null;
};

/**
 * The item as it is moved; undefined where its row says something that a row of the history cannot say, such as an
 * amount. Such a row stays in SQL.
 */
export function movable(row: RecordRow & { readonly signature: Buffer | null }): MovableItem | undefined {
  const { height, block_index, root, parent, parent_offset, item_offset, data_offset, item_size } = row;
  if (height === null || block_index === null || root === null || parent === null) return undefined;
  if (parent_offset === null || item_offset === null || data_offset === null || item_size === null) {
    return undefined;
  }
  const tags = unpackRawTags(row.tags);
  const isPlain =
    row.kind === DATA_ITEM &&
    row.quantity === '0' &&
    row.reward === '0' &&
    row.denomination === 0 &&
    row.data_root === null &&
    row.end_offset === null &&
    item_size === data_offset - item_offset + row.data_size &&
    row.target?.length !== 0 &&
    row.anchor?.length !== 0 &&
    row.content_type === tagText(tags, 'content-type') &&
    row.content_encoding === tagText(tags, 'content-encoding');
  return isPlain
    ? { ...row, height, block_index, root, parent, parent_offset, item_offset, data_offset, item_size }
    : undefined;
}

/** The columns of `records` that are read for an item; the signature is asked for by itself. */
export const readColumns = 'pos, tie, record, indexed_at, item';

const orNull = (bytes: Buffer): Buffer | null => (bytes.length === 0 ? null : Buffer.from(bytes));

export function readItem(rows: RowReader): HistoryRow {
  const pos = rows.uint64();
  const tie = rows.fixed(6);
  const record = rows.uint64();
  const indexed_at = rows.uint64();
  const item = new RowReader(rows.string());
  const id = Buffer.concat([tie, item.fixed(26)]);
  const owner = item.varint();
  const format = item.varint();
  const signature_type = item.varint();
  const data_size = item.varint();
  const root = item.varint();
  const parent = item.varint();
  const parent_offset = item.varint();
  const item_offset = item.varint();
  const header_size = item.varint();
  const target = orNull(item.string());
  const anchor = orNull(item.string());
  const tags = Buffer.from(item.string());
  const raw = unpackRawTags(tags);
  return {
    ...{
      record,
      id,
      kind: DATA_ITEM,
      height: heightOf(pos),
      block_index: blockIndexOf(pos),
      pos,
      indexed_at,
    },
    ...{ owner, format, signature_type, target, anchor, quantity: '0', reward: '0', denomination: 0 },
    ...{ data_size, data_root: null, end_offset: null, tags, root, parent, parent_offset, item_offset },
    content_type: tagText(raw, 'content-type'),
    content_encoding: tagText(raw, 'content-encoding'),
    data_offset: item_offset + header_size,
    item_size: header_size + data_size,
  };
}

/** What `readItem` reads. */
function packItem(item: MovableItem, packed: RowWriter): Buffer {
  packed.clear();
  packed.fixed(item.id, 6);
  packed.varint(item.owner);
  packed.varint(item.format);
  packed.varint(item.signature_type);
  packed.varint(item.data_size);
  packed.varint(item.root);
  packed.varint(item.parent);
  packed.varint(item.parent_offset ?? 0);
  packed.varint(item.item_offset);
  packed.varint(item.data_offset - item.item_offset);
  packed.string(item.target ?? none);
  packed.string(item.anchor ?? none);
  packed.string(item.tags);
  return packed.finish();
}

const none = Buffer.alloc(0);

/**
 * The rows of a batch for each table, in the order of the table. `items` are in the order of the index; the answer for a
 * batch is always the same bytes.
 */
export function encodeBatch(
  batch: number,
  items: readonly MovableItem[],
): Readonly<Record<TableName, Buffer>> {
  return {
    records: encodeRecords(batch, items),
    postings: encodePostings(batch, items),
    ids: encodeIds(batch, items),
    ingested: encodeIngested(batch, items),
  };
}

function encodeRecords(batch: number, items: readonly MovableItem[]): Buffer {
  const rows = new RowWriter(items.length * 256);
  const packed = new RowWriter(1_024);
  for (const item of items) {
    rows.uint32(batch);
    rows.uint64(item.pos);
    rows.fixed(item.id, 0, 6);
    rows.uint64(item.record);
    rows.uint64(item.indexed_at);
    rows.string(packItem(item, packed));
    rows.string(item.signature ?? none);
  }
  return rows.finish();
}

/** Of one term the items keep their order, which is that of the table. */
function encodePostings(batch: number, items: readonly MovableItem[]): Buffer {
  const byTerm = new Map<number, MovableItem[]>();
  for (const item of items) {
    const { terms } = item;
    for (let at = 0; at < terms.length; at += 6) {
      const term = terms.readUIntBE(at, 6);
      const known = byTerm.get(term);
      if (known === undefined) byTerm.set(term, [item]);
      else known.push(item);
    }
  }
  const rows = new RowWriter(items.length * 200);
  for (const term of [...byTerm.keys()].sort((a, b) => a - b)) {
    for (const { pos, id } of byTerm.get(term) ?? []) {
      rows.uint32(batch);
      rows.uint64(term);
      rows.uint64(pos);
      rows.fixed(id, 0, 6);
    }
  }
  return rows.finish();
}

function encodeIds(batch: number, items: readonly MovableItem[]): Buffer {
  const ties = Float64Array.from(items, ({ id }) => tieOf(id));
  const order = Uint32Array.from(items.keys()).sort(
    (a, b) => (ties[a] ?? 0) - (ties[b] ?? 0) || (items[a]?.pos ?? 0) - (items[b]?.pos ?? 0),
  );
  const rows = new RowWriter(items.length * 18);
  for (const at of order) {
    const item = items[at];
    if (item === undefined) continue;
    rows.uint32(batch);
    rows.fixed(item.id, 0, 6);
    rows.uint64(item.pos);
  }
  return rows.finish();
}

function encodeIngested(batch: number, items: readonly MovableItem[]): Buffer {
  const counts = new Map<number, Map<number, number>>();
  for (const { indexed_at, pos } of items) {
    const second = counts.get(indexed_at) ?? new Map<number, number>();
    if (second.size === 0) counts.set(indexed_at, second);
    second.set(pos, (second.get(pos) ?? 0) + 1);
  }
  const rows = new RowWriter(counts.size * 64);
  const ascending = (a: readonly [number, unknown], b: readonly [number, unknown]) => a[0] - b[0];
  for (const [indexedAt, second] of [...counts].sort(ascending)) {
    for (const [pos, count] of [...second].sort(ascending)) {
      rows.uint32(batch);
      rows.uint64(indexedAt);
      rows.uint64(pos);
      rows.uint64(count);
    }
  }
  return rows.finish();
}
