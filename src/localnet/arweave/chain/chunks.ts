/** Chunks: taken when their proof leads to the data_root of a known transaction, given by place in the weave. */
import { hash } from 'node:crypto';
import { CHUNK_BYTES } from '../../../formats/arweave/chunks.ts';
import type { DataTree } from '../../../formats/arweave/data-root.ts';
import { claimedEnd, MAX_PATH_BYTES, verifyPath } from '../../../formats/arweave/proof.ts';
import { tryDecodeBase64url } from '../../../formats/base64url.ts';
import type { Sql, SqlExecutor } from '../../../storage/sql/sql.ts';
import { type ChunkRefusal, chunkRefused } from '../errors.ts';

export interface PostedChunk {
  readonly dataRoot: Buffer;
  readonly dataSize: bigint;
  readonly dataPath: Buffer;
  /** Any byte of the chunk, relative to the transaction's data. */
  readonly offset: bigint | undefined;
  readonly bytes: Buffer;
}

/** A chunk as GET /chunk answers it. */
export interface LocatedChunk {
  readonly bytes: Buffer;
  readonly dataPath: Buffer;
  readonly txPath: Buffer;
}

/** Notes have 32 bytes: larger numbers cannot be proven. */
const MAX_NOTE = 2n ** 256n - 1n;

/** Reads the body of POST /chunk; what is not of its form is refused as `invalid_json`. */
export function parseChunk(body: unknown): PostedChunk {
  const field = (name: string): string | undefined => {
    if (typeof body !== 'object' || body === null) throw chunkRefused('invalid_json');
    const value: unknown = Reflect.get(body, name);
    if (value !== undefined && typeof value !== 'string') throw chunkRefused('invalid_json');
    return value;
  };
  const bytes = (name: string): Buffer => {
    const decoded = tryDecodeBase64url(field(name) ?? '?');
    if (decoded === undefined) throw chunkRefused('invalid_json');
    return decoded;
  };
  const integer = (text: string): bigint => {
    if (!/^(?:0|[1-9][0-9]{0,99})$/.test(text)) throw chunkRefused('invalid_json');
    return BigInt(text);
  };
  const offset = field('offset');
  return {
    dataRoot: bytes('data_root'),
    dataSize: integer(field('data_size') ?? ''),
    dataPath: bytes('data_path'),
    bytes: bytes('chunk'),
    offset: offset === undefined ? undefined : integer(offset),
  };
}

/** Checks in the node's order and stores; posting the same chunk again changes nothing. */
export async function acceptChunk(sql: Sql, chunk: PostedChunk): Promise<void> {
  const { dataRoot, dataSize, dataPath, offset, bytes } = chunk;
  const refuse = (reason: ChunkRefusal): never => {
    throw chunkRefused(reason);
  };
  if (dataSize > MAX_NOTE) refuse('data_size_too_big');
  if (bytes.length > CHUNK_BYTES) refuse('chunk_too_big');
  if (dataPath.length > MAX_PATH_BYTES) refuse('data_path_too_big');
  if (offset === undefined) throw chunkRefused('offset_field_required');
  if (offset > MAX_NOTE) refuse('offset_too_big');
  const end = claimedEnd(dataPath);
  if (end === undefined || (end !== Number(dataSize) && dataPath.length > bytes.length)) {
    refuse('chunk_proof_ratio_not_attractive');
  }
  const size = Number(dataSize);
  if (!Number.isSafeInteger(size) || !(await knowsDataRoot(sql, dataRoot, size)))
    refuse('data_root_not_found');
  const leaf = verifyPath(dataRoot, Number(offset), size, dataPath, 'rebase');
  if (leaf === undefined || leaf.end - leaf.start !== bytes.length) throw chunkRefused('invalid_proof');
  if (!hash('sha256', bytes, 'buffer').equals(leaf.data)) refuse('invalid_proof');
  await sql.transaction(async (tx) => {
    // The transaction may have been dropped while the proof was checked.
    if (!(await knowsDataRoot(tx, dataRoot, size))) refuse('data_root_not_found');
    await putChunk(tx, { dataRoot, dataSize: size, start: leaf.start, end: leaf.end, dataPath, bytes });
  });
}

export async function knowsDataRoot(sql: SqlExecutor, dataRoot: Buffer, dataSize: number): Promise<boolean> {
  const row = await sql.get(
    'SELECT 1 AS known FROM transactions WHERE data_root = ? AND data_size = ? LIMIT 1',
    dataRoot,
    dataSize,
  );
  return row !== undefined;
}

interface ChunkRecord {
  readonly dataRoot: Buffer;
  readonly dataSize: number;
  readonly start: number;
  readonly end: number;
  readonly dataPath: Buffer;
  readonly bytes: Uint8Array;
}

