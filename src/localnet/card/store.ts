/**
 * Objects and events in SQL. A change to objects, the events it causes and their deliveries are written in
 * one transaction: what happened is announced, and what is announced happened.
 */

import { randomInt } from 'node:crypto';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { all, type Condition, notDeleted } from './conditions.ts';
import { noSuch } from './errors.ts';
import type {
  BalanceTransaction,
  CardEvent,
  CardObject,
  Charge,
  CheckoutSession,
  Customer,
  Deleted,
  Dispute,
  PaymentIntent,
  PaymentMethod,
  Price,
  Product,
  Refund,
  WebhookEndpoint,
} from './objects.ts';

/** The version of Stripe's API whose shapes are answered. */
export const apiVersion = '2026-10-28.endive';
/** As many as Stripe has per account. */
export const maxWebhookEndpoints = 16;

interface Kinds {
  payment_intent: PaymentIntent;
  charge: Charge;
  refund: Refund;
  dispute: Dispute;
  'checkout.session': CheckoutSession;
  balance_transaction: BalanceTransaction;
  customer: Customer;
  payment_method: PaymentMethod;
  product: Product;
  price: Price;
  webhook_endpoint: WebhookEndpoint;
}
export type Kind = keyof Kinds;

/** One change of the provider's state, inside one transaction. */
export interface Change {
  readonly tx: SqlExecutor;
  /** Unix seconds. */
  readonly now: number;
  readonly requestId: string | null;
  readonly idempotencyKey: string | null;
  /** Base address that browsers reach. */
  readonly publicUrl: string;
}

export async function findObject<K extends Kind>(
  tx: SqlExecutor,
  kind: K,
  id: string,
): Promise<Kinds[K] | undefined> {
  const found: Kinds[K] | Deleted | undefined = readBody(
    await tx.get('SELECT body FROM objects WHERE id = ? AND kind = ?', id, kind),
  );
  return found === undefined || 'deleted' in found ? undefined : found;
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
  readonly endingBefore?: string | undefined;
}

/** Newest first, and one more than the page holds, to know whether there is more. */
export function listObjects<K extends Kind>(
  tx: SqlExecutor,
  kind: K,
  conditions: readonly Condition[],
  page: Page,
): Promise<Kinds[K][]> {
  return listBodies(tx, 'objects', [ofKind(kind), notDeleted, ...conditions], page);
}

export function listEvents(
  tx: SqlExecutor,
  conditions: readonly Condition[],
  page: Page,
): Promise<CardEvent[]> {
  return listBodies(tx, 'events', conditions, page);
}

export interface SearchPage<K extends Kind> {
  readonly data: Kinds[K][];
  /** Where the next page begins. */
  readonly next: number | undefined;
}

/** Newest first, from before the place that an earlier page ended at. */
export async function searchObjects<K extends Kind>(
  tx: SqlExecutor,
  kind: K,
  conditions: readonly Condition[],
  limit: number,
  before: number,
): Promise<SearchPage<K>> {
  const wanted = all([ofKind(kind), notDeleted, ...conditions, { sql: 'seq < ?', values: [before] }]);
  const rows = await tx.all<BodyRow & { seq: number }>(
    `SELECT seq, body FROM objects WHERE ${wanted.sql} ORDER BY seq DESC LIMIT ?`,
    ...wanted.values,
    limit + 1,
  );
  const shown = rows.slice(0, limit);
  return {
    data: shown.map(({ body }) => JSON.parse(body)),
    next: rows.length > limit ? shown.at(-1)?.seq : undefined,
  };
}

const ofKind = (kind: Kind): Condition => ({ sql: 'kind = ?', values: [kind] });

async function listBodies<T>(
  tx: SqlExecutor,
  table: 'events' | 'objects',
  conditions: readonly Condition[],
  page: Page,
): Promise<T[]> {
  const bounds = [
    ...(await placeOf(tx, table, page.startingAfter, '<', 'starting_after')),
    ...(await placeOf(tx, table, page.endingBefore, '>', 'ending_before')),
  ];
  const wanted = all([...conditions, ...bounds]);
  const isBackwards = page.endingBefore !== undefined;
  const rows = await tx.all<BodyRow>(
    `SELECT body FROM ${table} WHERE ${wanted.sql} ORDER BY seq ${isBackwards ? 'ASC' : 'DESC'} LIMIT ?`,
    ...wanted.values,
    page.limit + 1,
  );
  return rows.map(({ body }) => JSON.parse(body));
}

async function placeOf(
  tx: SqlExecutor,
  table: 'events' | 'objects',
  id: string | undefined,
  side: '<' | '>',
  parameter: string,
): Promise<Condition[]> {
  if (id === undefined) return [];
  const row = await tx.get<{ seq: number }>(`SELECT seq FROM ${table} WHERE id = ?`, id);
  if (row === undefined) throw noSuch('object', id, parameter);
  return [{ sql: `seq ${side} ?`, values: [row.seq] }];
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
  await queueDeliveries(change.tx, event);
}

/** To the merchant's own endpoint, and to those that were added and want events of this type. */
async function queueDeliveries(tx: SqlExecutor, event: CardEvent): Promise<void> {
  await queueDelivery(tx, event.id, null);
  // By their secrets, of which there are few: every event comes by here.
  const rows = await tx.all<BodyRow>('SELECT o.body FROM endpoint_secrets s JOIN objects o ON o.id = s.id');
  for (const row of rows) {
    const { id, status, enabled_events: wanted }: WebhookEndpoint = JSON.parse(row.body);
    if (status === 'enabled' && (wanted.includes('*') || wanted.includes(event.type))) {
      await queueDelivery(tx, event.id, id);
    }
  }
}

/** `endpoint` null is the merchant's own, which the payment surface names at its start. */
export async function queueDelivery(
  tx: SqlExecutor,
  eventId: string,
  endpoint: string | null,
): Promise<void> {
  await tx.run(
    "INSERT INTO deliveries (event_id, endpoint, state, attempts, due_at) VALUES (?, ?, 'waiting', 0, 0)",
    eventId,
    endpoint,
  );
}

export async function findEvent(tx: SqlExecutor, id: string): Promise<CardEvent | undefined> {
  return readBody(await tx.get('SELECT body FROM events WHERE id = ?', id));
}

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

export function randomLetters(length: number): string {
  let text = '';
  for (let i = 0; i < length; i += 1) text += alphabet[randomInt(alphabet.length)];
  return text;
}

export const newId = {
  balanceTransaction: () => `txn_${randomLetters(24)}`,
  charge: () => `ch_${randomLetters(24)}`,
  customer: () => `cus_${randomLetters(14)}`,
  dispute: () => `du_${randomLetters(24)}`,
  event: () => `evt_${randomLetters(24)}`,
  paymentIntent: () => `pi_${randomLetters(24)}`,
  paymentMethod: () => `pm_${randomLetters(24)}`,
  price: () => `price_${randomLetters(24)}`,
  product: () => `prod_${randomLetters(14)}`,
  refund: () => `re_${randomLetters(24)}`,
  request: () => `req_${randomLetters(14)}`,
  session: () => `cs_test_${randomLetters(58)}`,
  webhookEndpoint: () => `we_${randomLetters(24)}`,
};

/** The secret that lets a browser act on one object, and on nothing else. */
export const clientSecretFor = (id: string) => `${id}_secret_${randomLetters(25)}`;
