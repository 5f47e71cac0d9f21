/**
 * `Idempotency-Key`: the first answer under a key is kept in the transaction that made it, and given again
 * to every repeat within a day (https://docs.stripe.com/api/idempotent_requests). A key used with other
 * parameters is refused.
 */
import { createHash } from 'node:crypto';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { CardApiError, invalidRequest } from './errors.ts';

const day = 24 * 3600;
const maxKeyLength = 255;

/** An answer of the API; `body` is JSON text, so that a replay is the same to the byte. */
export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly replayed: boolean;
}

export interface KeyedRequest {
  readonly key: string;
  readonly path: string;
  readonly body: string;
}

const fingerprintOf = (request: KeyedRequest) =>
  createHash('sha256').update(`${request.path}\n${request.body}`).digest('hex');

export function checkKey(key: string): void {
  if (key.length > maxKeyLength) {
    throw invalidRequest(`Idempotency keys can be at most ${maxKeyLength} characters long`);
  }
}

export async function keptAnswer(
  tx: SqlExecutor,
  request: KeyedRequest,
  now: number,
): Promise<Answer | undefined> {
  const row = await tx.get<{ fingerprint: string; status: number; body: string; created: number }>(
    'SELECT fingerprint, status, body, created FROM replies WHERE key = ?',
    request.key,
  );
  if (row === undefined) return undefined;
  if (row.created + day <= now) {
    await tx.run('DELETE FROM replies WHERE key = ?', request.key);
    return undefined;
  }
  if (row.fingerprint !== fingerprintOf(request)) {
    throw new CardApiError(400, {
      type: 'idempotency_error',
      message:
        'Keys for idempotent requests can only be used with the same parameters they were first used with.',
    });
  }
  return { status: row.status, body: row.body, replayed: true };
}

export async function keepAnswer(
  tx: SqlExecutor,
  request: KeyedRequest,
  answer: Answer,
  now: number,
): Promise<void> {
  await tx.run(
    'INSERT INTO replies (key, fingerprint, status, body, created) VALUES (?, ?, ?, ?, ?)',
    request.key,
    fingerprintOf(request),
    answer.status,
    answer.body,
    now,
  );
}

/** Forgets what is older than a day. */
export async function forgetOldAnswers(tx: SqlExecutor, now: number): Promise<void> {
  await tx.run('DELETE FROM replies WHERE created <= ?', now - day);
}
