/**
 * Makes the next block: takes what is pending in order of arrival, moves the money, lays the data out in the weave,
 * and writes block, wallets and transactions in one transaction of the database.
 */
import { createHash, randomBytes } from 'node:crypto';
import { buildTxTree, type TxTree } from '../../../formats/arweave/tx-tree.ts';
import { decodeBase64url, encodeBase64url } from '../../../formats/base64url.ts';
import type { SqlExecutor } from '../../../storage/sql/sql.ts';
import { MAX_BLOCK_TRANSACTIONS, MAX_FORK_DEPTH, MAX_REWARD_POOL, MINER, MINER_SHARE } from '../rules.ts';
import { type Block, isGoodAnchor, makeBlock, noPoa, type Poa, readHead } from './blocks.ts';
import { chunkAtWeaveOffset, dropOrphanChunks } from './chunks.ts';
import { Wallets, walletListHash } from './wallets.ts';

interface PendingRow {
  sequence: number;
  id: string;
  owner: string;
  target: string;
  quantity: string;
  reward: string;
  anchor: string;
  format: number;
  data_root: Buffer;
  data_size: number;
}

interface MineOptions {
  /** Unix seconds. */
  readonly now: number;
  /** False makes an empty block and leaves the mempool as it is. */
  readonly takePending: boolean;
}

/** Mines one block on top of the head (or the first of all) and answers it. */
export async function mineBlock(tx: SqlExecutor, options: MineOptions): Promise<Block> {
  const previous = await readHead(tx);
  const wallets = new Wallets(tx);
  const chosen = options.takePending && previous ? await choose(tx, wallets, previous.height) : [];
  const fees = chosen.reduce((sum, row) => sum + BigInt(row.reward), 0n);
  const { reward, pool } = split(fees, BigInt(previous?.reward_pool ?? 0));
  if (reward > 0n) await wallets.add(MINER, reward);
  const changes = await wallets.save();
  const tree = buildTxTree(
    chosen.map((row) => ({
      format: row.format === 1 ? 1 : 2,
      id: decodeBase64url(row.id),
      dataSize: row.data_size,
      dataRoot: row.data_root,
    })),
  );
  const block = makeBlock({
    previous,
    timestamp: Math.max(options.now, previous?.timestamp ?? 0),
    // Chains that begin in the same second must differ in every block.
    nonce: previous === undefined ? randomBytes(8).readBigUInt64BE() : await addToCounter(tx, 'blocks', 1n),
    txs: chosen.map((row) => row.id),
    txRoot: tree.root,
    size: tree.size,
    walletList: await walletListHash(tx),
    rewardPool: pool,
    reward,
    poa: await recall(tx, previous),
  });
  await tx.run(
    'INSERT INTO blocks (hash, height, canonical, json) VALUES (?, ?, 1, ?)',
    block.indep_hash,
    block.height,
    JSON.stringify(block),
  );
  await place(tx, chosen, tree, block, previous?.weave_size ?? 0);
  for (const { address, change, lastTxBefore } of changes) {
    await tx.run(
      'INSERT INTO undo (height, address, change, last_tx) VALUES (?, ?, ?, ?)',
      block.height,
      address,
      change,
      lastTxBefore,
    );
  }
  await tx.run('DELETE FROM undo WHERE height <= ?', block.height - MAX_FORK_DEPTH);
  return block;
}

/**
 * Applies what is pending, in order, to the wallets. What cannot be mined any more is dropped: its anchor has become
 * bad, or its funds went away with a fork.
 */
async function choose(tx: SqlExecutor, wallets: Wallets, height: number): Promise<PendingRow[]> {
  const rows = await tx.all<PendingRow>(
    `SELECT sequence, id, owner, target, quantity, reward, anchor, format, data_root, data_size
     FROM transactions WHERE height IS NULL ORDER BY sequence LIMIT ?`,
    2 * MAX_BLOCK_TRANSACTIONS,
  );
  const chosen: PendingRow[] = [];
  for (const row of rows) {
    if (chosen.length === MAX_BLOCK_TRANSACTIONS) break;
    const wallet = await wallets.get(row.owner);
    const cost = BigInt(row.quantity) + BigInt(row.reward);
    const payable = (wallet?.balance ?? 0n) >= cost;
    if (!payable || !(await isGoodAnchor(tx, row.anchor, wallet, height))) {
      await dropPending(tx, row);
      continue;
    }
    await wallets.add(row.owner, -cost);
    await wallets.setLastTx(row.owner, row.id);
    if (row.target !== '' && row.quantity !== '0') await wallets.add(row.target, BigInt(row.quantity));
    chosen.push(row);
  }
  return chosen;
}

/** Takes a pending transaction away, and its data where nobody else has it. */
export async function dropPending(
  tx: SqlExecutor,
  row: Pick<PendingRow, 'id' | 'data_root' | 'data_size'>,
): Promise<void> {
  await tx.run('DELETE FROM transactions WHERE id = ?', row.id);
  await dropOrphanChunks(tx, row.data_root, row.data_size);
}

/** The miner's share of the fees, and the pool after the rest went in; what would overfill it, the miner keeps. */
function split(fees: bigint, pool: bigint): { reward: bigint; pool: bigint } {
  const room = MAX_REWARD_POOL - pool;
  const forPool = fees - fees / MINER_SHARE;
  const taken = forPool < room ? forPool : room;
  return { reward: fees - taken, pool: pool + taken };
}

async function place(
  tx: SqlExecutor,
  chosen: readonly PendingRow[],
  tree: TxTree,
  block: Block,
  weaveStart: number,
): Promise<void> {
  for (const [index, row] of chosen.entries()) {
    const placement = tree.placements[index];
    const hasData = placement !== undefined && row.data_size > 0;
    await tx.run(
      'UPDATE transactions SET height = ?, block_hash = ?, weave_end = ?, tx_path = ? WHERE id = ?',
      block.height,
      block.indep_hash,
      hasData ? weaveStart + placement.end : null,
      hasData ? placement.txPath : null,
      row.id,
    );
  }
}

/** Proof that the miner had some part of the weave: a byte chosen by the block before, where its chunk is here. */
async function recall(tx: SqlExecutor, previous: Block | undefined): Promise<Poa> {
  if (previous === undefined || previous.weave_size === 0) return noPoa;
  const seed = createHash('sha256').update(previous.indep_hash).digest().readUIntBE(0, 6);
  const chunk = await chunkAtWeaveOffset(tx, (seed % previous.weave_size) + 1);
  if (chunk === undefined) return noPoa;
  return { ...noPoa, tx_path: encodeBase64url(chunk.txPath), data_path: encodeBase64url(chunk.dataPath) };
}

type CounterName = 'minted' | 'blocks';

async function readCounter(sql: SqlExecutor, name: CounterName): Promise<bigint> {
  const row = await sql.get<{ value: string }>('SELECT value FROM counters WHERE name = ?', name);
  return BigInt(row?.value ?? '0');
}

/** The value after adding. */
export async function addToCounter(tx: SqlExecutor, name: CounterName, amount: bigint): Promise<bigint> {
  const value = (await readCounter(tx, name)) + amount;
  await tx.run(
    'INSERT INTO counters (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
    name,
    value,
  );
  return value;
}
