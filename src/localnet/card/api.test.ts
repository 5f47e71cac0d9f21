import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import Stripe from 'stripe';
import { startProvider } from './testing.ts';

const intentOf = (stripe: Stripe, method?: string, amount = 1000) =>
  stripe.paymentIntents.create({
    amount,
    currency: 'usd',
    allowed_payment_method_types: ['card'],
    metadata: { topUpQuoteId: 'q1' },
    ...(method === undefined ? {} : { payment_method: method, confirm: true }),
  });

const eventTypes = async (stripe: Stripe) =>
  (await stripe.events.list({ limit: 100 })).data.map((event) => event.type).reverse();

test('a payment intent is created, confirmed with a test card and read back by the official client', async (t) => {
  const { stripe } = await startProvider(t);
  const intent = await intentOf(stripe);
  assert.equal(intent.status, 'requires_payment_method');
  assert.match(intent.client_secret ?? '', new RegExp(`^${intent.id}_secret_`));
  const paid = await stripe.paymentIntents.confirm(intent.id, { payment_method: 'pm_card_visa' });
  assert.equal(paid.status, 'succeeded');
  assert.equal(paid.amount_received, 1000);
  const read = await stripe.paymentIntents.retrieve(intent.id, { expand: ['latest_charge'] });
  assert.deepEqual(read.metadata, { topUpQuoteId: 'q1' });
  assert.ok(typeof read.latest_charge === 'object' && read.latest_charge?.paid === true);
  assert.deepEqual(await eventTypes(stripe), [
    'payment_intent.created',
    'charge.succeeded',
    'payment_intent.succeeded',
  ]);
});

test('a declined card is a card error, and another card may follow', async (t) => {
  const { stripe } = await startProvider(t);
  const intent = await intentOf(stripe);
  await assert.rejects(
    stripe.paymentIntents.confirm(intent.id, { payment_method: 'pm_card_chargeDeclinedInsufficientFunds' }),
    (error: unknown) =>
      error instanceof Stripe.errors.StripeCardError &&
      error.code === 'card_declined' &&
      error.decline_code === 'insufficient_funds' &&
      error.payment_intent?.id === intent.id,
  );
  const waiting = await stripe.paymentIntents.retrieve(intent.id);
  assert.equal(waiting.status, 'requires_payment_method');
  assert.equal(waiting.last_payment_error?.decline_code, 'insufficient_funds');
  const paid = await stripe.paymentIntents.confirm(intent.id, { payment_method: 'pm_card_mastercard' });
  assert.equal(paid.status, 'succeeded');
});

test('a paid or cancelled intent cannot be confirmed or cancelled again', async (t) => {
  const { stripe } = await startProvider(t);
  const paid = await intentOf(stripe, 'pm_card_visa');
  const open = await intentOf(stripe);
  const cancelled = await stripe.paymentIntents.cancel(open.id, { cancellation_reason: 'abandoned' });
  assert.equal(cancelled.status, 'canceled');
  for (const id of [paid.id, open.id]) {
    await assert.rejects(stripe.paymentIntents.confirm(id, { payment_method: 'pm_card_visa' }), {
      code: 'payment_intent_unexpected_state',
    });
    await assert.rejects(stripe.paymentIntents.cancel(id), { code: 'payment_intent_unexpected_state' });
  }
  assert.equal((await stripe.charges.list({ payment_intent: paid.id })).data.length, 1);
});

test('an idempotency key answers the same again, across a restart, and refuses other parameters', async (t) => {
  const first = await startProvider(t);
  const create = (stripe: Stripe, amount: number) =>
    stripe.paymentIntents.create({ amount, currency: 'usd' }, { idempotencyKey: 'quote-1' });
  const [a, b] = await Promise.all([create(first.stripe, 700), create(first.stripe, 700)]);
  assert.equal(a.id, b.id);
  const { stripe } = await first.restart();
  assert.equal((await create(stripe, 700)).id, a.id);
  await assert.rejects(create(stripe, 800), Stripe.errors.StripeIdempotencyError);
  assert.equal((await eventTypes(stripe)).length, 1);
});

test('a decline under an idempotency key is replayed and charges no second time', async (t) => {
  const { stripe } = await startProvider(t);
  const intent = await intentOf(stripe);
  const confirm = () =>
    stripe.paymentIntents.confirm(
      intent.id,
      { payment_method: 'pm_card_chargeDeclined' },
      { idempotencyKey: 'confirm-1' },
    );
  await assert.rejects(confirm(), Stripe.errors.StripeCardError);
  await assert.rejects(confirm(), Stripe.errors.StripeCardError);
  assert.equal((await stripe.charges.list({ payment_intent: intent.id })).data.length, 1);
});

