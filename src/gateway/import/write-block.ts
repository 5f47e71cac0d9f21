/** Fetched blocks into the index: records first, the block row last, so that a crash between leaves a tail to undo. */

import { insertRows } from '../../storage/sql/many-rows.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { insertBlock } from '../chain-index/blocks.ts';
import type { EventBatch } from '../chain-index/event-batch.ts';
import { WRITE_BATCH } from '../chain-index/posting-changes.ts';
import type { Entry, Header, Mined, Prepared } from '../chain-index/records.ts';
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

/**
 * Whether a block is written in one transaction with those before it: it follows them, and there are no more records than
 * one transaction takes. So the many small blocks of a chain's past cost no commit each.
 */
export function fitsBehind(before: readonly BlockTransactions[], { block }: BlockTransactions): boolean {
  const last = before.at(-1)?.block;
  const records = before.reduce((sum, one) => sum + one.block.txs.length, block.txs.length);
  return last !== undefined && block.previous.equals(last.id) && records <= WRITE_BATCH;
}

/** One block, or several of which each `fitsBehind` the others. Answers whether bundles were queued. */
export async function writeBlocks(
  { index, fence, ...intake }: BlockWriterOptions,
  blocks: readonly BlockTransactions[],
  options: { readonly isHead: boolean },
): Promise<boolean> {
  const parts: PreparedBlock[] = [];
  for (const fetched of blocks) parts.push(await prepareBlock(index, fetched));
  let queued = false;
  const put = async (tx: SqlExecutor, { block }: PreparedBlock, batch: Prepared[], events?: EventBatch) => {
    await index.writer.put(tx, batch, { ...(events && { events }) });
    for (const { entry } of batch) {
      queued = (await queueBundle(tx, intake, entry.header, block.height)) || queued;
    }
  };
  const [first] = parts;
  while (first !== undefined && first.records.length > WRITE_BATCH) {
    const batch = first.records.splice(0, WRITE_BATCH);
    await index.sql.transaction(async (tx) => {
      await fence(tx);
      await put(tx, first, batch);
    });
  }
  await index.sql.transaction(async (tx) => {
    await fence(tx);
    for (const part of parts) {
      const events = index.writer.newEvents();
      await put(tx, part, part.records, events);
      await insertRows(
        tx,
        'missing_transactions',
        ['id', 'height', 'block_index', 'attempts', 'next_try_at'],
        part.missing,
        'ON CONFLICT (id) DO NOTHING',
      );
      await insertBlock(tx, part.block, events);
      await events.append(tx);
    }
    const newest = parts.at(-1)?.block;
    if (options.isHead && newest !== undefined) {
      await tx.run(
        `INSERT INTO chain_state (name, value) VALUES ('stable_height', ?)
         ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE chain_state.value < excluded.value`,
        newest.height - STABLE_DEPTH - 1,
      );
    }
  });
  while (await index.writer.reposition(index.sql));
  return queued;
}

interface PreparedBlock {
  readonly block: FetchedBlock;
  readonly records: Prepared[];
  readonly missing: readonly (readonly [Buffer, number, number, number, number])[];
}

async function prepareBlock(
  index: SqlGatewayIndex,
  { block, headers }: BlockTransactions,
): Promise<PreparedBlock> {
  const entries: Entry[] = [];
  const missing: (readonly [Buffer, number, number, number, number])[] = [];
  block.txs.forEach((id, blockIndex) => {
    const mined = { height: block.height, blockIndex, blockId: block.id };
    const header = headers.get(id);
    if (header !== undefined) entries.push(entryOf(header, mined));
    else missing.push([Buffer.from(id, 'base64url'), block.height, blockIndex, 0, 0]);
  });
  return { block, records: await index.writer.prepare(entries), missing };
}

export function entryOf(header: Header, mined: Mined | undefined): Entry {
  return { header, mined, placed: undefined, bundle: undefined, hash: undefined, verified: false };
}
