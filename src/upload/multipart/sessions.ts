/**
 * Uploads in parts, as rows. A session is open until it is finalized; parts may come in any order and again. The
 * states that clients see:
 *
 *   open ASSEMBLING → finalizing VALIDATING → FINALIZED, or UNDERFUNDED (may be finalized again), or INVALID,
 *   APPROVAL_FAILED, REVOKE_FAILED, which are final
 */
import { randomUUID } from 'node:crypto';
import { type Static, Type } from 'typebox';
import { type Credits, winc } from '../../credits/credits.ts';
import { matchingClaim, type PaymentClaim } from '../../payments/x402/claims.ts';
import { beginSession, readPurchase, returnPurchase } from '../../payments/x402/purchases.ts';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import {
  amountText,
  integerOrNull,
  jsonReader,
  rowReader,
  textOrNull,
} from '../../storage/sql/typed-rows.ts';
import { uploadErrors } from '../errors.ts';
import type { ReservedPayment } from '../intake/payment.ts';
import { freeBlobs } from '../items/blob-uses.ts';
import type { Segment } from '../items/segments.ts';
import { type Claim, isUnclaimed, unclaimedAt } from './claims.ts';

/** Bounds of uploads in parts, as clients know them: every part but the last has one size within these. */
export const multipartLimits = {
  minBytes: 5 * 1024 * 1024,
  maxBytes: 500 * 1024 * 1024,
  maxParts: 10_000,
} as const;

const states = [
  'open',
  'finalizing',
  'FINALIZED',
  'UNDERFUNDED',
  'INVALID',
  'APPROVAL_FAILED',
  'REVOKE_FAILED',
] as const;
export type SessionState = (typeof states)[number];

const storedSession = Type.Object({
  id: Type.String(),
  token: Type.String(),
  /** As the client declared it. */
  chunk_size: integerOrNull,
  /** Declared and paid for. */
  total_bytes: integerOrNull,
  state: Type.Enum(states),
  /** JSON list of addresses. */
  paid_by: Type.String(),
  client_address: Type.String(),
  /** JSON: the payment that was made at creation (`reservedFor`). */
  payment: textOrNull,
  item_id: textOrNull,
  /** The answer that a failed finalization gave. */
  failure: textOrNull,
  changed_at: Type.Integer(),
  /** What its parts are together. */
  part_bytes: Type.Integer(),
});
export type SessionRow = Readonly<Static<typeof storedSession>>;
const readStored = rowReader('an upload in parts', storedSession);

export interface NewSession {
  readonly token: string;
  readonly chunkSize: number | undefined;
  readonly clientAddress: string;
  readonly totalBytes?: number;
  /** What was paid for it, and by which of the payment's clients it is asked for. */
  readonly paid?: { readonly reserved: ReservedPayment; readonly claim: PaymentClaim };
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
  const { paid } = session;
  return sql.transaction(async (tx) => {
    const begun = paid === undefined ? await begunByName(tx, session) : await begunByPayment(tx, paid, now);
    if (begun !== undefined) return begun;
    // What is paid for is given: there was room when the payment was taken.
    if (paid === undefined) await checkOpenSessions(tx, session.clientAddress, limits.maxOpen);
    await tx.run(
      `INSERT INTO upload_sessions (id, token, chunk_size, total_bytes, state, paid_by, client_address, payment,
         request_key, claimed_until, created_at, changed_at, expires_at)
       VALUES (?, ?, ?, ?, 'open', '[]', ?, ?, ?, 0, ?, ?, ?)`,
      id,
      session.token,
      session.chunkSize ?? null,
      session.totalBytes ?? null,
      session.clientAddress,
      paid === undefined ? null : writePayment(paid.reserved),
      paid === undefined ? (requestKey(session) ?? null) : null,
      now,
      now,
      now + limits.lifeMs,
    );
    if (paid !== undefined) await beginSession(tx, paid.reserved.payment, id);
    return id;
  });
}

/** Throws 429 when one network address has as many uploads as it may: all that hold parts, those unpaid too. */
export async function checkOpenSessions(
  sql: SqlExecutor,
  clientAddress: string,
  maxOpen: number,
): Promise<void> {
  const open = await sql.get<{ n: number }>(
    `SELECT COUNT(*) AS n FROM upload_sessions
     WHERE client_address = ? AND state IN ('open', 'finalizing', 'UNDERFUNDED')`,
    clientAddress,
  );
  if ((open?.n ?? 0) >= maxOpen) throw uploadErrors.tooManySessions();
}

/** What makes two unpaid requests one: the name that a client gave, from one address. */
function requestKey({ idempotencyKey, clientAddress }: NewSession): string | undefined {
  return idempotencyKey === undefined ? undefined : `client ${clientAddress} ${idempotencyKey}`;
}

async function begunByName(tx: SqlExecutor, session: NewSession): Promise<string | undefined> {
  const key = requestKey(session);
  if (key === undefined) return undefined;
  const begun = await tx.get<{ id: string }>('SELECT id FROM upload_sessions WHERE request_key = ?', key);
  return begun?.id;
}

/**
 * How long a client without a key of its own may ask again for what its payment began. Long enough to try again after
 * an answer that was lost, and settled by then.
 */
const askAgainMs = 10 * 60_000;

