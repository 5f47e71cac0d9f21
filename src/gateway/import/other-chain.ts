/**
 * A local chain can be removed and begun anew, or another local node be named: then the index is of a chain that is
 * gone. In the world `local` it begins anew too. Elsewhere another chain is a mistake, and nothing is dropped for it.
 */
import { forgetEvents } from '../../events/event-log.ts';
import type { Logger } from '../../kernel/log.ts';
import type { NodePool } from '../../outside/arweave/node-pool.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { fetchBlock } from './fetch-block.ts';

/** All that comes from a chain. What is blocked, metered and configured stays. */
const chainTables = [
  'terms',
  'postings',
  'records',
  'signatures',
  'blocks',
  'block_bodies',
  'block_ranges',
  'missing_transactions',
  'repositions',
  'chain_state',
  'bundles',
  'place_types',
  'fresh_places',
  'places',
  'place_counts',
  'asked_transactions',
  'blocked_places',
] as const;

/** Told by the lowest block of the index. False while no node answers, and while nothing is indexed. */
export async function isOtherChain(sql: Sql, nodes: NodePool, signal?: AbortSignal): Promise<boolean> {
  const ours = await sql.get<{ height: number; id: Buffer }>(
    'SELECT height, id FROM blocks ORDER BY height LIMIT 1',
  );
  const { head } = nodes;
  if (ours === undefined || head === undefined) return false;
  if (head.height < ours.height) return true;
  const theirs = await fetchBlock(nodes, ours.height, signal).catch(() => undefined);
  return theirs !== undefined && !theirs.id.equals(ours.id);
}

/** Begins the index anew where it is of another chain. Before anything is remembered of it. */
export async function forgetOtherChain(sql: Sql, nodes: NodePool, log: Logger): Promise<void> {
  if (!(await isOtherChain(sql, nodes))) return;
  log.warn('the local chain is another one than was indexed: the index begins anew');
  await sql.transaction(async (tx) => {
    for (const table of chainTables) await tx.run(`DELETE FROM ${table}`);
    await forgetEvents(tx);
    await tx.run('UPDATE final_cursor SET pos = 0, tie = -1, record = -1');
  });
}