test('refunds are bounded by what is left of the charge', async (t) => {
  const { stripe } = await startProvider(t);
  const { id } = await intentOf(stripe, 'pm_card_visa');
  await stripe.refunds.create({ payment_intent: id, amount: 300 });
  await assert.rejects(stripe.refunds.create({ payment_intent: id, amount: 701 }), { param: 'amount' });
  const rest = await stripe.refunds.create({ payment_intent: id });
  assert.equal(rest.amount, 700);
  await assert.rejects(stripe.refunds.create({ payment_intent: id }), { code: 'charge_already_refunded' });
  const [charge] = (await stripe.charges.list({ payment_intent: id })).data;
  assert.equal(charge?.amount_refunded, 1000);
  assert.equal(charge?.refunded, true);
  assert.equal((await eventTypes(stripe)).filter((type) => type === 'charge.refunded').length, 2);
});

test('an unpaid intent has nothing to refund', async (t) => {
  const { stripe } = await startProvider(t);
  const { id } = await intentOf(stripe);
  await assert.rejects(
    stripe.refunds.create({ payment_intent: id }),
    Stripe.errors.StripeInvalidRequestError,
  );
  assert.equal((await stripe.refunds.list({ payment_intent: id })).data.length, 0);
});

test('a refund may fail later, and the charge counts as paid again', async (t) => {
  const { stripe } = await startProvider(t);
  const { id } = await intentOf(stripe, 'pm_card_refundFail');
  const refund = await stripe.refunds.create({ payment_intent: id });
  assert.equal(refund.status, 'succeeded');
  assert.equal((await stripe.refunds.retrieve(refund.id)).status, 'failed');
  assert.equal((await stripe.charges.list({ payment_intent: id })).data[0]?.amount_refunded, 0);
});

test('the disputing card is disputed at once; evidence wins it and closing it loses it', async (t) => {
  const { stripe } = await startProvider(t);
  const disputeOf = async (method: string) => {
    const { id } = await intentOf(stripe, method);
    const [dispute] = (await stripe.disputes.list({ payment_intent: id })).data;
    assert.ok(dispute !== undefined);
    assert.equal(dispute.status, 'needs_response');
    return dispute;
  };
  const fraud = await disputeOf('pm_card_createDispute');
  assert.equal(fraud.reason, 'fraudulent');
  const won = await stripe.disputes.update(fraud.id, {
    evidence: { uncategorized_text: 'winning_evidence' },
  });
  assert.equal(won.status, 'won');
  const missing = await disputeOf('pm_card_createDisputeProductNotReceived');
  assert.equal((await stripe.disputes.close(missing.id)).status, 'lost');
  await assert.rejects(stripe.disputes.close(missing.id), Stripe.errors.StripeInvalidRequestError);
  const types = await eventTypes(stripe);
  assert.equal(types.filter((type) => type === 'charge.dispute.closed').length, 2);
  assert.equal(types.filter((type) => type === 'charge.dispute.funds_reinstated').length, 1);
});

test('checkout sessions are hosted or embedded, and expire', async (t) => {
  const { stripe } = await startProvider(t);
  const line_items = [
    {
      quantity: 2,
      price_data: {
        currency: 'usd',
        unit_amount: 500,
        product_data: { name: 'Credits', tax_code: 'txcd_10000000' },
      },
    },
  ];
  const hosted = await stripe.checkout.sessions.create({
    mode: 'payment',
    line_items,
    success_url: 'https://example.com/ok',
    cancel_url: 'https://example.com/no',
  });
  assert.equal(hosted.amount_total, 1000);
  assert.equal(hosted.payment_intent, null);
  assert.match(hosted.url ?? '', /\/c\/pay\/cs_test_/);
  assert.equal(hosted.client_secret, null);
  const embedded = await stripe.checkout.sessions.create({
    mode: 'payment',
    ui_mode: 'embedded_page',
    line_items,
    redirect_on_completion: 'never',
  });
  assert.equal(embedded.url, null);
  assert.match(embedded.client_secret ?? '', /^cs_test_.+_secret_/);
  const items = await stripe.checkout.sessions.listLineItems(hosted.id);
  assert.equal(items.data[0]?.description, 'Credits');
  assert.equal((await stripe.checkout.sessions.expire(hosted.id)).status, 'expired');
  await assert.rejects(stripe.checkout.sessions.expire(hosted.id), Stripe.errors.StripeInvalidRequestError);
});

