/** Webhooks as they are kept: stored before they are answered, each dealt with once however often it comes. */
import { type Static, Type } from 'typebox';
import { changeOne } from '../../storage/sql/change-one.ts';
import { insertion } from '../../storage/sql/columns.ts';
import { columnList, columnsOf, fieldsReader, optionalText } from '../../storage/sql/fields.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { readInteger } from '../../storage/sql/typed-rows.ts';
import type { ProviderEvent } from './provider.ts';

const storedEvent = Type.Object({
  id: Type.String(),
  quoteId: optionalText,
  intentId: optionalText,
  sessionId: optionalText,
  attempts: Type.Integer(),
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

export async function dueEvents(executor: SqlExecutor, now: number, limit: number): Promise<InboxEvent[]> {
  const rows = await executor.all(
    `SELECT ${columnList(storedEvent.properties)} FROM card_events
     WHERE state = 'waiting' AND due_at <= ? ORDER BY received_at, id LIMIT ?`,
    now,
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
