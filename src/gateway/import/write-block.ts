/** A fetched block into the index: records first, the block row last, so that a crash between leaves a tail to undo. */

import { insertRows } from '../../storage/sql/many-rows.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { insertBlock } from '../chain-index/blocks.ts';
import type { EventBatch } from '../chain-index/event-batch.ts';
import { WRITE_BATCH } from '../chain-index/posting-changes.ts';
import type { Entry, Header, Mined } from '../chain-index/records.ts';
import type { SqlGatewayIndex } from '../chain-index/sql-index.ts';
import type { FetchedBlock } from './fetch-block.ts';
import { type BundleIntake, queueBundle } from './queue-bundle.ts';

export interface BlockTransactions {
  readonly block: FetchedBlock;
  /** Headers by id; ids of the block that are not among them are missing. */
  readonly headers: ReadonlyMap<string, Header>;
}

/** Depth below which no fork reaches. */
export const STABLE_DEPTH = 18;

export interface BlockWriterOptions extends BundleIntake {
  readonly index: SqlGatewayIndex;
  /** Throws within a transaction when another process has taken over. */
  readonly fence: (tx: SqlExecutor) => Promise<void>;
}

/** Answers whether bundles were queued. */
export async function writeBlock(
  { index, fence, ...intake }: BlockWriterOptions,
  { block, headers }: BlockTransactions,
  options: { readonly isHead: boolean },
): Promise<boolean> {
  const entries: Entry[] = [];
  const missing: (readonly [Buffer, number, number, number, number])[] = [];
  block.txs.forEach((id, blockIndex) => {
    const mined = { height: block.height, blockIndex, blockId: block.id };
    const header = headers.get(id);
    if (header !== undefined) entries.push(entryOf(header, mined));
    else missing.push([Buffer.from(id, 'base64url'), block.height, blockIndex, 0, 0]);
  });
  const prepared = await index.writer.prepare(entries);
  let queued = false;
  const write = async (tx: SqlExecutor, from: number, events?: EventBatch) => {
    await fence(tx);
    const batch = prepared.slice(from, from + WRITE_BATCH);
    await index.writer.put(tx, batch, { ...(events && { events }) });
    for (const { entry } of batch) {
      queued = (await queueBundle(tx, intake, entry.header, block.height)) || queued;
    }
  };
  let from = 0;
  for (; prepared.length - from > WRITE_BATCH; from += WRITE_BATCH) {
    const start = from;
    await index.sql.transaction((tx) => write(tx, start));
  }
  await index.sql.transaction(async (tx) => {
    const events = index.writer.newEvents();
    await write(tx, from, events);
    await insertRows(
      tx,
      'missing_transactions',
      ['id', 'height', 'block_index', 'attempts', 'next_try_at'],
      missing,
      'ON CONFLICT (id) DO NOTHING',
    );
    await insertBlock(tx, block, events);
    await events.append(tx);
    if (options.isHead) {
      await tx.run(
        `INSERT INTO chain_state (name, value) VALUES ('stable_height', ?)
         ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE chain_state.value < excluded.value`,
        block.height - STABLE_DEPTH - 1,
      );
    }
  });
  while (await index.writer.reposition(index.sql));
  return queued;
}

export function entryOf(header: Header, mined: Mined | undefined): Entry {
  return { header, mined, placed: undefined, bundle: undefined, hash: undefined, verified: false };
}
