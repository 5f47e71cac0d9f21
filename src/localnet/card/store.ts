/**
 * Objects and events in SQL. A change to objects, the events it causes and their deliveries are written in
 * one transaction: what happened is announced, and what is announced happened.
 */

import { randomInt } from 'node:crypto';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { noSuch } from './errors.ts';
import type {
  CardEvent,
  CardObject,
  Charge,
  CheckoutSession,
  Dispute,
  PaymentIntent,
  Refund,
} from './objects.ts';

/** The version of Stripe's API whose shapes are answered. */
export const apiVersion = '2026-10-28.endive';

interface Kinds {
  payment_intent: PaymentIntent;
  charge: Charge;
  refund: Refund;
  dispute: Dispute;
  'checkout.session': CheckoutSession;
}
export type Kind = keyof Kinds;

/** One change of the provider's state, inside one transaction. */
export interface Change {
  readonly tx: SqlExecutor;
  /** Unix seconds. */
  readonly now: number;
  readonly requestId: string | null;
  readonly idempotencyKey: string | null;
}

export async function findObject<K extends Kind>(
  tx: SqlExecutor,
  kind: K,
  id: string,
): Promise<Kinds[K] | undefined> {
  return readBody(await tx.get('SELECT body FROM objects WHERE id = ? AND kind = ?', id, kind));
}

export async function getObject<K extends Kind>(tx: SqlExecutor, kind: K, id: string): Promise<Kinds[K]> {
  const object = await findObject(tx, kind, id);
  if (object === undefined) throw noSuch(kind, id);
  return object;
}

/** Any object by its id, for `expand`. */
export async function findAnyObject(tx: SqlExecutor, id: string): Promise<CardObject | undefined> {
  return readBody(await tx.get('SELECT body FROM objects WHERE id = ?', id));
}

interface BodyRow {
  readonly body: string;
}

/** Bodies are written by us, so they are what their type says. */
function readBody<T>(row: BodyRow | undefined): T | undefined {
  return row && JSON.parse(row.body);
}

export interface Page {
  readonly limit: number;
  readonly startingAfter: string | undefined;
}

export async function listObjects<K extends Kind>(
  tx: SqlExecutor,
  kind: K,
  parent: string | undefined,
  page: Page,
): Promise<Kinds[K][]> {
  if (parent === undefined) return listBodies(tx, 'objects', 'kind = ?', [kind], page);
  return listBodies(tx, 'objects', 'parent = ? AND kind = ?', [parent, kind], page);
}

/** Newest first, as the API lists. One more than asked for is read, to know whether there is more. */
async function listBodies<T>(
  tx: SqlExecutor,
  table: 'events' | 'objects',
  where: string,
  values: readonly (string | number)[],
  { limit, startingAfter }: Page,
): Promise<T[]> {
  let before = Number.MAX_SAFE_INTEGER;
  if (startingAfter !== undefined) {
    const row = await tx.get<{ seq: number }>(`SELECT seq FROM ${table} WHERE id = ?`, startingAfter);
    if (row === undefined) throw noSuch('object', startingAfter, 'starting_after');
    before = row.seq;
  }
  const rows = await tx.all<BodyRow>(
    `SELECT body FROM ${table} WHERE ${where} AND seq < ? ORDER BY seq DESC LIMIT ?`,
    ...values,
    before,
    limit + 1,
  );
  return rows.map(({ body }) => JSON.parse(body));
}

/** Writes an object; `parent` is what it is listed under (a payment intent's charges, refunds, disputes). */
export async function putObject(
  change: Change,
  object: CardObject,
  parent: string | null = null,
): Promise<void> {
  await change.tx.run(
    `INSERT INTO objects (id, kind, parent, body) VALUES (?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET body = excluded.body`,
    object.id,
    object.object,
    parent,
    JSON.stringify(object),
  );
}

/** Records an event and queues its delivery. */
export async function announce(change: Change, type: string, object: CardObject): Promise<void> {
  const event: CardEvent = {
    id: newId.event(),
    object: 'event',
    api_version: apiVersion,
    created: change.now,
    data: { object },
    livemode: false,
    pending_webhooks: 1,
    request: { id: change.requestId, idempotency_key: change.idempotencyKey },
    type,
  };
  await change.tx.run(
    'INSERT INTO events (id, type, created, body) VALUES (?, ?, ?, ?)',
    event.id,
    type,
    change.now,
    JSON.stringify(event),
  );
  await queueDelivery(change.tx, event.id);
}

export async function queueDelivery(tx: SqlExecutor, eventId: string): Promise<void> {
  await tx.run(
    "INSERT INTO deliveries (event_id, state, attempts, due_at) VALUES (?, 'waiting', 0, 0)",
    eventId,
  );
}

export async function findEvent(tx: SqlExecutor, id: string): Promise<CardEvent | undefined> {
  return readBody(await tx.get('SELECT body FROM events WHERE id = ?', id));
}

export async function listEvents(
  tx: SqlExecutor,
  filter: { since: number; types: readonly string[] },
  page: Page,
): Promise<CardEvent[]> {
  const wanted = filter.types.map(() => '?').join(', ');
  const where = `created >= ? ${wanted === '' ? '' : `AND type IN (${wanted})`}`;
  return listBodies(tx, 'events', where, [filter.since, ...filter.types], page);
}

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

export function randomLetters(length: number): string {
  let text = '';
  for (let i = 0; i < length; i += 1) text += alphabet[randomInt(alphabet.length)];
  return text;
}

export const newId = {
  charge: () => `ch_${randomLetters(24)}`,
  dispute: () => `du_${randomLetters(24)}`,
  event: () => `evt_${randomLetters(24)}`,
  paymentIntent: () => `pi_${randomLetters(24)}`,
  paymentMethod: () => `pm_${randomLetters(24)}`,
  refund: () => `re_${randomLetters(24)}`,
  request: () => `req_${randomLetters(14)}`,
  session: () => `cs_test_${randomLetters(58)}`,
};

/** The secret that lets a browser act on one object, and on nothing else. */
export const clientSecretFor = (id: string) => `${id}_secret_${randomLetters(25)}`;
