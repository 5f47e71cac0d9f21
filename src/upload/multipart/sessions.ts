/**
 * Uploads in parts, as rows. A session is open until it is finalized; parts may come in any order and again. The
 * states that clients see:
 *
 *   open ASSEMBLING → finalizing VALIDATING → FINALIZED, or UNDERFUNDED (may be finalized again), or INVALID,
 *   APPROVAL_FAILED, REVOKE_FAILED, which are final
 */
import { randomUUID } from 'node:crypto';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import type { WalletAddress } from '../../wallets/address.ts';
import { uploadErrors } from '../errors.ts';
import { freeBlobs } from '../items/blob-uses.ts';
import type { Segment } from '../items/segments.ts';
import type { Claim } from './claims.ts';

export type SessionState =
  | 'open'
  | 'finalizing'
  | 'FINALIZED'
  | 'UNDERFUNDED'
  | 'INVALID'
  | 'APPROVAL_FAILED'
  | 'REVOKE_FAILED';

export interface SessionRow {
  readonly id: string;
  readonly token: string;
  /** As the client declared it. */
  readonly chunk_size: number | null;
  /** Declared and paid for. */
  readonly total_bytes: number | null;
  readonly state: SessionState;
  /** JSON list of addresses. */
  readonly paid_by: string;
  readonly client_address: string;
  /** JSON: the account that a payment made at creation was credited to, and what the receipt says about it. */
  readonly payment: string | null;
  readonly item_id: string | null;
  /** The answer that a failed finalization gave. */
  readonly failure: string | null;
  readonly changed_at: number;
  /** What its parts are together. */
  readonly part_bytes: number;
}

export interface SessionPayment {
  readonly id: string;
  readonly account: WalletAddress;
  /** What it was credited: more than that is not charged there. Absent in rows of earlier versions. */
  readonly winc?: string;
  readonly answer: Readonly<Record<string, unknown>>;
}

export interface NewSession {
  readonly token: string;
  readonly chunkSize: number | undefined;
  readonly clientAddress: string;
  readonly totalBytes?: number;
  readonly payment?: SessionPayment;
  /** The client's own name for the request: asking again with it answers the same session. */
  readonly idempotencyKey?: string;
}

export async function createSession(
  sql: Sql,
  session: NewSession,
  limits: { readonly maxOpen: number; readonly lifeMs: number },
  now: number,
): Promise<string> {
  const id = randomUUID();
  return sql.transaction(async (tx) => {
    const key = requestKey(session);
    if (key !== undefined) {
      const begun = await tx.get<{ id: string; client_address: string }>(
        'SELECT id, client_address FROM upload_sessions WHERE request_key = ?',
        key,
      );
      // A settled payment can be read on its chain: that alone must not open another's upload.
      if (begun !== undefined && begun.client_address !== session.clientAddress)
        throw uploadErrors.paidElsewhere();
      if (begun !== undefined) return begun.id;
    }
    // All that holds parts: what could not be paid holds them too.
    const open = await tx.get<{ n: number }>(
      `SELECT COUNT(*) AS n FROM upload_sessions
       WHERE client_address = ? AND state IN ('open', 'finalizing', 'UNDERFUNDED')`,
      session.clientAddress,
    );
    if ((open?.n ?? 0) >= limits.maxOpen) throw uploadErrors.tooManySessions();
    await tx.run(
      `INSERT INTO upload_sessions (id, token, chunk_size, total_bytes, state, paid_by, client_address, payment,
         request_key, claimed_until, created_at, changed_at, expires_at)
       VALUES (?, ?, ?, ?, 'open', '[]', ?, ?, ?, 0, ?, ?, ?)`,
      id,
      session.token,
      session.chunkSize ?? null,
      session.totalBytes ?? null,
      session.clientAddress,
      session.payment === undefined ? null : JSON.stringify(session.payment),
      key ?? null,
      now,
      now,
      now + limits.lifeMs,
    );
    return id;
  });
}

/** What makes two requests one: the payment they carry, or the name a client gave from one address. */
function requestKey({ payment, idempotencyKey, clientAddress }: NewSession): string | undefined {
  if (payment !== undefined) return `payment ${payment.id}`;
  return idempotencyKey === undefined ? undefined : `client ${clientAddress} ${idempotencyKey}`;
}

export async function findSession(sql: SqlExecutor, id: string): Promise<SessionRow> {
  if (!/^[0-9a-f-]{36}$/.test(id)) throw uploadErrors.unknownSession(id);
  const row = await sql.get<SessionRow>('SELECT * FROM upload_sessions WHERE id = ?', id);
  if (row === undefined) throw uploadErrors.unknownSession(id);
  return row;
}

export interface PartRow {
  readonly start: number;
  readonly size: number;
  readonly digest: string;
}

export function partsOf(sql: SqlExecutor, session: string): Promise<PartRow[]> {
  return sql.all<PartRow>(
    'SELECT start, size, digest FROM upload_parts WHERE session = ? ORDER BY start',
    session,
  );
}

/**
 * Ends a session in a state from which nothing follows; its parts are no longer needed. Does nothing when others have
 * gone on with it.
 */
export function closeSession(
  sql: Sql,
  claim: Claim,
  end: { readonly state: SessionState; readonly itemId?: string; readonly failure?: string },
  now: number,
): Promise<void> {
  return sql.transaction(async (tx) => {
    const closed = await tx.run(
      `UPDATE upload_sessions SET state = ?, item_id = ?, failure = ?, claimed_until = 0, changed_at = ?
       WHERE id = ? AND claim = ? AND state = 'finalizing'`,
      end.state,
      end.itemId ?? null,
      end.failure ?? null,
      now,
      claim.session,
      claim.name,
    );
    if (closed > 0) await dropParts(tx, claim.session, now);
  });
}

/** Removes up to `limit` sessions whose time is over, with what they held. */
export async function expireSessions(sql: Sql, limit: number, now: number): Promise<number> {
  const rows = await sql.all<{ id: string }>(
    'SELECT id FROM upload_sessions WHERE expires_at <= ? AND claimed_until < ? ORDER BY expires_at LIMIT ?',
    now,
    now,
    limit,
  );
  for (const { id } of rows) {
    await sql.transaction(async (tx) => {
      const removed = await tx.run('DELETE FROM upload_sessions WHERE id = ? AND claimed_until < ?', id, now);
      if (removed > 0) await dropParts(tx, id, now);
    });
  }
  return rows.length;
}

async function dropParts(tx: SqlExecutor, id: string, now: number): Promise<void> {
  // A digest that several parts share was counted once for each.
  for (const part of await partsOf(tx, id)) await freeBlobs(tx, [asSegment(part)], now);
  await tx.run('DELETE FROM upload_parts WHERE session = ?', id);
}

export function asSegment(part: PartRow): Segment {
  return { digest: part.digest, start: 0, size: part.size };
}
