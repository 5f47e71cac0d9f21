/**
 * Where items lie whose records were pruned: what is needed to read them, for ever. A prune writes places in the
 * transaction that removes the records, so an index that is never pruned stores nothing twice and writing to it costs
 * nothing more. They come into `fresh_places` and are moved from there into blocks of `places`, a thousand to a row, so
 * that neither engine's cost of a row is paid for each.
 *
 * A place names the record of its bundle. Records of bundles and of chain transactions are never pruned, so root, height
 * and the bundle's own place are read from there, and a place holds nothing that a fork could change.
 */
import { hash } from 'node:crypto';
import { insertRows, selectIn } from '../../storage/sql/many-rows.ts';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import { BLOCK_ITEMS, mergePlaces, type Place, packPlaces, placesIn, unpackPlaces } from './place-block.ts';

/** A place with what is said about the content. */
export interface KeptItem extends Omit<Place, 'type'> {
  readonly contentType: string | null;
  readonly contentEncoding: string | null;
}

const freshColumns = ['id', 'parent', 'item_offset', 'header_size', 'data_size', 'type'];

interface FreshRow {
  readonly id: Buffer;
  readonly parent: number;
  readonly item_offset: number;
  readonly header_size: number;
  readonly data_size: number;
  readonly type: number;
}

/** In the transaction that removes the records. */
export async function keepPlaces(tx: SqlExecutor, items: readonly KeptItem[]): Promise<void> {
  const types = await internTypes(tx, items);
  const fresh = await insertRows<{ parent: number }>(
    tx,
    'fresh_places',
    freshColumns,
    items.map((item) => [
      item.id,
      item.parent,
      item.itemOffset,
      item.headerSize,
      item.dataSize,
      types.get(typeKey(item)) ?? 0,
    ]),
    'ON CONFLICT (id, parent) DO NOTHING RETURNING parent',
  );
  await addCounts(tx, fresh, 1);
}

/** How many items of each bundle have a place, by which a height range is counted without reading the places. */
async function addCounts(
  tx: SqlExecutor,
  places: readonly { readonly parent: number }[],
  sign: 1 | -1,
): Promise<void> {
  for (const [parent, items] of countByParent(places)) {
    await tx.run(
      `INSERT INTO place_counts (parent, items) VALUES (?, ?)
       ON CONFLICT (parent) DO UPDATE SET items = place_counts.items + excluded.items`,
      parent,
      sign * items,
    );
  }
}

export function countByParent(items: Iterable<{ readonly parent: number }>): Map<number, number> {
  const counts = new Map<number, number>();
  for (const { parent } of items) counts.set(parent, (counts.get(parent) ?? 0) + 1);
  return counts;
}

type Typed = Pick<KeptItem, 'contentType' | 'contentEncoding'>;

/** Equal for equal types; '' where there is none. */
function typeKey({ contentType, contentEncoding }: Typed): string {
  if (contentType === null && contentEncoding === null) return '';
  return JSON.stringify([contentType, contentEncoding]);
}

async function internTypes(tx: SqlExecutor, items: readonly Typed[]): Promise<Map<string, number>> {
  const byHash = new Map<string, { key: string; item: Typed }>();
  for (const item of items) {
    const key = typeKey(item);
    if (key !== '') byHash.set(hash('sha256', key), { key, item });
  }
  const types = new Map<string, number>();
  const learn = (rows: readonly { type: number; hash: Buffer }[]): void => {
    for (const row of rows) {
      const text = row.hash.toString('hex');
      const known = byHash.get(text);
      if (known !== undefined) types.set(known.key, row.type);
      byHash.delete(text);
    }
  };
  const select = async (): Promise<void> =>
    learn(
      await selectIn(
        tx,
        'SELECT type, hash FROM place_types WHERE hash IN ({in})',
        [...byHash.keys()].map((text) => Buffer.from(text, 'hex')),
      ),
    );
  await select();
  if (byHash.size === 0) return types;
  await insertRows(
    tx,
    'place_types',
    ['hash', 'content_type', 'content_encoding'],
    [...byHash].map(([text, { item }]) => [Buffer.from(text, 'hex'), item.contentType, item.contentEncoding]),
    'ON CONFLICT (hash) DO NOTHING',
  );
  await select();
  return types;
}

/** Of one moment: a place that is moved into its block is in one of the two. */
const findStatement = `SELECT parent, item_offset, header_size, data_size, type, NULL AS packed
    FROM fresh_places WHERE id = ?
  UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, packed
    FROM (SELECT packed FROM places WHERE first <= ? ORDER BY first DESC LIMIT 1) AS block`;

