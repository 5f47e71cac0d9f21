/** Webhooks as they are kept: stored before they are answered, each dealt with once however often it comes. */
import { Type } from 'typebox';
import { changeOne } from '../../storage/sql/change-one.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { readInteger, rowReader, textOrNull } from '../../storage/sql/typed-rows.ts';
import type { ProviderEvent } from './provider.ts';

export interface InboxEvent {
  readonly id: string;
  readonly quoteId: string | undefined;
  readonly intentId: string | undefined;
  readonly sessionId: string | undefined;
  readonly attempts: number;
}

const readStored = rowReader(
  'a webhook of the card provider',
  Type.Object({
    id: Type.String(),
    quote_id: textOrNull,
    intent_id: textOrNull,
    session_id: textOrNull,
    attempts: Type.Integer(),
  }),
);

/** False when it had come before. */
export async function storeEvent(
  tx: SqlExecutor,
  event: ProviderEvent,
  state: 'ignored' | 'waiting',
  now: number,
): Promise<boolean> {
  const stored = await tx.run(
    `INSERT INTO card_events (id, type, quote_id, intent_id, session_id, created, state, attempts, due_at, received_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?) ON CONFLICT (id) DO NOTHING`,
    event.id,
    event.type,
    event.quoteId ?? null,
    event.intentId ?? null,
    event.sessionId ?? null,
    event.created,
    state,
    now,
    now,
  );
  return stored === 1;
}

export async function dueEvents(executor: SqlExecutor, now: number, limit: number): Promise<InboxEvent[]> {
  const rows = await executor.all(
    `SELECT id, quote_id, intent_id, session_id, attempts FROM card_events
     WHERE state = 'waiting' AND due_at <= ? ORDER BY received_at, id LIMIT ?`,
    now,
    limit,
  );
  return rows.map(readStored).map((row) => ({
    id: row.id,
    quoteId: row.quote_id ?? undefined,
    intentId: row.intent_id ?? undefined,
    sessionId: row.session_id ?? undefined,
    attempts: row.attempts,
  }));
}

export async function nextEventAt(executor: SqlExecutor): Promise<number | undefined> {
  const row = await executor.get("SELECT MIN(due_at) AS due_at FROM card_events WHERE state = 'waiting'");
  return row?.due_at == null ? undefined : readInteger(row.due_at);
}

export async function endEvents(
  tx: SqlExecutor,
  events: readonly InboxEvent[],
  state: 'done' | 'ignored',
): Promise<void> {
  for (const { id } of events) {
    await changeOne(tx, 'UPDATE card_events SET state = ? WHERE id = ?', state, id);
  }
}

export async function postponeEvents(
  tx: SqlExecutor,
  events: readonly InboxEvent[],
  dueAt: (event: InboxEvent) => number,
): Promise<void> {
  for (const event of events) {
    await changeOne(
      tx,
      'UPDATE card_events SET attempts = attempts + 1, due_at = ? WHERE id = ?',
      dueAt(event),
      event.id,
    );
  }
}

/** A webhook is taken only while its signature is fresh, so one this old cannot come again. */
export async function forgetEvents(tx: SqlExecutor, receivedBefore: number): Promise<void> {
  await tx.run("DELETE FROM card_events WHERE state <> 'waiting' AND received_at < ?", receivedBefore);
}

/** The moment (unix seconds) up to which the provider's list of events was read. */
export async function readCursor(executor: SqlExecutor): Promise<number | undefined> {
  const row = await executor.get("SELECT value FROM card_cursor WHERE name = 'events'");
  return row && readInteger(row.value);
}

export async function writeCursor(tx: SqlExecutor, unixSeconds: number): Promise<void> {
  await tx.run(
    `INSERT INTO card_cursor (name, value) VALUES ('events', ?)
     ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    unixSeconds,
  );
}
