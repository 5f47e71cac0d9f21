/**
 * Transactions that are known before they are mined: posted through this gateway, or seen in a node's mempool.
 * They are indexed without a height and upgraded when their block comes.
 */
import type { Header } from '../chain-index/records.ts';
import type { SqlGatewayIndex } from '../chain-index/sql-index.ts';
import { parseSigned } from './fetch-block.ts';
import { entryOf } from './write-block.ts';

/** Indexes a transaction from its JSON; false when it is not one or not rightly signed. */
export async function indexPending(index: SqlGatewayIndex, json: unknown): Promise<boolean> {
  const header = await parseSigned(json);
  if (header === undefined) return false;
  await indexHeader(index, header);
  return true;
}

/** Where it is mined already, the index keeps its place. */
export async function indexHeader(index: SqlGatewayIndex, header: Header): Promise<void> {
  const prepared = await index.writer.prepare([entryOf(header, undefined)]);
  await index.sql.transaction((tx) => index.writer.put(tx, prepared));
}