test('a session that nobody pays expires by the clock and says so', async (t) => {
  let now = Date.now();
  const first = await startProvider(t, { now: () => now });
  const session = await first.stripe.checkout.sessions.create({
    mode: 'payment',
    line_items: [{ price_data: { currency: 'usd', unit_amount: 500, product_data: { name: 'Credits' } } }],
    success_url: 'https://example.com/ok',
    expires_at: Math.floor(now / 1000) + 1800,
  });
  now += 1_800_000;
  const { stripe } = await first.restart();
  assert.equal((await stripe.checkout.sessions.retrieve(session.id)).status, 'expired');
  assert.deepEqual(await eventTypes(stripe), ['checkout.session.expired']);
});

test('wrong requests are refused with the error and parameter of Stripe, and change nothing', async (t) => {
  const { stripe } = await startProvider(t);
  const raw = (path: string, params: Record<string, unknown>) => stripe.rawRequest('POST', path, params);
  const cases: [Promise<unknown>, object][] = [
    [raw('/v1/payment_intents', { currency: 'usd' }), { code: 'parameter_missing', param: 'amount' }],
    [raw('/v1/payment_intents', { amount: '1e3', currency: 'usd' }), { code: 'parameter_invalid_integer' }],
    [raw('/v1/payment_intents', { amount: -5, currency: 'usd' }), { code: 'parameter_invalid_integer' }],
    [raw('/v1/payment_intents', { amount: 49, currency: 'usd' }), { code: 'amount_too_small' }],
    [raw('/v1/payment_intents', { amount: 100000000, currency: 'usd' }), { code: 'amount_too_large' }],
    [raw('/v1/payment_intents', { amount: 500, currency: 'zzz' }), { param: 'currency' }],
    [raw('/v1/payment_intents', { amount: 500, currency: 'usd', amuont: 1 }), { code: 'parameter_unknown' }],
    [
      raw('/v1/payment_intents', { amount: 500, currency: 'usd', metadata: { ['k'.repeat(41)]: 'v' } }),
      { type: 'StripeInvalidRequestError' },
    ],
    [
      raw('/v1/checkout/sessions', { mode: 'payment', success_url: 'https://a.example' }),
      { code: 'parameter_missing', param: 'line_items' },
    ],
    [stripe.paymentIntents.retrieve('pi_none'), { code: 'resource_missing', statusCode: 404 }],
    [stripe.refunds.create({ payment_intent: 'pi_none' }), { code: 'resource_missing' }],
    [raw('/v1/nothing', {}), { statusCode: 404 }],
  ];
  for (const [call, expected] of cases) await assert.rejects(call, expected);
  assert.deepEqual(await eventTypes(stripe), []);
});

test('only the secret key opens the API; a browser needs the client secret of the one intent', async (t) => {
  const { provider, stripe } = await startProvider(t);
  const intent = await intentOf(stripe);
  const call = (path: string, authorization: string | undefined, body?: string) =>
    fetch(`${provider.url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        ...(authorization === undefined ? {} : { authorization }),
      },
      ...(body === undefined ? {} : { body }),
    });
  const path = `/v1/payment_intents/${intent.id}`;
  assert.equal((await call(path, undefined)).status, 401);
  assert.equal((await call(path, 'Bearer sk_test_wrong')).status, 401);
  assert.equal((await call(path, `Basic ${btoa(`${provider.secretKey}:`)}`)).status, 200);
  const browser = `Bearer ${provider.publishableKey}`;
  assert.equal((await call(path, browser)).status, 401);
  assert.equal((await call(`${path}?client_secret=${intent.client_secret}`, browser)).status, 200);
  assert.equal((await call('/v1/refunds', browser, `payment_intent=${intent.id}`)).status, 403);
  const confirm = `client_secret=${intent.client_secret}&payment_method=pm_card_visa`;
  assert.equal((await call(`${path}/confirm`, browser, confirm)).status, 200);
});

test('the keys are made once, kept private and survive a restart', async (t) => {
  const first = await startProvider(t);
  const { secretKey, webhookSecret } = first.provider;
  assert.match(secretKey, /^sk_test_/);
  assert.match(webhookSecret, /^whsec_/);
  const second = await first.restart();
  assert.equal(second.provider.secretKey, secretKey);
  assert.equal(second.provider.webhookSecret, webhookSecret);
  const mode = statSync(join(first.dataDir, 'keys', 'local-card-secret-key')).mode & 0o777;
  assert.equal(mode, 0o600);
  const other = await startProvider(t);
  assert.notEqual(other.provider.secretKey, secretKey);
});
