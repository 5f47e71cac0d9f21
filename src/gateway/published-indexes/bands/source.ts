/** The gateway's own index as the records of a band: data items by height range, sorted by id. */
import { encodeRootEntry } from '../../../formats/cdb64/root-entry.ts';
import type { Sql } from '../../../storage/sql/sql.ts';
import { DATA_ITEM, firstPos } from '../../chain-index/order.ts';
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

/** Streams from one moment of the database; the engine sorts, spilling to disk where it must. */
export async function* bandRecords(sql: Sql, heights: Heights): AsyncGenerator<BandRecord[]> {
  const rows = sql.stream<{ id: Buffer; root: Buffer; item: number; data: number; size: number }>(
    `SELECT r.id, root.id AS root, r.parent_offset + r.item_offset AS item,
       r.parent_offset + r.data_offset AS data, r.item_size AS size ${placedItems} ORDER BY r.id`,
    ...parameters(heights),
  );
  let records: BandRecord[] = [];
  for await (const { id, root, item, data, size } of rows) {
    records.push({ key: id, value: encodeRootEntry({ path: [root], offsets: { item, data, size } }) });
    if (records.length < batch) continue;
    yield records;
    records = [];
  }
  if (records.length > 0) yield records;
}

export interface BandSummary {
  readonly records: number;
  /** Time of the newest block that has one of them, in seconds; 0 without records. */
  readonly newestAt: number;
}

export async function summarize(sql: Sql, heights: Heights): Promise<BandSummary> {
  const found = await sql.get<{ records: number; newest: number | null }>(
    `SELECT count(*) AS records, max(r.height) AS newest ${placedItems}`,
    ...parameters(heights),
  );
  const newest = found?.newest ?? undefined;
  if (found === undefined || newest === undefined) return { records: 0, newestAt: 0 };
  const block = await sql.get<{ timestamp: number }>('SELECT timestamp FROM blocks WHERE height = ?', newest);
  return { records: found.records, newestAt: block?.timestamp ?? 0 };
}

/** Height of the newest block; -1 without one. */
export async function tipOf(sql: Sql): Promise<number> {
  return (await sql.get<{ height: number | null }>('SELECT max(height) AS height FROM blocks'))?.height ?? -1;
}
