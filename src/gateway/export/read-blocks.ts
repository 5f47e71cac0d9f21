/** The blocks of a range of heights, with what only their stored bodies know. */
import { inflateRawSync } from 'node:zlib';
import type { Sql } from '../../storage/sql/sql.ts';
import type { BlockRow } from './rows.ts';

interface StoredBlock extends Omit<BlockRow, 'nonce' | 'hash'> {
  readonly body: Buffer | null;
}

const maxBlockBytes = 64 * 1024 * 1024;

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
