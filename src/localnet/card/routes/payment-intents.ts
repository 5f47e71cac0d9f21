/** `/v1/payment_intents`: create, retrieve, confirm, cancel. */
import type { App } from '../../../kernel/http/server.ts';
import type { SqlExecutor } from '../../../storage/sql/sql.ts';
import { type Call, type Effected, get, type Provider, post, requireClientSecret } from '../api.ts';
import { invalidRequest } from '../errors.ts';
import type { PaymentIntent } from '../objects.ts';
import { readMethodTypes } from '../params.ts';
import { type Confirmation, cancelIntent, cardForMethod, confirmIntent, createIntent } from '../payments.ts';
import { type Change, getObject, putObject } from '../store.ts';

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
      description: params.optionalText('description') ?? null,
      metadata: params.metadata(),
      methodTypes: readMethodTypes(params),
      receiptEmail: params.optionalText('receipt_email') ?? null,
    };
    const method = params.optionalText('payment_method');
    const confirm = params.flag('confirm');
    params.url('return_url');
    const card = method === undefined ? undefined : cardForMethod(method);
    params.done();
    const intent = await createIntent(change, order);
    if (method === undefined || card === undefined) {
      if (confirm) throw invalidRequest('You cannot confirm this PaymentIntent without a payment method.');
      return { object: intent };
    }
    if (confirm) return confirmed(await confirmIntent(change, intent, card, method));
    const ready: PaymentIntent = { ...intent, payment_method: method, status: 'requires_confirmation' };
    await putObject(change, ready);
    return { object: ready };
  });

  const readIntent = async (tx: SqlExecutor, call: Call): Promise<PaymentIntent> => {
    const intent = await getObject(tx, 'payment_intent', call.id);
    requireClientSecret(call, intent.client_secret);
    return intent;
  };

  get(app, provider, '/payment_intents/:id', readIntent, 'merchant or browser');

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
    const card = cardForMethod(method);
    params.done();
    return confirmed(await confirmIntent(change, intent, card, method));
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

/** A decline is answered 402 with the intent inside, and is remembered like any answer. */
function confirmed({ intent, declined }: Confirmation): Effected {
  if (declined === undefined) return { object: intent };
  return { status: 402, object: { error: { ...declined, payment_intent: intent } } };
}
