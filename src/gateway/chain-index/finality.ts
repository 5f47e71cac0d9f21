/**
 * Tells of records and blocks that no fork reaches any more, each once. A cursor walks over the order of the index behind
 * the stable height; what is written behind the cursor later, such as the items of a bundle that is read late, is told by
 * whoever writes it (`EventBatch`).
 */
import type { Sql } from '../../storage/sql/sql.ts';
import { changedBlockColumns } from './blocks.ts';
import { type ChangedBlock, readFinalCursor } from './event-batch.ts';
import { firstPos, heightOf, type OrderKey } from './order.ts';
import { EVERY_TERM } from './terms.ts';
import type { IndexWriter } from './writer.ts';

/** Of one transaction. */
const recordsAtOnce = 500;
const blocksAtOnce = 64;

/** One batch; answers whether more is left. */
export async function tellFinal(sql: Sql, writer: Pick<IndexWriter, 'newEvents'>): Promise<boolean> {
  return sql.transaction(async (tx) => {
    // Whoever writes records at the same time waits for the cursor, or has been waited for.
    const cursor = await readFinalCursor(tx, tx.forUpdate);
    const stable = await tx.get<{ value: number }>(
      "SELECT value FROM chain_state WHERE name = 'stable_height'",
    );
    const lastHeight = Math.min(stable?.value ?? -1, heightOf(cursor.pos) + blocksAtOnce - 1);
    const end = firstPos(lastHeight + 1);
    if (cursor.pos >= end) return false;
    const keys = await tx.all<OrderKey>(
      `SELECT pos, tie, record FROM postings WHERE term = ? AND pos >= ? AND pos < ?
         AND (pos, tie, record) > (CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT))
       ORDER BY pos, tie, record LIMIT ?`,
      EVERY_TERM,
      cursor.pos,
      end,
      cursor.pos,
      cursor.tie,
      cursor.record,
      recordsAtOnce,
    );
    const last = keys.at(-1);
    const next: OrderKey =
      last !== undefined && keys.length === recordsAtOnce ? last : { pos: end, tie: -1, record: -1 };
    const blocks = await tx.all<ChangedBlock>(
      `SELECT ${changedBlockColumns} FROM blocks WHERE height >= ? AND height <= ? ORDER BY height`,
      heightOf(cursor.pos),
      heightOf(next.pos),
    );
    const ids = new Map(blocks.map(({ height, id }) => [height, id]));
    const events = writer.newEvents();
    for (const { pos, record } of keys) events.final(record, heightOf(pos), ids.get(heightOf(pos)));
    for (const block of blocks) if (block.height < heightOf(next.pos)) events.block('final', block);
    await events.append(tx);
    await tx.run('UPDATE final_cursor SET pos = ?, tie = ?, record = ?', next.pos, next.tie, next.record);
    return true;
  });
}
