/** `/v1/payment_intents`: create, retrieve, update, confirm, cancel, list, search. */
import type { App } from '../../../kernel/http/server.ts';
import type { SqlExecutor } from '../../../storage/sql/sql.ts';
import { type Call, type Effected, get, type Provider, post, requireClientSecret } from '../api.ts';
import { invalidRequest } from '../errors.ts';
import type { PaymentIntent } from '../objects.ts';
import { readMethodTypes } from '../params.ts';
import { methodFor } from '../payment-methods.ts';
import {
  type Confirmation,
  cancelIntent,
  checkAmount,
  confirmIntent,
  createIntent,
  requireOpen,
} from '../payments.ts';
import { readCustomer } from '../sessions.ts';
import { type Change, getObject, putObject } from '../store.ts';
import { listed } from './lists.ts';

export function paymentIntentRoutes(app: App, provider: Provider): void {
  post(app, provider, '/payment_intents', async (change, call) => {
    const { params } = call;
    const automatic = params.object('automatic_payment_methods');
    automatic?.flag('enabled');
    automatic?.choice('allow_redirects', ['always', 'never']);
    automatic?.done();
    const capture = params.choice('capture_method', ['automatic', 'automatic_async']);
    if (capture === undefined && params.has('capture_method')) {
      throw invalidRequest('Only automatic capture is supported', { param: 'capture_method' });
    }
    const order = {
      amount: params.integer('amount'),
      currency: params.text('currency').toLowerCase(),
      customer: await readCustomer(change.tx, params),
      description: params.optionalText('description') ?? null,
      metadata: params.metadata(),
      methodTypes: readMethodTypes(params),
      receiptEmail: params.optionalText('receipt_email') ?? null,
    };
    const method = params.optionalText('payment_method');
    const confirm = params.flag('confirm');
    params.url('return_url');
    params.done();
    const intent = await createIntent(change, order);
    if (method === undefined) {
      if (confirm) throw invalidRequest('You cannot confirm this PaymentIntent without a payment method.');
      return { object: intent };
    }
    const paidWith = await methodFor(change, method);
    if (confirm) return confirmed(await confirmIntent(change, intent, paidWith));
    return { object: await ready(change, intent, paidWith.id) };
  });

  const readIntent = async (tx: SqlExecutor, call: Call): Promise<PaymentIntent> => {
    const intent = await getObject(tx, 'payment_intent', call.id);
    requireClientSecret(call, intent.client_secret);
    return intent;
  };

  get(app, provider, '/payment_intents/:id', readIntent, 'merchant or browser');
  listed(app, provider, {
    path: '/payment_intents',
    kind: 'payment_intent',
    filters: { customer: {} },
    search: { amount: 'number', created: 'number', currency: 'text', customer: 'text', status: 'text' },
  });

  post(app, provider, '/payment_intents/:id', async (change, call) => {
    const { params } = call;
    const intent = await getObject(change.tx, 'payment_intent', call.id);
    const changed: PaymentIntent = {
      ...intent,
      amount: params.optionalInteger('amount') ?? intent.amount,
      currency: params.optionalText('currency')?.toLowerCase() ?? intent.currency,
      customer: (await readCustomer(change.tx, params)) ?? intent.customer,
      description: params.optionalText('description') ?? intent.description,
      metadata: params.metadata(intent.metadata),
      receipt_email: params.optionalText('receipt_email') ?? intent.receipt_email,
    };
    const method = params.optionalText('payment_method');
    params.done();
    if (changed.amount !== intent.amount || changed.currency !== intent.currency || method !== undefined) {
      requireOpen(intent, 'update');
      checkAmount(changed.amount, changed.currency);
    }
    if (method !== undefined) {
      return { object: await ready(change, changed, (await methodFor(change, method)).id) };
    }
    await putObject(change, changed);
    return { object: changed };
  });

  const confirm = async (change: Change, call: Call): Promise<Effected> => {
    const { params } = call;
    const intent = await readIntent(change.tx, call);
    const method = params.optionalText('payment_method') ?? intent.payment_method;
    params.url('return_url');
    params.optionalText('receipt_email');
    if (method === null) {
      throw invalidRequest('You cannot confirm this PaymentIntent because it is missing a payment method.', {
        code: 'payment_intent_unexpected_state',
      });
    }
    params.done();
    return confirmed(await confirmIntent(change, intent, await methodFor(change, method)));
  };
  post(app, provider, '/payment_intents/:id/confirm', confirm, 'merchant or browser');

  post(app, provider, '/payment_intents/:id/cancel', async (change: Change, call: Call) => {
    const reason = call.params.choice('cancellation_reason', [
      'abandoned',
      'duplicate',
      'fraudulent',
      'requested_by_customer',
    ]);
    const intent = await getObject(change.tx, 'payment_intent', call.id);
    call.params.done();
    return { object: await cancelIntent(change, intent, reason) };
  });
}

/** Nothing but a confirmation is missing. */
async function ready(change: Change, intent: PaymentIntent, method: string): Promise<PaymentIntent> {
  const waiting: PaymentIntent = { ...intent, payment_method: method, status: 'requires_confirmation' };
  await putObject(change, waiting);
  return waiting;
}

/** A decline is answered 402 with the intent inside, and is remembered like any answer. */
function confirmed({ intent, declined }: Confirmation): Effected {
  if (declined === undefined) return { object: intent };
  return { status: 402, object: { error: { ...declined, payment_intent: intent } } };
}
