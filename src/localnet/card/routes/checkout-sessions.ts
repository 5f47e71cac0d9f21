/** `/v1/checkout/sessions`: create, retrieve, expire, and what the session sells. */
import type { App } from '../../../kernel/http/server.ts';
import { get, listOf, type Provider, pageOf, post } from '../api.ts';
import { invalidRequest, missingParameter } from '../errors.ts';
import type { LineItem } from '../objects.ts';
import { type Params, readMethodTypes } from '../params.ts';
import { createSession, expireSession, getCheckout, type SessionOrder } from '../sessions.ts';
import { getObject, randomLetters } from '../store.ts';

/** Both the current names of the pages and those before API version 2026-03. */
const uiModes = ['hosted_page', 'hosted', 'embedded_page', 'embedded'] as const;

export function checkoutSessionRoutes(app: App, provider: Provider): void {
  post(app, provider, '/checkout/sessions', async (change, call) => {
    const order = readOrder(call.params);
    call.params.done();
    return { object: await createSession(change, order, provider.url()) };
  });

  get(app, provider, '/checkout/sessions/:id', async (tx, call) => {
    return getObject(tx, 'checkout.session', call.id);
  });

  get(app, provider, '/checkout/sessions/:id/line_items', async (tx, call) => {
    await getObject(tx, 'checkout.session', call.id);
    const { items } = await getCheckout(tx, call.id);
    return listOf(`/v1/checkout/sessions/${call.id}/line_items`, pageOf(call.params), items);
  });

  post(app, provider, '/checkout/sessions/:id/expire', async (change, call) => {
    const session = await getObject(change.tx, 'checkout.session', call.id);
    call.params.done();
    return { object: await expireSession(change, session) };
  });
}

function readOrder(params: Params): SessionOrder {
  if (params.choice('mode', ['payment']) === undefined) throw missingParameter('mode');
  const uiMode = params.choice('ui_mode', uiModes) ?? 'hosted_page';
  const tax = params.object('automatic_tax');
  const automaticTax = tax?.flag('enabled') ?? false;
  tax?.done();
  const items = readItems(params.objects('line_items'));
  const [first] = items;
  if (first === undefined) throw missingParameter('line_items');
  const currency = params.optionalText('currency')?.toLowerCase() ?? first.currency;
  if (items.some((item) => item.currency !== currency)) {
    throw invalidRequest('All line items must have the session currency', { param: 'currency' });
  }
  const intent = params.object('payment_intent_data');
  const order: SessionOrder = {
    uiMode,
    embedded: uiMode.startsWith('embedded'),
    successUrl: params.url('success_url') ?? null,
    cancelUrl: params.url('cancel_url') ?? null,
    returnUrl: params.url('return_url'),
    redirectOnCompletion: params.choice('redirect_on_completion', ['always', 'if_required', 'never']),
    expiresAt: params.optionalInteger('expires_at'),
    automaticTax,
    clientReference: params.optionalText('client_reference_id', 200) ?? null,
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

function readItems(list: readonly Params[] | undefined): LineItem[] {
  return (list ?? []).map((item) => {
    const price = item.object('price_data');
    if (price === undefined) throw missingParameter('line_items[0][price_data]');
    const product = price.object('product_data');
    if (product === undefined) throw missingParameter('line_items[0][price_data][product_data]');
    const quantity = item.optionalInteger('quantity') ?? 1;
    const unit = price.integer('unit_amount');
    const currency = price.text('currency').toLowerCase();
    price.choice('tax_behavior', ['exclusive', 'inclusive', 'unspecified']);
    const name = product.text('name', 250);
    const details = product.optionalText('description', 5_000) ?? null;
    product.metadata();
    product.optionalText('tax_code');
    product.texts('images');
    for (const read of [product, price, item]) read.done();
    if (quantity < 1)
      throw invalidRequest('Quantity must be at least 1', { param: 'line_items[0][quantity]' });
    return {
      id: `li_${randomLetters(24)}`,
      object: 'item',
      amount_subtotal: unit * quantity,
      amount_total: unit * quantity,
      currency,
      description: name,
      details,
      quantity,
    };
  });
}
