/** Checkout sessions: an order, a page to pay it on, and where the payer goes afterwards. */
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { invalidRequest, missingParameter, noSuch } from './errors.ts';
import type { CheckoutSession, LineItem } from './objects.ts';
import { type Params, readMethodTypes } from './params.ts';
import { createMethod } from './payment-methods.ts';
import { checkAmount, confirmIntent, createIntent, type IntentOrder } from './payments.ts';
import {
  announce,
  type Change,
  clientSecretFor,
  findObject,
  getObject,
  newId,
  putObject,
  randomLetters,
} from './store.ts';
import type { TestCard } from './test-cards.ts';

const halfHour = 30 * 60;
const day = 24 * 3600;

/** Both the current names of the pages and those before API version 2026-03. */
const uiModes = ['hosted_page', 'hosted', 'embedded_page', 'embedded'] as const;

/** What a session is created from, strictly read. */
export async function readOrder(tx: SqlExecutor, params: Params) {
  if (params.choice('mode', ['payment']) === undefined) throw missingParameter('mode');
  const uiMode = params.choice('ui_mode', uiModes) ?? 'hosted_page';
  const tax = params.object('automatic_tax');
  const automaticTax = tax?.flag('enabled') ?? false;
  tax?.done();
  const items = await readItems(tx, params.objects('line_items'));
  const [first] = items;
  if (first === undefined) throw missingParameter('line_items');
  const currency = params.optionalText('currency')?.toLowerCase() ?? first.currency;
  if (items.some((item) => item.currency !== currency)) {
    throw invalidRequest('All line items must have the session currency', { param: 'currency' });
  }
  const intent = params.object('payment_intent_data');
  const order = {
    uiMode,
    embedded: uiMode.startsWith('embedded'),
    successUrl: params.url('success_url') ?? null,
    cancelUrl: params.url('cancel_url') ?? null,
    returnUrl: params.url('return_url'),
    redirectOnCompletion: params.choice('redirect_on_completion', ['always', 'if_required', 'never']),
    expiresAt: params.optionalInteger('expires_at'),
    automaticTax,
    clientReference: params.optionalText('client_reference_id', 200) ?? null,
    customer: await readCustomer(tx, params),
    customerEmail: params.optionalText('customer_email', 320) ?? null,
    metadata: params.metadata(),
    items,
    intent: {
      description: intent?.optionalText('description') ?? null,
      metadata: intent?.metadata() ?? {},
      receiptEmail: intent?.optionalText('receipt_email') ?? null,
    },
    currency,
    methodTypes: readMethodTypes(params),
  };
  intent?.done();
  return order;
}

/** The id of a customer that exists; null without one. */
export async function readCustomer(tx: SqlExecutor, params: Params): Promise<string | null> {
  const id = params.optionalText('customer');
  if (id === undefined) return null;
  if ((await findObject(tx, 'customer', id)) === undefined) throw noSuch('customer', id, 'customer');
  return id;
}

async function readItems(tx: SqlExecutor, list: readonly Params[] | undefined): Promise<LineItem[]> {
  const items: LineItem[] = [];
  for (const [index, item] of (list ?? []).entries()) items.push(await readItem(tx, item, index));
  return items;
}

async function readItem(tx: SqlExecutor, item: Params, index: number): Promise<LineItem> {
  const quantity = item.optionalInteger('quantity') ?? 1;
  const price = item.optionalText('price');
  const sold = price === undefined ? readPriceData(item, index) : await readPrice(tx, price);
  item.done();
  if (quantity < 1) {
    throw invalidRequest('Quantity must be at least 1', { param: `line_items[${index}][quantity]` });
  }
  return {
    id: `li_${randomLetters(24)}`,
    object: 'item',
    amount_subtotal: sold.unit * quantity,
    amount_total: sold.unit * quantity,
    currency: sold.currency,
    description: sold.name,
    details: sold.details,
    price: price ?? null,
    quantity,
  };
}

