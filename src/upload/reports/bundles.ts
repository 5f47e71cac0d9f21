/** Bundles for operators: lists, and what each waits for. */
import type { BundleReport } from '../../formats/admin-answers.ts';
import { type Page, type PageRequest, pageOf } from '../../kernel/admin/paging.ts';
import type { Sql, SqlValue } from '../../storage/sql/sql.ts';
import { readInteger } from '../../storage/sql/typed-rows.ts';
import { type BundleRow, bundleStates, findBundle, readBundle } from '../bundler/bundle-rows.ts';
import { type Circumstances, isStuck, whyBundle, worryingAgeMs, worryingTries } from './why.ts';

const lists = [...bundleStates, 'open', 'stuck', 'damaged'] as const;
export type BundleList = (typeof lists)[number];
export const isBundleList = (text: string): text is BundleList => lists.some((list) => list === text);

const open = "state <> 'permanent' AND state <> 'dropped'";
const stuck = `${open} AND (attempts >= ${worryingTries} OR unreadable >= ${worryingTries} OR created_at <= ?)`;

/** The newest first. */
export async function listBundles(
  sql: Sql,
  list: BundleList | undefined,
  { before, limit }: PageRequest,
  circumstances: Circumstances,
): Promise<Page<BundleReport>> {
  const conditions: string[] = [];
  const values: SqlValue[] = [];
  if (list === 'open') conditions.push(open);
  else if (list === 'stuck') {
    conditions.push(stuck);
    values.push(circumstances.now - worryingAgeMs);
  } else if (list === 'damaged') conditions.push('damage IS NOT NULL');
  else if (list !== undefined) {
    conditions.push('state = ?');
    values.push(list);
  }
  if (before !== undefined) {
    conditions.push('(created_at, plan) < (?, ?)');
    values.push(before.at, before.id);
  }
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  const rows = await sql.all(
    `SELECT * FROM upload_bundles ${where} ORDER BY created_at DESC, plan DESC LIMIT ?`,
    ...values,
    limit + 1,
  );
  const page = pageOf(rows.map(readBundle), limit, (row) => ({ at: row.created_at, id: row.plan }));
  return { ...page, items: page.items.map((row) => reportOf(row, circumstances)) };
}

/** By its plan or its transaction. */
export async function reportBundle(
  sql: Sql,
  id: string,
  circumstances: Circumstances,
): Promise<BundleReport | undefined> {
  const byTransaction = async () => {
    const row = await sql.get(
      'SELECT * FROM upload_bundles WHERE tx_id = ? ORDER BY created_at DESC LIMIT 1',
      id,
    );
    return row && readBundle(row);
  };
  const row = (await findBundle(sql, id)) ?? (await byTransaction());
  return row && reportOf(row, circumstances);
}

export async function countBundles(sql: Sql, now: number) {
  const row = await sql.get(
    `SELECT COUNT(*) AS bundles, CAST(COALESCE(SUM(item_count), 0) AS BIGINT) AS items,
       COUNT(CASE WHEN ${stuck} THEN 1 END) AS stuck
     FROM upload_bundles WHERE ${open}`,
    now - worryingAgeMs,
  );
  return { open: readInteger(row?.bundles), items: readInteger(row?.items), stuck: readInteger(row?.stuck) };
}

function reportOf(row: BundleRow, circumstances: Circumstances): BundleReport {
  const hasEnded = row.state === 'permanent' || row.state === 'dropped';
  return {
    plan: row.plan,
    txId: row.tx_id,
    state: row.state,
    items: row.item_count,
    bytes: row.size,
    tries: row.attempts,
    lastError: row.last_error,
    lastErrorAt: row.last_error_at,
    nextTryAt: hasEnded ? null : row.due_at,
    blockHeight: row.block_height,
    confirmations: row.confirmations,
    confirmationsNeeded: circumstances.confirmations,
    seedings: row.seedings,
    watch: watchOf(row),
    createdAt: row.created_at,
    postedAt: row.posted_at,
    seededAt: row.seeded_at,
    changedAt: row.changed_at,
    stuck: isStuck(row, circumstances.now),
    why: whyBundle(row, circumstances),
  };
}

function watchOf(row: BundleRow): BundleReport['watch'] {
  if (row.look_at === null && row.looks === 0) return null;
  return {
    looks: row.looks,
    lastAt: row.looked_at,
    nextAt: row.look_at,
    damage: row.damage,
    damagedSince: row.damaged_at,
    tries: row.mend_tries,
    chunksMended: row.chunks_mended,
  };
}
