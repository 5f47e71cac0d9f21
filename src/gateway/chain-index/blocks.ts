/** Blocks of the current chain: one row per height, the node's own JSON beside it, compressed. */
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import type { ChangedBlock, EventBatch } from './event-batch.ts';
import type { BlockSummary } from './gateway-index.ts';

export interface NewBlock {
  readonly height: number;
  /** `indep_hash` and `previous_block`; 48 bytes, 32 in the oldest blocks. */
  readonly id: Buffer;
  readonly previous: Buffer;
  readonly timestamp: number;
  readonly txCount: number;
  readonly blockSize: string;
  readonly weaveSize: string;
  /** As the node sent it. */
  readonly json: Buffer;
}

interface BlockRow {
  readonly height: number;
  readonly id: Buffer;
  readonly previous: Buffer;
  readonly timestamp: number;
}

/** A block's JSON is at most a few hundred KiB; what inflates to more was not written by us. */
const maxJsonBytes = 64 * 1024 * 1024;

const summaryColumns = 'height, id, previous, timestamp';
/** Of `ChangedBlock`. */
export const changedBlockColumns = `${summaryColumns}, tx_count AS "txCount"`;

export function toSummary(row: BlockRow): BlockSummary {
  return {
    height: row.height,
    id: row.id.toString('base64url'),
    previous: row.previous.toString('base64url'),
    timestamp: row.timestamp,
  };
}

/** `events` are appended by the caller. */
export async function insertBlock(tx: SqlExecutor, block: NewBlock, events?: EventBatch): Promise<void> {
  events?.block('new', block);
  await tx.run(
    `INSERT INTO blocks (height, id, previous, timestamp, tx_count, block_size, weave_size)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
    block.height,
    block.id,
    block.previous,
    block.timestamp,
    block.txCount,
    block.blockSize,
    block.weaveSize,
  );
  await tx.run(
    'INSERT INTO block_bodies (height, body) VALUES (?, ?)',
    block.height,
    deflateRawSync(block.json),
  );
}

/** `events` are appended by the caller. */
export async function deleteBlocksAbove(tx: SqlExecutor, height: number, events: EventBatch): Promise<void> {
  const blocks = await tx.all<ChangedBlock>(
    `SELECT ${changedBlockColumns} FROM blocks WHERE height > ? ORDER BY height DESC`,
    height,
  );
  for (const block of blocks) events.block('reverted', block);
  await tx.run('DELETE FROM block_bodies WHERE height > ?', height);
  await tx.run('DELETE FROM missing_transactions WHERE height > ?', height);
  await tx.run('DELETE FROM blocks WHERE height > ?', height);
}

export async function blockAt(sql: SqlExecutor, height: number): Promise<BlockSummary | undefined> {
  const row = await sql.get<BlockRow>(`SELECT ${summaryColumns} FROM blocks WHERE height = ?`, height);
  return row && toSummary(row);
}

export async function blockById(sql: SqlExecutor, id: Buffer): Promise<BlockSummary | undefined> {
  const row = await sql.get<BlockRow>(`SELECT ${summaryColumns} FROM blocks WHERE id = ?`, id);
  return row && toSummary(row);
}

export async function blockJson(sql: Sql, height: number): Promise<string | undefined> {
  const row = await sql.get<{ body: Buffer }>('SELECT body FROM block_bodies WHERE height = ?', height);
  return row && inflateRawSync(row.body, { maxOutputLength: maxJsonBytes }).toString('utf8');
}

export interface BlockPage {
  readonly minHeight: number;
  readonly maxHeight: number;
  /** Only these blocks, where given. */
  readonly ids: readonly Buffer[] | undefined;
  readonly ascending: boolean;
  readonly limit: number;
}

export async function pageOfBlocks(sql: Sql, page: BlockPage): Promise<BlockSummary[]> {
  const among = page.ids === undefined ? '' : `AND id IN (${page.ids.map(() => '?').join(', ')})`;
  if (page.ids?.length === 0) return [];
  const rows = await sql.all<BlockRow>(
    `SELECT ${summaryColumns} FROM blocks WHERE height >= ? AND height <= ? ${among}
     ORDER BY height ${page.ascending ? 'ASC' : 'DESC'} LIMIT ?`,
    page.minHeight,
    page.maxHeight,
    ...(page.ids ?? []),
    page.limit,
  );
  return rows.map(toSummary);
}