interface Sold {
  readonly unit: number;
  readonly currency: string;
  readonly name: string;
  readonly details: string | null;
}

function readPriceData(item: Params, index: number): Sold {
  const price = item.object('price_data');
  if (price === undefined) throw missingParameter(`line_items[${index}][price_data]`);
  const product = price.object('product_data');
  if (product === undefined) throw missingParameter(`line_items[${index}][price_data][product_data]`);
  const sold = {
    unit: price.integer('unit_amount'),
    currency: price.text('currency').toLowerCase(),
    name: product.text('name', 250),
    details: product.optionalText('description', 5_000) ?? null,
  };
  price.choice('tax_behavior', ['exclusive', 'inclusive', 'unspecified']);
  product.metadata();
  product.optionalText('tax_code');
  product.texts('images');
  product.done();
  price.done();
  return sold;
}

async function readPrice(tx: SqlExecutor, id: string): Promise<Sold> {
  const price = await getObject(tx, 'price', id);
  const product = await getObject(tx, 'product', price.product);
  if (!price.active) throw invalidRequest('The price specified is inactive.', { param: 'line_items' });
  return {
    unit: price.unit_amount,
    currency: price.currency,
    name: product.name,
    details: product.description,
  };
}

type SessionOrder = Awaited<ReturnType<typeof readOrder>>;

export async function createSession(change: Change, order: SessionOrder): Promise<CheckoutSession> {
  const total = order.items.reduce((sum, item) => sum + item.amount_total, 0);
  checkAmount(total, order.currency);
  const expiresAt = order.expiresAt ?? change.now + day;
  if (expiresAt < change.now + halfHour || expiresAt > change.now + day) {
    throw invalidRequest(
      'The `expires_at` timestamp must be at least 30 minutes and at most 24 hours from Checkout Session creation.',
      { param: 'expires_at' },
    );
  }
  requireUrls(order);
  const id = newId.session();
  const session: CheckoutSession = {
    id,
    object: 'checkout.session',
    amount_subtotal: total,
    amount_total: total,
    automatic_tax: { enabled: order.automaticTax, status: order.automaticTax ? 'complete' : null },
    cancel_url: order.cancelUrl,
    client_reference_id: order.clientReference,
    client_secret: order.embedded ? clientSecretFor(id) : null,
    created: change.now,
    currency: order.currency,
    customer: order.customer,
    customer_details: null,
    customer_email: order.customerEmail,
    expires_at: expiresAt,
    livemode: false,
    metadata: order.metadata,
    mode: 'payment',
    payment_intent: null,
    payment_method_types: [...order.methodTypes],
    payment_status: 'unpaid',
    status: 'open',
    success_url: order.successUrl,
    ui_mode: order.uiMode,
    url: order.embedded ? null : `${change.publicUrl}/c/pay/${id}`,
    ...(order.redirectOnCompletion === undefined
      ? {}
      : { redirect_on_completion: order.redirectOnCompletion }),
    ...(order.returnUrl === undefined ? {} : { return_url: order.returnUrl }),
  };
  const intent: IntentOrder = {
    ...order.intent,
    amount: total,
    currency: order.currency,
    customer: order.customer,
    methodTypes: order.methodTypes,
  };
  await putObject(change, session);
  await change.tx.run(
    'INSERT INTO checkouts (id, is_open, expires_at, line_items, intent) VALUES (?, 1, ?, ?, ?)',
    id,
    expiresAt,
    JSON.stringify(order.items),
    JSON.stringify(intent),
  );
  return session;
}

