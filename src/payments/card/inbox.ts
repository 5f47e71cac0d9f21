/**
 * Webhooks as they are kept: stored before they are answered, each dealt with once however often it comes. One that tells
 * of a payment whose quote is not here stays open: after a restore that is money that somebody paid, and `turnpike
 * reconcile` or a person deals with it.
 */
import { type Static, Type } from 'typebox';
import type { OpenCardEvent } from '../../formats/admin-answers.ts';
import { changeOne } from '../../storage/sql/change-one.ts';
import { insertion } from '../../storage/sql/columns.ts';
import { dueBounds, isDue } from '../../storage/sql/due.ts';
import { columnList, columnsOf, fieldsReader, optionalText } from '../../storage/sql/fields.ts';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import { readInteger } from '../../storage/sql/typed-rows.ts';
import type { ProviderEvent } from './provider.ts';

const storedEvent = Type.Object({
  id: Type.String(),
  quoteId: optionalText,
  intentId: optionalText,
  sessionId: optionalText,
  attempts: Type.Integer(),
  receivedAt: Type.Integer(),
});
export type InboxEvent = Readonly<Static<typeof storedEvent>>;

const readStored = fieldsReader('a webhook of the card provider', storedEvent);

/** False when it had come before. */
export async function storeEvent(
  tx: SqlExecutor,
  event: ProviderEvent,
  state: 'ignored' | 'waiting',
  now: number,
): Promise<boolean> {
  const values = columnsOf({ ...event, state, attempts: 0, dueAt: now, receivedAt: now });
  const statement = `INSERT INTO card_events ${insertion(values)} ON CONFLICT (id) DO NOTHING`;
  return (await tx.run(statement, ...Object.values(values))) === 1;
}

/** As if the provider had told of the quote's payment: it is asked how that stands. `id`: of what it is asked for. */
export async function askAgainIn(tx: SqlExecutor, quoteId: string, id: string, now: number): Promise<void> {
  const own = { id, type: 'turnpike.ask_again', created: Math.floor(now / 1_000) };
  await storeEvent(tx, { ...own, quoteId, intentId: undefined, sessionId: undefined }, 'waiting', now);
}

/** Before an event or a quote that could not be dealt with is tried again. */
export const eventRetry = { firstMs: 1_000, longestMs: 10 * 60_000 };

export async function dueEvents(executor: SqlExecutor, now: number, limit: number): Promise<InboxEvent[]> {
  const rows = await executor.all(
    `SELECT ${columnList(storedEvent.properties)} FROM card_events
     WHERE state = 'waiting' AND ${isDue('due_at')} ORDER BY received_at, id LIMIT ?`,
    ...dueBounds(now, eventRetry.longestMs),
    limit,
  );
  return rows.map(readStored);
}

export async function nextEventAt(executor: SqlExecutor): Promise<number | undefined> {
  const row = await executor.get("SELECT MIN(due_at) AS due_at FROM card_events WHERE state = 'waiting'");
  return row?.due_at == null ? undefined : readInteger(row.due_at);
}

export async function endEvents(
  tx: SqlExecutor,
  events: readonly InboxEvent[],
  state: 'done' | 'ignored' | 'open',
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

/** A webhook is taken only while its signature is fresh, so one this old cannot come again. What is open stays. */
export async function forgetEvents(tx: SqlExecutor, receivedBefore: number): Promise<void> {
  await tx.run(
    "DELETE FROM card_events WHERE state <> 'waiting' AND state <> 'open' AND received_at < ?",
    receivedBefore,
  );
}

const openEvent = Type.Object({
  id: Type.String(),
  type: Type.String(),
  quoteId: optionalText,
  intentId: optionalText,
  receivedAt: Type.Integer(),
});
const readOpen = fieldsReader('an open webhook of the card provider', openEvent);

/** Events of payments whose quote is not here, the oldest first. */
export async function openEvents(executor: SqlExecutor, limit: number): Promise<OpenCardEvent[]> {
  const rows = await executor.all(
    `SELECT ${columnList(openEvent.properties)} FROM card_events WHERE state = 'open'
     ORDER BY received_at, id LIMIT ?`,
    limit,
  );
  return rows
    .map(readOpen)
    .map(({ quoteId = null, intentId = null, ...event }) => ({ ...event, quoteId, intentId }));
}

export async function countOpenEvents(executor: SqlExecutor): Promise<number> {
  return readInteger((await executor.get("SELECT COUNT(*) AS n FROM card_events WHERE state = 'open'"))?.n);
}

/** What speaks of this payment is dealt with again, now that its quote is here. */
export async function wakeOpenEvents(tx: SqlExecutor, intentId: string, now: number): Promise<void> {
  await tx.run(
    "UPDATE card_events SET state = 'waiting', due_at = ? WHERE state = 'open' AND intent_id = ?",
    now,
    intentId,
  );
}

/** A person has dealt with it. False when there is no such event that is open. */
export async function endOpenEvent(sql: Sql, id: string): Promise<boolean> {
  return (await sql.run("UPDATE card_events SET state = 'done' WHERE state = 'open' AND id = ?", id)) === 1;
}

/** The newest event (unix seconds, by the provider's clock) up to which the provider's list was read. */
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
