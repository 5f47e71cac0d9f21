/**
 * Who finalizes a session. Each claim has a name of its own and changes a session only while the session has that name:
 * a process whose claim ran out, by whatever clock, neither stores an item nor ends or holds a session that others have
 * claimed since.
 */
import { randomUUID } from 'node:crypto';
import { type Backoff, backoffMs } from '../../kernel/background/backoff.ts';
import { changeOne } from '../../storage/sql/change-one.ts';
import { dueBounds, isDue } from '../../storage/sql/due.ts';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import { countMissOf, type Missed } from '../items/missing-blobs.ts';

/** A process that works on a session renews its claim before this is over. */
const claimMs = 60_000;
/** What failed for a reason that may pass is taken up again after this, after longer where it is missing bytes again. */
const retry: Backoff = { firstMs: 5_000, longestMs: claimMs };

/** Nobody has a claim: it ran out, or is to last longer than any, by a clock that was ahead. */
export const isUnclaimed = isDue('claimed_until');

/** The values of `isUnclaimed`. */
export const unclaimedAt = (now: number): readonly [number, number] => dueBounds(now, claimMs);

/** The session is finalized by another, or is over. */
export class LostClaim extends Error {
  override readonly name = 'LostClaim';
}

export interface Claim {
  readonly session: string;
  readonly name: string;
}

interface ClaimPayers {
  readonly paidBy: readonly string[];
  readonly clientAddress: string;
}

/** Takes a session up to finalize it; undefined when another does, or when it cannot be finalized. */
export async function claimSession(
  sql: Sql,
  session: string,
  payers: ClaimPayers | undefined,
  now: number,
): Promise<Claim | undefined> {
  const name = randomUUID();
  const claimed = await sql.transaction(async (tx) => {
    const changed = await tx.run(
      `UPDATE upload_sessions SET state = 'finalizing', claim = ?, claimed_until = ?, changed_at = ?
       WHERE id = ? AND ${isUnclaimed} AND state IN ('open', 'UNDERFUNDED', 'finalizing')`,
      name,
      now + claimMs,
      now,
      session,
      ...unclaimedAt(now),
    );
    if (changed > 0 && payers !== undefined) {
      await changeOne(
        tx,
        'UPDATE upload_sessions SET paid_by = ?, client_address = ? WHERE id = ?',
        JSON.stringify(payers.paidBy),
        payers.clientAddress,
        session,
      );
    }
    return changed > 0;
  });
  return claimed ? { session, name } : undefined;
}

/** Keeps a claim; false when it is over. */
export function renewClaim(sql: Sql, claim: Claim, now: number): Promise<boolean> {
  return holdUntil(sql, claim, now + claimMs);
}

/** Leaves the session to be taken up again soon, later after each miss in a row. */
export function postponeClaim(sql: Sql, claim: Claim, misses: number, now: number): Promise<boolean> {
  return holdUntil(sql, claim, now + backoffMs(retry, misses));
}

async function holdUntil(sql: Sql, { session, name }: Claim, until: number): Promise<boolean> {
  const changed = await sql.run(
    `UPDATE upload_sessions SET claimed_until = ? WHERE id = ? AND claim = ? AND state = 'finalizing'`,
    until,
    session,
    name,
  );
  return changed > 0;
}

/** Counts that a blob of the session was not found; undefined where others have claimed it. */
export const countMissedPart = (
  sql: Sql,
  { session, name }: Claim,
  blob: string,
): Promise<Missed | undefined> =>
  countMissOf(sql, blob, {
    table: 'upload_sessions',
    where: "id = ? AND claim = ? AND state = 'finalizing'",
    values: [session, name],
  });

/** First in the transaction that stores the item: nobody else takes the session up before it ends. */
export async function keepClaim(tx: SqlExecutor, { session, name }: Claim): Promise<void> {
  const held = await tx.get(
    `SELECT 1 AS one FROM upload_sessions WHERE id = ? AND claim = ? AND state = 'finalizing' ${tx.forUpdate}`,
    session,
    name,
  );
  if (held === undefined) throw new LostClaim(`upload ${session} is finalized by another`);
}

/** The upload cannot be paid now: it may be finalized again. */
export async function markUnderfunded(
  sql: Sql,
  { session, name }: Claim,
  failure: string | undefined,
  now: number,
): Promise<void> {
  await sql.run(
    `UPDATE upload_sessions SET state = 'UNDERFUNDED', failure = ?, claimed_until = 0, misses = 0, changed_at = ?
     WHERE id = ? AND claim = ? AND state = 'finalizing'`,
    failure ?? null,
    now,
    session,
    name,
  );
}