/**
 * The upload that a payment began: a payment begins one, and never another. Anybody who has its id can put bytes into it,
 * and a settled payment can be read on its chain, so the id is answered only to the client of the first request. That
 * client proves itself by the `Idempotency-Key` of that request, for ever; without a key by its network, which others
 * share, and so only for a while, and only while the upload is empty. Everybody else gets 409, whatever became of the
 * upload: nothing is created, and nobody is charged.
 */
async function begunByPayment(
  tx: SqlExecutor,
  { reserved: { payment }, claim }: NonNullable<NewSession['paid']>,
  now: number,
): Promise<string | undefined> {
  const purchase = await readPurchase(tx, payment);
  if (purchase === undefined) throw new Error(`x402 payment ${payment} is gone`);
  const { session, creditedAt } = purchase;
  const proof = matchingClaim(purchase.claim, payment, claim);
  const isProven =
    proof === 'key' ||
    (proof === 'network' &&
      now - creditedAt <= askAgainMs &&
      (session === undefined || (await isUntouched(tx, session))));
  if (!isProven) throw uploadErrors.paymentUsed();
  if (session === undefined && purchase.state !== 'reserved') throw uploadErrors.paymentUsed();
  return session;
}

async function isUntouched(tx: SqlExecutor, session: string): Promise<boolean> {
  const row = await tx.get<{ parts: number }>(
    `SELECT (SELECT COUNT(*) FROM upload_parts WHERE session = upload_sessions.id) AS parts
     FROM upload_sessions WHERE id = ? AND state = 'open'`,
    session,
  );
  return row?.parts === 0;
}

const readPayment = jsonReader(
  'the payment of an upload in parts',
  Type.Object({
    id: Type.String(),
    /** Absent in rows of before, whose price was reserved nowhere. */
    reserved: Type.Optional(amountText),
    answer: Type.Record(Type.String(), Type.Unknown()),
  }),
);

const writePayment = ({ payment, winc: reserved, answer }: ReservedPayment): string =>
  JSON.stringify({ id: payment, reserved: reserved.toString(), answer });

/**
 * The payment out of which the price of a session is reserved. One that was paid for before prices were reserved has
 * none: what it paid went to a wallet's credits, and its item is charged like any other, to who signed it.
 */
export function reservedFor({ payment }: Pick<SessionRow, 'payment'>): ReservedPayment | undefined {
  if (payment === null) return undefined;
  const { id, reserved, answer } = readPayment(payment);
  return reserved === undefined ? undefined : { payment: id, winc: winc(BigInt(reserved)), answer };
}

/** What is still reserved goes back to the wallet that the payment credited, once. */
async function returnReserved(
  tx: SqlExecutor,
  credits: Credits,
  session: Pick<SessionRow, 'payment'>,
  item?: string,
): Promise<void> {
  const reserved = reservedFor(session);
  if (reserved !== undefined) await returnPurchase(tx, credits, reserved.payment, item);
}

/** `lock`: `forUpdate`, where the same transaction will change it. */
export async function findSession(
  sql: SqlExecutor,
  id: string,
  lock: SqlExecutor['forUpdate'] = '',
): Promise<SessionRow> {
  if (!/^[0-9a-f-]{36}$/.test(id)) throw uploadErrors.unknownSession(id);
  const row = await sql.get(`SELECT * FROM upload_sessions WHERE id = ? ${lock}`, id);
  if (row === undefined) throw uploadErrors.unknownSession(id);
  return readStored(row);
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
 * Ends a session in a state from which nothing follows: its parts are no longer needed, nor what it did not cost. Does
 * nothing when others have gone on with it.
 */
export function closeSession(
  sql: Sql,
  credits: Credits,
  claim: Claim,
  end: { readonly state: SessionState; readonly itemId?: string; readonly failure?: string | undefined },
  now: number,
): Promise<void> {
  return sql.transaction(async (tx) => {
    const closed = await tx.get<Pick<SessionRow, 'payment'>>(
      `UPDATE upload_sessions SET state = ?, item_id = ?, failure = ?, claimed_until = 0, changed_at = ?
       WHERE id = ? AND claim = ? AND state = 'finalizing' RETURNING payment`,
      end.state,
      end.itemId ?? null,
      end.failure ?? null,
      now,
      claim.session,
      claim.name,
    );
    if (closed === undefined) return;
    await dropParts(tx, claim.session, now);
    await returnReserved(tx, credits, closed, end.itemId);
  });
}

/** Removes up to `limit` sessions whose time is over, with what they held; what was reserved for them goes back. */
export async function expireSessions(
  sql: Sql,
  credits: Credits,
  limit: number,
  now: number,
): Promise<number> {
  const rows = await sql.all<{ id: string }>(
    `SELECT id FROM upload_sessions WHERE expires_at <= ? AND ${isUnclaimed} ORDER BY expires_at LIMIT ?`,
    now,
    ...unclaimedAt(now),
    limit,
  );
  for (const { id } of rows) {
    await sql.transaction(async (tx) => {
      const removed = await tx.get<Pick<SessionRow, 'payment'>>(
        `DELETE FROM upload_sessions WHERE id = ? AND ${isUnclaimed} RETURNING payment`,
        id,
        ...unclaimedAt(now),
      );
      if (removed === undefined) return;
      await dropParts(tx, id, now);
      await returnReserved(tx, credits, removed);
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
