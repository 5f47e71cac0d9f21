/**
 * The blocks and records of a range of heights. Records are ordered by height and id. Only the keys of one block are sorted at a time, and
 * rows are fetched in batches: memory follows the largest block, not the range. What is read is stable and does not
 * change; what is pruned during the export is missing.
 */
import { inflateRawSync } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import { atMost } from '../../kernel/at-most.ts';
import { selectIn } from '../../storage/sql/many-rows.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { firstPos } from '../chain-index/order.ts';
import { columnsOf } from '../chain-index/records.ts';
import { EVERY_TERM } from '../chain-index/terms.ts';
import { type BlockRow, type ExportedRecord, exportedColumns, type Relations } from './rows.ts';

interface Key {
  readonly tie: number;
  readonly record: number;
}

/** A record and what it refers to. */
export interface Related {
  readonly row: ExportedRecord;
  readonly relations: Relations;
}

interface OwnerRow {
  readonly term: number;
  readonly address: Buffer;
  readonly key: Buffer | null;
}

const batchSize = 1_024;
const positionsPerBlock = firstPos(1);
const ownersKept = 20_000;
const idsKept = 50_000;

export class RecordReader {
  readonly #sql: Sql;
  // Many records share an owner and a bundle. One object for each also spares the encoder comparing their bytes.
  readonly #owners = new LRUCache<number, OwnerRow>(atMost(ownersKept));
  readonly #ids = new LRUCache<number, Buffer>(atMost(idsKept));

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async *read(from: number, to: number): AsyncGenerator<Related[]> {
    // The database looks for the next batch while this one is written.
    let next: Promise<Fetched> | undefined;
    for await (const batch of this.#batches(from, to)) {
      const ready = next;
      next = settled(this.#fetch(batch));
      if (ready !== undefined) yield rowsOf(await ready);
    }
    if (next !== undefined) yield rowsOf(await next);
  }

  async *#batches(from: number, to: number): AsyncGenerator<number[]> {
    let batch: number[] = [];
    for await (const block of this.#blocks(from, to)) {
      for (const { record } of block) {
        batch.push(record);
        if (batch.length < batchSize) continue;
        yield batch;
        batch = [];
      }
    }
    if (batch.length > 0) yield batch;
  }

  /** The keys of each block that has records, by id. */
  async *#blocks(from: number, to: number): AsyncGenerator<Key[]> {
    let keys: Key[] = [];
    let next = 0;
    const rows = this.#sql.stream<Key & { pos: number }>(
      `SELECT pos, tie, record FROM postings WHERE term = ? AND pos >= ? AND pos < ? ORDER BY pos, tie, record`,
      EVERY_TERM,
      firstPos(from),
      firstPos(to + 1),
    );
    for await (const key of rows) {
      if (key.pos >= next) {
        if (keys.length > 0) yield keys.sort(byTie);
        keys = [];
        next = (Math.floor(key.pos / positionsPerBlock) + 1) * positionsPerBlock;
      }
      keys.push(key);
    }
    if (keys.length > 0) yield keys.sort(byTie);
  }

  async #fetch(records: readonly number[]): Promise<Related[]> {
    const rows = await selectIn<ExportedRecord>(
      this.#sql,
      `SELECT ${columnsOf('r', exportedColumns)}, length(s.signature) AS signature_size
       FROM records r LEFT JOIN signatures s ON s.record = r.record WHERE r.record IN ({in})`,
      records,
    );
    await this.#learn(rows);
    // Within a batch the order is settled by the whole id; ids that share 48 bits lie side by side.
    rows.sort((a, b) => a.height - b.height || a.id.compare(b.id));
    return rows.map((row) => {
      const owner = this.#owners.get(row.owner);
      // The database is damaged then, and an export must not hide it.
      if (owner === undefined) throw new Error(`the index has no owner ${row.owner}`);
      return { row, relations: { owner, parent: this.#id(row.parent), root: this.#id(row.root) } };
    });
  }

  #id(record: number | null): Buffer | null {
    return record === null ? null : (this.#ids.get(record) ?? null);
  }

  async #learn(rows: readonly ExportedRecord[]): Promise<void> {
    const owners = new Set<number>();
    const ids = new Set<number>();
    for (const { owner, parent, root } of rows) {
      if (!this.#owners.has(owner)) owners.add(owner);
      if (parent !== null && !this.#ids.has(parent)) ids.add(parent);
      if (root !== null && !this.#ids.has(root)) ids.add(root);
    }
    const foundOwners = await selectIn<OwnerRow>(
      this.#sql,
      'SELECT term, hash AS address, value AS key FROM terms WHERE term IN ({in})',
      [...owners],
    );
    for (const owner of foundOwners) this.#owners.set(owner.term, owner);
    const foundIds = await selectIn<{ record: number; id: Buffer }>(
      this.#sql,
      'SELECT record, id FROM records WHERE record IN ({in})',
      [...ids],
    );
    for (const { record, id } of foundIds) this.#ids.set(record, id);
  }
}

type Fetched = { readonly rows: Related[] } | { readonly error: unknown };

/** A failure waits until it is its turn. */
function settled(fetching: Promise<Related[]>): Promise<Fetched> {
  return fetching.then(
    (rows) => ({ rows }),
    (error: unknown) => ({ error }),
  );
}

function rowsOf(fetched: Fetched): Related[] {
  if ('error' in fetched) throw fetched.error;
  return fetched.rows;
}

function byTie(a: Key, b: Key): number {
  return a.tie - b.tie || a.record - b.record;
}

interface StoredBlock extends Omit<BlockRow, 'nonce' | 'hash'> {
  readonly body: Buffer | null;
}

const maxBlockBytes = 64 * 1024 * 1024;

/** The blocks of a range of heights, with what only their stored bodies know. */
export async function* readBlocks(sql: Sql, from: number, to: number): AsyncGenerator<BlockRow> {
  const rows = sql.stream<StoredBlock>(
    `SELECT b.height, b.id, b.previous, b.timestamp, b.tx_count, b.block_size, body.body
     FROM blocks b LEFT JOIN block_bodies body ON body.height = b.height
     WHERE b.height >= ? AND b.height <= ? ORDER BY b.height`,
    from,
    to,
  );
  for await (const { body, ...row } of rows) {
    const json: unknown =
      body === null
        ? {}
        : JSON.parse(inflateRawSync(body, { maxOutputLength: maxBlockBytes }).toString('utf8'));
    yield { ...row, nonce: field(json, 'nonce'), hash: field(json, 'hash') };
  }
}

function field(json: unknown, name: string): Buffer | null {
  const value: unknown = typeof json === 'object' && json !== null ? Reflect.get(json, name) : undefined;
  return typeof value === 'string' && value !== '' ? Buffer.from(value, 'base64url') : null;
}
