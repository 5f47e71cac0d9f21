import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import Stripe from 'stripe';
import { backoffMs } from '../../kernel/background/backoff.ts';
import { retries, signatureHeader } from './deliveries.ts';
import type { FaultSettings } from './faults.ts';
import type { LocalCardProvider } from './local-card-provider.ts';
import { startEndpoint, startProvider } from './testing.ts';

const pay = (stripe: Stripe) =>
  stripe.paymentIntents.create({
    amount: 500,
    currency: 'usd',
    payment_method: 'pm_card_visa',
    confirm: true,
  });

async function control(provider: LocalCardProvider, faults?: Partial<FaultSettings>) {
  const answer = await fetch(`${provider.url}/test/webhooks`, {
    headers: { authorization: `Bearer ${provider.secretKey}`, 'content-type': 'application/json' },
    ...(faults === undefined ? {} : { method: 'POST', body: JSON.stringify(faults) }),
  });
  assert.equal(answer.status, 200);
  const state: { deliveries: Record<string, number> } = JSON.parse(await answer.text());
  return state.deliveries;
}

test('the signature is the one of the published example', () => {
  assert.equal(
    signatureHeader('{"id":"evt_1"}', 'whsec_test_secret', 1_700_000_000),
    't=1700000000,v1=248a374f50f943a28b0f6ab50faf9a7e7e29b710fa26df9fb1618b9bf8ea9c9a',
  );
});

test('waits grow from a second to an hour', () => {
  assert.equal(backoffMs(retries, 1), 1_000);
  assert.equal(backoffMs(retries, 4), 8_000);
  assert.equal(backoffMs(retries, 60), 3_600_000);
});

test('events are delivered signed, and the official client accepts them', async (t) => {
  const { provider, stripe } = await startProvider(t);
  const endpoint = await startEndpoint(t);
  await provider.deliverTo(endpoint.url);
  const intent = await pay(stripe);
  await endpoint.until(3);
  for (const { body, signature } of endpoint.received) {
    const event = stripe.webhooks.constructEvent(body, signature, provider.webhookSecret);
    assert.equal(event.object, 'event');
    assert.throws(
      () => stripe.webhooks.constructEvent(body.replace('500', '501'), signature, provider.webhookSecret),
      Stripe.errors.StripeSignatureVerificationError,
    );
  }
  const paid = endpoint.received.find(({ event }) => event.type === 'payment_intent.succeeded');
  assert.ok(paid?.event.type === 'payment_intent.succeeded');
  assert.equal(paid.event.data.object.id, intent.id);
});

test('what was not accepted is delivered after a restart, and what was accepted is not sent again', async (t) => {
  // Its clock stands still, so that nothing is tried again before the restart.
  const start = Date.now();
  const first = await startProvider(t, { now: () => start });
  const endpoint = await startEndpoint(t);
  endpoint.answer = 503;
  await first.provider.deliverTo(endpoint.url);
  await pay(first.stripe);
  await endpoint.until(3);
  endpoint.answer = 200;
  const second = await first.restart();
  await second.provider.deliverTo(endpoint.url);
  await endpoint.until(6);
  while ((await control(second.provider)).delivered !== 3) await sleep(5);
  const third = await second.restart();
  await third.provider.deliverTo(endpoint.url);
  assert.deepEqual(await control(third.provider), { waiting: 0, delivered: 3, dropped: 0, failed: 0 });
  assert.equal(endpoint.received.length, 6);
});

test('tests may drop, double, turn round and hold webhooks', async (t) => {
  const { provider, stripe } = await startProvider(t);
  const endpoint = await startEndpoint(t);
  await provider.deliverTo(endpoint.url);

  await control(provider, { hold: true });
  await pay(stripe);
  await control(provider, { reverse: true });
  await endpoint.until(3);
  assert.deepEqual(
    endpoint.received.map(({ event }) => event.type),
    ['payment_intent.succeeded', 'charge.succeeded', 'payment_intent.created'],
  );

  await control(provider, { duplicate: 3 });
  await pay(stripe);
  await endpoint.until(9);
  assert.equal(new Set(endpoint.received.map(({ event }) => event.id)).size, 6);

  await control(provider, { hold: true, drop: 3 });
  await pay(stripe);
  await control(provider, { drop: 3 });
  await pay(stripe);
  await endpoint.until(12);
  const { dropped } = await control(provider);
  assert.equal(dropped, 3);
  assert.equal(endpoint.received.length, 12);
});

test('an event can be sent again on request', async (t) => {
  const { provider, stripe } = await startProvider(t);
  const endpoint = await startEndpoint(t);
  await provider.deliverTo(endpoint.url);
  await pay(stripe);
  await endpoint.until(3);
  const id = endpoint.received[0]?.event.id;
  const answer = await fetch(`${provider.url}/test/events/${id}/resend`, {
    method: 'POST',
    headers: { authorization: `Bearer ${provider.secretKey}` },
  });
  assert.equal(answer.status, 200);
  await endpoint.until(4);
  assert.equal(endpoint.received[3]?.event.id, id);
});
