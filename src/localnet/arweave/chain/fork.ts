/** Takes blocks back, as when a heavier branch wins: money returns, transactions go back to the mempool. */
import type { SqlExecutor } from '../../../storage/sql/sql.ts';
import { hashList } from './blocks.ts';
import { readWallet, writeWallet } from './wallets.ts';

export interface Rollback {
  /** Hashes of the blocks that are orphans now, newest first. */
  readonly orphaned: string[];
  /** Ids of the transactions that are pending again, oldest first. */
  readonly returned: string[];
}

/** Undoes the blocks from `lowest` up to the head at `highest`. What was minted meanwhile stays. */
export async function rollBack(tx: SqlExecutor, lowest: number, highest: number): Promise<Rollback> {
  const orphaned = await hashList(tx, lowest, highest);
  const undone = await tx.all<{ address: string; change: string; last_tx: string }>(
    'SELECT address, change, last_tx FROM undo WHERE height >= ? ORDER BY height DESC',
    lowest,
  );
  for (const { address, change, last_tx } of undone) {
    const balance = (await readWallet(tx, address))?.balance ?? 0n;
    await writeWallet(tx, address, { balance: balance - BigInt(change), lastTx: last_tx });
  }
  const returned = await tx.all<{ id: string }>(
    'SELECT id FROM transactions WHERE height >= ? ORDER BY sequence',
    lowest,
  );
  await tx.run(
    `UPDATE transactions SET height = NULL, block_hash = NULL, weave_end = NULL, tx_path = NULL
     WHERE height >= ?`,
    lowest,
  );
  await tx.run('UPDATE blocks SET canonical = 0 WHERE height >= ? AND canonical = 1', lowest);
  await tx.run('DELETE FROM undo WHERE height >= ?', lowest);
  return { orphaned, returned: returned.map((row) => row.id) };
}
