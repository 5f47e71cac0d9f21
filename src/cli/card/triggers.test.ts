import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientOf, startProvider } from '../../localnet/card/testing.ts';
import { UsageError } from '../command.ts';
import { CardProviderClient, encodeForm, type Form } from './provider-client.ts';
import { findTrigger, readChanges, type TriggerContext, triggerNames } from './triggers.ts';

test('every trigger makes the event that it is named after', async (t) => {
  const { provider } = await startProvider(t);
  const stripe = clientOf(provider);
  const context: TriggerContext = {
    provider: new CardProviderClient(provider.url, provider.secretKey),
    changes: readChanges(['payment_intent:metadata.order=7', 'payment_intent:metadata.colour=red']),
    order: undefined,
    payOnPage: async (url: string, form: Form) => {
      const answer = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: encodeForm(form),
        redirect: 'manual',
      });
      assert.equal(answer.status, 303);
    },
    amount: 1500,
    currency: 'usd',
  };
  for (const name of triggerNames) {
    const [before] = (await stripe.events.list({ limit: 1 })).data;
    await findTrigger(name)(context);
    const { data } = await stripe.events.list({ limit: 100, ...(before && { ending_before: before.id }) });
    const types: string[] = data.map(({ type }) => type);
    if (name.includes('.')) assert.ok(types.includes(name), `${name}: ${types.join(' ')}`);
    assert.ok(types.length > 0, name);
  }
  const [intent] = (await stripe.paymentIntents.search({ query: 'metadata["order"]:"7"', limit: 1 })).data;
  assert.deepEqual([intent?.amount, intent?.metadata], [1500, { order: '7', colour: 'red' }]);
});

test('what cannot be read is refused with its text', () => {
  assert.throws(() => findTrigger('constructor'), UsageError);
  for (const text of ['', 'payment_intent', 'payment_intent:amount', ':a=1', 'a:b..c=1', 'a:b[c]=1']) {
    assert.throws(() => readChanges([text]), UsageError, text);
  }
  assert.equal(
    encodeForm({ a: { b: 1 }, c: ['x', { d: true }] }),
    'a%5Bb%5D=1&c%5B0%5D=x&c%5B1%5D%5Bd%5D=true',
  );
});