type FoundRow = (Omit<FreshRow, 'id'> & { readonly packed: null }) | { readonly packed: Buffer };

/** The places of an id; empty where no record of it was ever pruned. */
export async function findPlaces(sql: SqlExecutor, id: Buffer): Promise<Place[]> {
  const rows = await sql.all<FoundRow>(findStatement, id, id);
  return rows.flatMap((row) => (row.packed === null ? [placeOf({ ...row, id })] : placesIn(row.packed, id)));
}

function placeOf(row: FreshRow): Place {
  return {
    id: row.id,
    parent: row.parent,
    itemOffset: row.item_offset,
    headerSize: row.header_size,
    dataSize: row.data_size,
    type: row.type,
  };
}

/** One of so many may be outside of the blocks: to move them rewrites what is there. */
const freshShare = 16;
const mergeBatch = BLOCK_ITEMS * 2;

export async function isPackingDue(sql: Sql): Promise<boolean> {
  const fresh = await sql.get<{ n: number }>('SELECT count(*) AS n FROM fresh_places');
  const packed = await sql.get<{ n: number | null }>('SELECT CAST(sum(items) AS BIGINT) AS n FROM places');
  return (fresh?.n ?? 0) * freshShare > (packed?.n ?? 0);
}

/** Moves the next places into their block, in one transaction; answers how many. */
export async function packNext(sql: Sql): Promise<number> {
  return sql.transaction(async (tx) => {
    // A prune and the mover of the history may both be at it.
    if (tx.forUpdate !== '') await tx.get(`SELECT batches FROM history_extent ${tx.forUpdate}`);
    const lowest = await tx.get<{ id: Buffer }>('SELECT id FROM fresh_places ORDER BY id LIMIT 1');
    if (lowest === undefined) return 0;
    const block = await tx.get<{ first: Buffer; packed: Buffer }>(
      'SELECT first, packed FROM places WHERE first <= ? ORDER BY first DESC LIMIT 1',
      lowest.id,
    );
    const next = await tx.get<{ first: Buffer }>(
      'SELECT first FROM places WHERE first > ? ORDER BY first LIMIT 1',
      lowest.id,
    );
    const rows = await tx.all<FreshRow>(
      `SELECT ${freshColumns.join(', ')} FROM fresh_places
       WHERE id >= ? ${next === undefined ? '' : 'AND id < ?'} ORDER BY id, parent LIMIT ?`,
      lowest.id,
      ...(next === undefined ? [] : [next.first]),
      mergeBatch,
    );
    const { blocks, known } = mergePlaces(
      block === undefined ? [] : unpackPlaces(block.packed),
      rows.map(placeOf),
    );
    for (const [at, places] of blocks.entries()) {
      // The first block begins before every id.
      const first = at === 0 ? (block?.first ?? Buffer.alloc(0)) : places[0]?.id;
      await tx.run(
        `INSERT INTO places (first, items, packed) VALUES (?, ?, ?)
         ON CONFLICT (first) DO UPDATE SET items = excluded.items, packed = excluded.packed`,
        first ?? Buffer.alloc(0),
        places.length,
        packPlaces(places),
      );
    }
    const last = rows.at(-1);
    if (last !== undefined) {
      await tx.run(
        'DELETE FROM fresh_places WHERE (id, parent) >= (?, 0) AND (id, parent) <= (?, CAST(? AS BIGINT))',
        lowest.id,
        last.id,
        last.parent,
      );
    }
    // They were counted when they were kept again.
    await addCounts(tx, known, -1);
    return rows.length;
  });
}

/**
 * All places in blocks, in order of ids, a block at a time. Blocks that are divided meanwhile are read on from the last
 * id: nothing is left out, and what is added meanwhile may be.
 */
export async function* packedPlaces(sql: Sql): AsyncGenerator<readonly Place[]> {
  let after: Buffer | undefined;
  for (let first: Buffer | undefined = Buffer.alloc(0); ; ) {
    const block: { first: Buffer; packed: Buffer } | undefined = await sql.get(
      `SELECT first, packed FROM places WHERE first ${after === undefined ? '>=' : '>'} ? ORDER BY first LIMIT 1`,
      first,
    );
    if (block === undefined) return;
    first = block.first;
    const last = after;
    const places = unpackPlaces(block.packed);
    yield last === undefined ? places : places.filter(({ id }) => Buffer.compare(id, last) > 0);
    after = places.at(-1)?.id ?? after ?? Buffer.alloc(0);
  }
}
