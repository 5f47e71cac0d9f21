/** The gateway's own index as the records of a band: data items by height range, pruned ones too, sorted by id. */
import { encodeRootEntry } from '../../../formats/cdb64/root-entry.ts';
import { selectIn } from '../../../storage/sql/many-rows.ts';
import type { Sql } from '../../../storage/sql/sql.ts';
import { DATA_ITEM, firstPos } from '../../chain-index/order.ts';
import { findPlaces, packedPlaces } from '../../chain-index/places.ts';
import { EVERY_TERM } from '../../chain-index/terms.ts';

export interface BandRecord {
  readonly key: Buffer;
  readonly value: Buffer;
}

/** Inclusive heights. */
export interface Heights {
  readonly from: number;
  readonly to: number;
}

const placedItems = `FROM postings p JOIN records r ON r.record = p.record JOIN records root ON root.record = r.root
  WHERE p.term = ? AND p.pos >= ? AND p.pos < ? AND r.kind = ? AND r.item_size IS NOT NULL`;

const parameters = ({ from, to }: Heights) => [EVERY_TERM, firstPos(from), firstPos(to + 1), DATA_ITEM];

const batch = 1_000;

interface Row {
  readonly id: Buffer;
  readonly root: Buffer;
  readonly item: number;
  readonly data: number;
  readonly size: number;
}

/** Items with a record, and those that were pruned a short while ago, of one moment. */
const recentItems = `SELECT r.id AS id, root.id AS root, r.parent_offset + r.item_offset AS item,
    r.parent_offset + r.data_offset AS data, r.item_size AS size ${placedItems}
  UNION ALL SELECT f.id AS id, root.id AS root, coalesce(b.parent_offset + b.data_offset, 0) + f.item_offset AS item,
    coalesce(b.parent_offset + b.data_offset, 0) + f.item_offset + f.header_size AS data,
    f.header_size + f.data_size AS size
  FROM fresh_places f JOIN records b ON b.record = f.parent
    JOIN records root ON root.record = coalesce(b.root, b.record)
  WHERE b.height >= ? AND b.height <= ? ORDER BY id`;

/**
 * Every item of the range once, whether its record is there or was pruned. The engine sorts the records, spilling to disk
 * where it must; the places are sorted. What is pruned meanwhile is in both, so the records are begun first.
 */
export async function* bandRecords(sql: Sql, heights: Heights): AsyncGenerator<BandRecord[]> {
  const recent = sql.stream<Row>(recentItems, ...parameters(heights), heights.from, heights.to);
  let records: BandRecord[] = [];
  let last: Buffer | undefined;
  for await (const { id, root, item, data, size } of inOrder(recent, () => prunedItems(sql, heights))) {
    if (last?.equals(id) === true) continue;
    last = id;
    records.push({ key: id, value: encodeRootEntry({ path: [root], offsets: { item, data, size } }) });
    if (records.length < batch) continue;
    yield records;
    records = [];
  }
  if (records.length > 0) yield records;
}

/** Two sorted lists as one; of equal ids that of the first comes first. The second is begun after the first. */
async function* inOrder(first: AsyncIterable<Row>, second: () => AsyncIterator<Row>): AsyncGenerator<Row> {
  let others: AsyncIterator<Row> | undefined;
  let other: IteratorResult<Row> | undefined;
  try {
    for await (const row of first) {
      others ??= second();
      other ??= await others.next();
      while (other.done !== true && Buffer.compare(other.value.id, row.id) < 0) {
        yield other.value;
        other = await others.next();
      }
      yield row;
    }
    others ??= second();
    for (other ??= await others.next(); other.done !== true; other = await others.next()) yield other.value;
  } finally {
    await others?.return?.();
  }
}

const bundlesWithPlaces = `FROM postings p JOIN place_counts c ON c.parent = p.record
    JOIN records b ON b.record = c.parent JOIN records root ON root.record = coalesce(b.root, b.record)
  WHERE p.term = ? AND p.pos >= ? AND p.pos < ?`;

const range = ({ from, to }: Heights) => [EVERY_TERM, firstPos(from), firstPos(to + 1)];

/** Items of the range from the blocks of places, in order of ids. */
async function* prunedItems(sql: Sql, heights: Heights): AsyncGenerator<Row> {
  const bundles = new Map<number, { readonly root: Buffer; readonly payload: number }>();
  const rows = sql.stream<{ parent: number; root: Buffer; payload: number }>(
    `SELECT c.parent, root.id AS root, coalesce(b.parent_offset + b.data_offset, 0) AS payload
     ${bundlesWithPlaces}`,
    ...range(heights),
  );
  for await (const { parent, root, payload } of rows) bundles.set(parent, { root, payload });
  if (bundles.size === 0) return;
  for await (const places of packedPlaces(sql)) {
    for (const { id, parent, itemOffset, headerSize, dataSize } of places) {
      const bundle = bundles.get(parent);
      if (bundle === undefined) continue;
      const item = bundle.payload + itemOffset;
      yield { id, root: bundle.root, item, data: item + headerSize, size: headerSize + dataSize };
    }
  }
}

export interface BandSummary {
  /** At least as many as there are: an item that was pruned and read again is counted twice. */
  readonly records: number;
  /** Time of the newest block that has one of them, in seconds; 0 without records. */
  readonly newestAt: number;
}

export async function summarize(sql: Sql, heights: Heights): Promise<BandSummary> {
  const recorded = await sql.get<Counted>(
    `SELECT count(*) AS n, max(r.height) AS newest ${placedItems}`,
    ...parameters(heights),
  );
  const pruned = await sql.get<Counted>(
    `SELECT CAST(sum(c.items) AS BIGINT) AS n, max(b.height) AS newest ${bundlesWithPlaces}`,
    ...range(heights),
  );
  const records = (recorded?.n ?? 0) + (pruned?.n ?? 0);
  const newest = Math.max(recorded?.newest ?? -1, pruned?.newest ?? -1);
  if (newest < 0) return { records, newestAt: 0 };
  const block = await sql.get<{ timestamp: number }>('SELECT timestamp FROM blocks WHERE height = ?', newest);
  return { records, newestAt: block?.timestamp ?? 0 };
}

interface Counted {
  readonly n: number | null;
  readonly newest: number | null;
}

/** Those of the ids that the index does not know at all, wherever in the chain. */
export async function unknownIds(sql: Sql, ids: readonly Buffer[]): Promise<Buffer[]> {
  const rows = await selectIn<{ id: Buffer }>(sql, 'SELECT id FROM records WHERE id IN ({in})', ids);
  const known = new Set(rows.map(({ id }) => id.toString('latin1')));
  const unknown: Buffer[] = [];
  for (const id of ids) {
    if (known.has(id.toString('latin1'))) continue;
    if ((await findPlaces(sql, id)).length === 0) unknown.push(id);
  }
  return unknown;
}

/** Height of the newest block; -1 without one. */
export async function tipOf(sql: Sql): Promise<number> {
  return (await sql.get<{ height: number | null }>('SELECT max(height) AS height FROM blocks'))?.height ?? -1;
}