function requireUrls(order: SessionOrder): void {
  const { embedded, successUrl, cancelUrl, returnUrl } = order;
  const staysOnPage = order.redirectOnCompletion === 'never';
  const refuse = (message: string, param: string) => invalidRequest(message, { param });
  if (!embedded) {
    if (successUrl === null) throw refuse('You must provide success_url for hosted pages.', 'success_url');
    if (returnUrl !== undefined) throw refuse('`return_url` is only for embedded pages.', 'return_url');
    return;
  }
  if (successUrl !== null || cancelUrl !== null) {
    throw refuse('`success_url` and `cancel_url` are not for embedded pages.', 'success_url');
  }
  if (returnUrl === undefined && !staysOnPage) {
    throw refuse('`return_url` is required unless `redirect_on_completion` is `never`.', 'return_url');
  }
  if (returnUrl !== undefined && staysOnPage) {
    throw refuse('`return_url` cannot be given when `redirect_on_completion` is `never`.', 'return_url');
  }
}

export interface Checkout {
  readonly items: readonly LineItem[];
  readonly intent: IntentOrder;
}

export async function getCheckout(tx: SqlExecutor, id: string): Promise<Checkout> {
  const row = await tx.get<{ line_items: string; intent: string }>(
    'SELECT line_items, intent FROM checkouts WHERE id = ?',
    id,
  );
  if (row === undefined) throw new Error(`checkout ${id} has no order`);
  const items: LineItem[] = JSON.parse(row.line_items);
  const intent: IntentOrder = JSON.parse(row.intent);
  return { items, intent };
}

export type PaymentOutcome =
  | { readonly kind: 'paid'; readonly session: CheckoutSession }
  | { readonly kind: 'declined'; readonly session: CheckoutSession; readonly message: string }
  | { readonly kind: 'closed'; readonly session: CheckoutSession };

/** Pays the session with a card; the payment intent is made at the first attempt and kept for the next. */
export async function paySession(
  change: Change,
  id: string,
  card: TestCard,
  email: string | null,
): Promise<PaymentOutcome> {
  const session = await getObject(change.tx, 'checkout.session', id);
  if (session.status !== 'open' || session.expires_at <= change.now) return { kind: 'closed', session };
  const checkout = await getCheckout(change.tx, id);
  const intent =
    session.payment_intent === null
      ? await createIntent(change, { ...checkout.intent, receiptEmail: email })
      : await getObject(change.tx, 'payment_intent', session.payment_intent);
  const method = await createMethod(change, card, { email });
  const confirmation = await confirmIntent(change, intent, method);
  if (confirmation.declined !== undefined) {
    const waiting: CheckoutSession = { ...session, payment_intent: intent.id, customer_email: email };
    await putObject(change, waiting);
    return { kind: 'declined', session: waiting, message: confirmation.declined.message };
  }
  const paid: CheckoutSession = {
    ...session,
    customer_details: { email, name: null },
    customer_email: email,
    payment_intent: intent.id,
    payment_status: 'paid',
    status: 'complete',
    url: null,
  };
  await putObject(change, paid);
  await change.tx.run('UPDATE checkouts SET is_open = 0 WHERE id = ?', id);
  await announce(change, 'checkout.session.completed', paid);
  return { kind: 'paid', session: paid };
}

export async function expireSession(change: Change, session: CheckoutSession): Promise<CheckoutSession> {
  if (session.status !== 'open') {
    throw invalidRequest(
      `Only Checkout Sessions with a status in ["open"] can be expired. This Checkout Session has a status of ${session.status}.`,
    );
  }
  const expired: CheckoutSession = { ...session, status: 'expired', url: null };
  await putObject(change, expired);
  await change.tx.run('UPDATE checkouts SET is_open = 0 WHERE id = ?', session.id);
  await announce(change, 'checkout.session.expired', expired);
  return expired;
}

/** Expires what is due, a bounded number at a time; answers how many. */
export async function expireDueSessions(change: Change): Promise<number> {
  const due = await change.tx.all<{ id: string }>(
    'SELECT id FROM checkouts WHERE is_open = 1 AND expires_at <= ? ORDER BY expires_at LIMIT 100',
    change.now,
  );
  for (const { id } of due) await expireSession(change, await getObject(change.tx, 'checkout.session', id));
  return due.length;
}
