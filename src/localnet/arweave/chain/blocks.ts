/** Blocks as they are kept: the current chain by height, any block ever made by hash. */

import { createHash } from 'node:crypto';
import {
  type BlockHash,
  decodeBase64url,
  encodeBase64url,
  isBlockHash,
  toBlockHash,
} from '../../../formats/base64url.ts';
import { deepHash } from '../../../formats/deep-hash.ts';
import type { SqlExecutor } from '../../../storage/sql/sql.ts';
import { ANCHOR_DEPTH, DIFFICULTY, KRYDER_MULTIPLIER, MINER, PRICE_PER_GIB_MINUTE } from '../rules.ts';
import type { Wallet } from './wallets.ts';

interface BlockRow {
  readonly hash: string;
  readonly height: number;
  /** The text as it was written, ready to be sent. */
  readonly json: string;
}

/** One column of the first block that `where` names. */
async function read<Name extends keyof BlockRow>(
  sql: SqlExecutor,
  name: Name,
  where: string,
  ...values: readonly (string | number)[]
): Promise<BlockRow[Name] | undefined> {
  const row = await sql.get<BlockRow>(`SELECT ${name} FROM blocks WHERE ${where}`, ...values);
  return row?.[name];
}

const newest = 'canonical = 1 ORDER BY height DESC LIMIT 1';

export const blockJsonAt = (sql: SqlExecutor, height: number) =>
  read(sql, 'json', 'canonical = 1 AND height = ?', height);

export const blockJsonByHash = (sql: SqlExecutor, hash: string) => read(sql, 'json', 'hash = ?', hash);

export const hashAt = (sql: SqlExecutor, height: number) =>
  read(sql, 'hash', 'canonical = 1 AND height = ?', height);

/** The newest block; undefined before the first. */
export async function readHead(sql: SqlExecutor): Promise<Block | undefined> {
  const json = await read(sql, 'json', newest);
  return json === undefined ? undefined : JSON.parse(json);
}

export const headHeight = async (sql: SqlExecutor) => (await read(sql, 'height', newest)) ?? 0;

/** Hashes from `low` to `high`, newest first. */
export async function hashList(sql: SqlExecutor, low: number, high: number): Promise<string[]> {
  const rows = await sql.all<{ hash: string }>(
    'SELECT hash FROM blocks WHERE canonical = 1 AND height BETWEEN ? AND ? ORDER BY height DESC',
    low,
    high,
  );
  return rows.map((row) => row.hash);
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
  const anchored = await read(sql, 'height', 'hash = ? AND canonical = 1', anchor);
  return anchored !== undefined && height - anchored < ANCHOR_DEPTH;
}

/** Integers as JSON integers, which the contract asks for; a public node writes most of them as strings. */
export interface Block {
  usd_to_ar_rate: [string, string];
  scheduled_usd_to_ar_rate: [string, string];
  packing_2_5_threshold: string;
  strict_data_split_threshold: string;
  merkle_rebase_support_threshold: string;
  nonce: string;
  previous_block: string;
  timestamp: number;
  last_retarget: number;
  diff: number;
  height: number;
  hash: string;
  indep_hash: BlockHash;
  txs: string[];
  tx_root: string;
  tx_tree: string[];
  wallet_list: string;
  reward_addr: string;
  tags: { name: string; value: string }[];
  reward_pool: number;
  weave_size: number;
  block_size: number;
  cumulative_diff: string;
  hash_list_merkle: string;
  reward: string;
  price_per_gib_minute: string;
  scheduled_price_per_gib_minute: string;
  kryder_plus_rate_multiplier: string;
  denomination: string;
  /** Which part of the weave the block recalls: its proofs, without the bytes. */
  poa: Poa;
}

export interface Poa {
  option: string;
  tx_path: string;
  data_path: string;
  chunk: string;
}

export const noPoa: Poa = { option: '1', tx_path: '', data_path: '', chunk: '' };

interface BlockContents {
  /** undefined for the first block. */
  readonly previous: Block | undefined;
  /** Unix seconds. */
  readonly timestamp: number;
  /** Differs for every block ever made, so that the blocks of a fork differ from those they replace. */
  readonly nonce: bigint;
  readonly txs: readonly string[];
  readonly txRoot: Buffer;
  readonly size: number;
  readonly walletList: string;
  readonly rewardPool: bigint;
  /** What the miner earned. */
  readonly reward: bigint;
  readonly poa: Poa;
}

export function makeBlock(contents: BlockContents): Block {
  const { previous, timestamp } = contents;
  const nonce = Buffer.alloc(8);
  nonce.writeBigUInt64BE(contents.nonce);
  const rate: [string, string] = ['1', '10'];
  const block: Omit<Block, 'indep_hash'> = {
    usd_to_ar_rate: rate,
    scheduled_usd_to_ar_rate: rate,
    packing_2_5_threshold: '0',
    strict_data_split_threshold: '0',
    merkle_rebase_support_threshold: '0',
    nonce: encodeBase64url(nonce),
    previous_block: previous?.indep_hash ?? '',
    timestamp,
    last_retarget: previous?.last_retarget ?? timestamp,
    diff: DIFFICULTY,
    height: previous === undefined ? 0 : previous.height + 1,
    hash: solutionHash(previous, nonce),
    txs: [...contents.txs],
    tx_root: encodeBase64url(contents.txRoot),
    tx_tree: [],
    wallet_list: contents.walletList,
    reward_addr: MINER,
    tags: [],
    reward_pool: Number(contents.rewardPool),
    weave_size: (previous?.weave_size ?? 0) + contents.size,
    block_size: contents.size,
    cumulative_diff: String(BigInt(previous?.cumulative_diff ?? '0') + BigInt(DIFFICULTY)),
    hash_list_merkle: previous === undefined ? '' : hashListMerkle(previous),
    reward: String(contents.reward),
    price_per_gib_minute: String(PRICE_PER_GIB_MINUTE),
    scheduled_price_per_gib_minute: String(PRICE_PER_GIB_MINUTE),
    kryder_plus_rate_multiplier: String(KRYDER_MULTIPLIER),
    denomination: '1',
    poa: contents.poa,
  };
  return { ...block, indep_hash: indepHash(block) };
}

/** The network mines without work: the solution is a hash of what a miner would have started from. */
function solutionHash(previous: Block | undefined, nonce: Buffer): string {
  return createHash('sha256')
    .update(previous?.indep_hash ?? '')
    .update(nonce)
    .digest('base64url');
}

/** The block's own name: SHA-384 over everything in it, the block before included. */
export function indepHash(block: Omit<Block, 'indep_hash'>): BlockHash {
  return toBlockHash(
    deepHash([
      block.nonce,
      block.previous_block,
      String(block.timestamp),
      String(block.last_retarget),
      String(block.diff),
      String(block.height),
      block.hash,
      block.txs,
      block.tx_root,
      block.wallet_list,
      block.reward_addr,
      String(block.reward_pool),
      String(block.weave_size),
      String(block.block_size),
      block.cumulative_diff,
      block.hash_list_merkle,
      block.reward,
      [block.poa.option, block.poa.tx_path, block.poa.data_path],
    ]),
  );
}

/** The root over all blocks up to `block`: an unbalanced tree that grows by one hash a block. */
export function hashListMerkle(block: Block): string {
  return createHash('sha384')
    .update(decodeBase64url(block.hash_list_merkle))
    .update(deepHash([block.indep_hash, String(block.weave_size), block.tx_root]))
    .digest('base64url');
}
