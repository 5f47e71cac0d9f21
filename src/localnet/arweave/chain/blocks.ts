/** Blocks as they are kept: the current chain by height, any block ever made by hash. */
import { isBlockHash } from '../../../formats/base64url.ts';
import type { SqlExecutor } from '../../../storage/sql/sql.ts';
import { ANCHOR_DEPTH } from '../rules.ts';
import type { Block } from './block.ts';
import type { Wallet } from './wallets.ts';

/** The JSON text as it was written, ready to be sent. */
export async function blockJsonAt(sql: SqlExecutor, height: number): Promise<string | undefined> {
  const row = await sql.get<{ json: string }>(
    'SELECT json FROM blocks WHERE canonical = 1 AND height = ?',
    height,
  );
  return row?.json;
}

export async function blockJsonByHash(sql: SqlExecutor, hash: string): Promise<string | undefined> {
  const row = await sql.get<{ json: string }>('SELECT json FROM blocks WHERE hash = ?', hash);
  return row?.json;
}

/** The newest block; undefined before the first. */
export async function readHead(sql: SqlExecutor): Promise<Block | undefined> {
  const row = await sql.get<{ json: string }>(
    'SELECT json FROM blocks WHERE canonical = 1 ORDER BY height DESC LIMIT 1',
  );
  return row && parseBlock(row.json);
}

/** Height of the newest block. */
export async function headHeight(sql: SqlExecutor): Promise<number> {
  const row = await sql.get<{ height: number }>(
    'SELECT height FROM blocks WHERE canonical = 1 ORDER BY height DESC LIMIT 1',
  );
  return row?.height ?? 0;
}

/** Height of a block of the current chain. */
async function heightOf(sql: SqlExecutor, hash: string): Promise<number | undefined> {
  const row = await sql.get<{ height: number }>(
    'SELECT height FROM blocks WHERE hash = ? AND canonical = 1',
    hash,
  );
  return row?.height;
}

export async function hashAt(sql: SqlExecutor, height: number): Promise<string | undefined> {
  const row = await sql.get<{ hash: string }>(
    'SELECT hash FROM blocks WHERE canonical = 1 AND height = ?',
    height,
  );
  return row?.hash;
}

/** Hashes from `low` to `high`, newest first. */
export async function hashList(sql: SqlExecutor, low: number, high: number): Promise<string[]> {
  const rows = await sql.all<{ hash: string }>(
    'SELECT hash FROM blocks WHERE canonical = 1 AND height BETWEEN ? AND ? ORDER BY height DESC',
    low,
    high,
  );
  return rows.map((row) => row.hash);
}

/** Blocks are written by us, so they are what their type says. */
export function parseBlock(json: string): Block {
  return JSON.parse(json);
}

/**
 * The anchor (`last_tx`) keeps a transaction from being mined twice: a recent block, or the wallet's last transaction.
 * True when a block on top of one at `height` may hold a transaction of `wallet` with this anchor.
 */
export async function isGoodAnchor(
  sql: SqlExecutor,
  anchor: string,
  wallet: Readonly<Wallet> | undefined,
  height: number,
): Promise<boolean> {
  if (anchor === (wallet?.lastTx ?? '')) return true;
  if (!isBlockHash(anchor)) return false;
  const anchored = await heightOf(sql, anchor);
  return anchored !== undefined && height - anchored < ANCHOR_DEPTH;
}
