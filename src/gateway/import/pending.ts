/**
 * Transactions that are known before they are mined: posted through this gateway, or seen in a node's mempool.
 * They are indexed without a height and upgraded when their block comes.
 */
import { dataRootOf } from '../../formats/arweave/data-root.ts';
import type { Transaction } from '../../formats/arweave/transaction.ts';
import type { Header } from '../chain-index/records.ts';
import type { SqlGatewayIndex } from '../chain-index/sql-index.ts';
import { headerOf, parseSigned } from './fetch-block.ts';
import { entryOf } from './write-block.ts';

/** Indexes a transaction from its JSON, and answers it; undefined when it is not one or not rightly signed. */
export async function indexPending(index: SqlGatewayIndex, json: unknown): Promise<Transaction | undefined> {
  const transaction = await parseSigned(json);
  if (transaction !== undefined) await indexHeader(index, headerOf(transaction));
  return transaction;
}

/**
 * The data that a rightly signed transaction carries with it; undefined where it carries none. Version 2 signs the root
 * of its data only, so that anybody can send the same transaction with other bytes.
 */
export function inlineData({ format, data, dataSize, dataRoot }: Transaction): Buffer | undefined {
  if (data.length === 0 || data.length !== dataSize) return undefined;
  return format === 1 || dataRootOf(data).equals(dataRoot) ? data : undefined;
}

/**
 * Where it is mined already, the index keeps its place; what was missing in its block is put there next. `tellsNew` is
 * false for what may be in a block of long ago.
 */
export async function indexHeader(index: SqlGatewayIndex, header: Header, tellsNew = true): Promise<void> {
  const prepared = await index.writer.prepare([entryOf(header, undefined)]);
  await index.sql.transaction(async (tx) => {
    // In the order in which what was missing is written.
    await tx.run('UPDATE missing_transactions SET next_try_at = 0 WHERE id = ?', header.id);
    await index.writer.put(tx, prepared, { tellsNew });
  });
}