async function putChunk(tx: SqlExecutor, chunk: ChunkRecord): Promise<void> {
  await tx.run(
    `INSERT INTO chunks (data_root, data_size, chunk_end, chunk_start, data_path, bytes)
     VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    chunk.dataRoot,
    chunk.dataSize,
    chunk.end,
    chunk.start,
    chunk.dataPath,
    chunk.bytes,
  );
}

/** Stores data that came inline, chunk by chunk. */
export async function putInlineData(tx: SqlExecutor, data: Buffer, tree: DataTree): Promise<void> {
  for (const { start, end, dataPath } of tree.proofs()) {
    const bytes = data.subarray(start, end);
    await putChunk(tx, { dataRoot: tree.root, dataSize: tree.size, start, end, dataPath, bytes });
  }
}

/** Forgets the chunks of a data root that no transaction has any more. */
export async function dropOrphanChunks(tx: SqlExecutor, dataRoot: Buffer, dataSize: number): Promise<void> {
  if (dataSize === 0 || (await knowsDataRoot(tx, dataRoot, dataSize))) return;
  await tx.run('DELETE FROM chunks WHERE data_root = ? AND data_size = ?', dataRoot, dataSize);
}

interface ChunkRow {
  chunk_start: number;
  chunk_end: number;
  data_path: Buffer;
  bytes: Buffer;
}

/** The chunk that holds the byte at `offset`, counted from 1 as the weave does; undefined in gaps and beyond. */
export async function chunkAtWeaveOffset(
  sql: SqlExecutor,
  offset: number,
): Promise<LocatedChunk | undefined> {
  const place = await placeAt(sql, offset);
  if (place === undefined) return undefined;
  const chunk = await chunkAt(sql, place.dataRoot, place.dataSize, place.relative);
  return chunk && { bytes: chunk.bytes, dataPath: chunk.data_path, txPath: place.txPath };
}

interface WeavePlace {
  readonly dataRoot: Buffer;
  readonly dataSize: number;
  readonly txPath: Buffer;
  /** In the transaction's data. */
  readonly relative: number;
}

async function placeAt(sql: SqlExecutor, offset: number): Promise<WeavePlace | undefined> {
  const transaction = await sql.get<{
    data_root: Buffer;
    data_size: number;
    weave_end: number;
    tx_path: Buffer;
  }>(
    `SELECT data_root, data_size, weave_end, tx_path FROM transactions
     WHERE weave_end IS NOT NULL AND weave_end >= ? ORDER BY weave_end LIMIT 1`,
    offset,
  );
  if (transaction === undefined) return undefined;
  const { data_root: dataRoot, data_size: dataSize, tx_path: txPath } = transaction;
  const relative = offset - 1 - (transaction.weave_end - dataSize);
  return relative < 0 ? undefined : { dataRoot, dataSize, txPath, relative };
}

/** Forgets the chunk that holds a byte of the weave, as a node does whose disk failed; false where there is none. */
export async function forgetChunk(sql: Sql, offset: number): Promise<boolean> {
  const place = await placeAt(sql, offset);
  if (place === undefined) return false;
  const chunk = await chunkAt(sql, place.dataRoot, place.dataSize, place.relative);
  if (chunk === undefined) return false;
  const forgotten = await sql.run(
    'DELETE FROM chunks WHERE data_root = ? AND data_size = ? AND chunk_end = ?',
    place.dataRoot,
    place.dataSize,
    chunk.chunk_end,
  );
  return forgotten > 0;
}

async function chunkAt(
  sql: SqlExecutor,
  dataRoot: Buffer,
  dataSize: number,
  offset: number,
): Promise<ChunkRow | undefined> {
  const row = await sql.get<ChunkRow>(
    `SELECT chunk_start, chunk_end, data_path, bytes FROM chunks
     WHERE data_root = ? AND data_size = ? AND chunk_end > ? ORDER BY chunk_end LIMIT 1`,
    dataRoot,
    dataSize,
    offset,
  );
  return row !== undefined && row.chunk_start <= offset ? row : undefined;
}

/** All of a transaction's data; undefined while a chunk is missing. */
export async function readData(
  sql: SqlExecutor,
  dataRoot: Buffer,
  dataSize: number,
): Promise<Buffer | undefined> {
  const parts: Buffer[] = [];
  for (let at = 0; at < dataSize; ) {
    const chunk = await chunkAt(sql, dataRoot, dataSize, at);
    if (chunk === undefined) return undefined;
    parts.push(chunk.bytes);
    at = chunk.chunk_end;
  }
  return Buffer.concat(parts);
}
