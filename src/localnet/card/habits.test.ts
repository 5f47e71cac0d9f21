/** The everyday calls of the official package beyond taking one payment. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Stripe from 'stripe';
import { startEndpoint, startProvider } from './testing.ts';

const pay = (stripe: Stripe, metadata: Record<string, string> = {}, more: object = {}) =>
  stripe.paymentIntents.create({
    amount: 1000,
    currency: 'usd',
    payment_method: 'pm_card_visa',
    confirm: true,
    metadata,
    ...more,
  });

test('lists go page by page both ways, by time, and by what they belong to', async (t) => {
  const { stripe } = await startProvider(t);
  const ids: string[] = [];
  for (let count = 0; count < 5; count += 1) ids.unshift((await pay(stripe)).id);

  const first = await stripe.paymentIntents.list({ limit: 2 });
  assert.deepEqual([first.data.map(({ id }) => id), first.has_more], [ids.slice(0, 2), true]);
  const last = await stripe.paymentIntents.list({ limit: 2, starting_after: ids[2] ?? '' });
  assert.deepEqual([last.data.map(({ id }) => id), last.has_more], [ids.slice(3), false]);
  const back = await stripe.paymentIntents.list({ limit: 2, ending_before: ids[4] ?? '' });
  assert.deepEqual([back.data.map(({ id }) => id), back.has_more], [ids.slice(2, 4), true]);
  const all: string[] = [];
  for await (const { id } of stripe.paymentIntents.list({ limit: 2 })) all.push(id);
  assert.deepEqual(all, ids);

  const now = Math.floor(Date.now() / 1000);
  assert.equal((await stripe.charges.list({ created: { gte: now - 60, lt: now + 60 } })).data.length, 5);
  assert.equal((await stripe.charges.list({ created: { gt: now + 60 } })).data.length, 0);
  assert.equal((await stripe.charges.list({ payment_intent: ids[0] ?? '' })).data.length, 1);
  await assert.rejects(stripe.paymentIntents.list({ limit: 101 }), { param: 'limit' });
  await assert.rejects(
    stripe.paymentIntents.list({ starting_after: ids[0] ?? '', ending_before: ids[1] ?? '' }),
    /only specify one/,
  );
  await assert.rejects(stripe.paymentIntents.list({ starting_after: 'pi_none' }), {
    code: 'resource_missing',
  });
});

test('searches read the language of the documentation', async (t) => {
  const { stripe } = await startProvider(t);
  const customer = await stripe.customers.create({ email: 'ann@example.com', name: 'Ann "the" Payer' });
  const mine = await pay(stripe, { order: '6735', who: "o'neil" }, { customer: customer.id });
  await pay(stripe, { order: '6736' });
  const open = await stripe.paymentIntents.create({ amount: 5000, currency: 'eur' });

  const found = async (query: string) =>
    (await stripe.paymentIntents.search({ query })).data.map(({ id }) => id);
  assert.deepEqual(await found('metadata["order"]:"6735"'), [mine.id]);
  assert.deepEqual(await found(`metadata['who']:"o'neil" AND status:"succeeded"`), [mine.id]);
  assert.deepEqual(await found(`customer:"${customer.id}"`), [mine.id]);
  assert.deepEqual(await found('amount>1000'), [open.id]);
  assert.deepEqual(await found('-status:"succeeded"'), [open.id]);
  assert.deepEqual(await found('metadata["order"]:null'), [open.id]);
  assert.equal((await found('currency:"eur" OR metadata["order"]:"6736"')).length, 2);
  assert.deepEqual(
    (await stripe.customers.search({ query: 'name~"the\\" pay"' })).data.map(({ id }) => id),
    [customer.id],
  );
  assert.equal(
    (await stripe.charges.search({ query: 'payment_method_details.card.last4:4242' })).data.length,
    2,
  );

  const page = await stripe.paymentIntents.search({ query: 'status:"succeeded"', limit: 1 });
  assert.ok(page.has_more && page.next_page !== undefined);
  const all: string[] = [];
  for await (const { id } of stripe.paymentIntents.search({ query: 'created>0', limit: 1 })) all.push(id);
  assert.equal(all.length, 3);

  for (const query of [
    '',
    'status',
    'status:"a" status:"b"',
    'status:"a" AND amount>1 OR amount<5',
    'secret:"x"',
    'amount:"many"',
    'status>"a"',
    'metadata["a\' OR 1=1"]',
    'status:"a"); DROP TABLE objects',
    Array.from({ length: 11 }, () => 'amount>1').join(' AND '),
  ]) {
    await assert.rejects(
      stripe.paymentIntents.search({ query }),
      Stripe.errors.StripeInvalidRequestError,
      query,
    );
  }
});

test('what is named by an id is answered whole where it is asked for', async (t) => {
  const { stripe } = await startProvider(t);
  const customer = await stripe.customers.create({ email: 'ann@example.com' });
  const { id } = await pay(stripe, {}, { customer: customer.id });
  const intent = await stripe.paymentIntents.retrieve(id, {
    expand: ['latest_charge.balance_transaction', 'latest_charge.refunds', 'customer', 'payment_method'],
  });
  const charge = intent.latest_charge;
  assert.ok(typeof charge === 'object' && charge !== null);
  assert.ok(typeof charge.balance_transaction === 'object' && charge.balance_transaction !== null);
  assert.equal(charge.balance_transaction.net, 1000 - 59);
  assert.deepEqual(charge.refunds?.data, []);
  assert.ok(typeof intent.customer === 'object' && intent.customer?.id === customer.id);
  assert.ok(typeof intent.payment_method === 'object' && intent.payment_method?.card?.last4 === '4242');
  const receipt = await fetch(charge.receipt_url ?? '');
  assert.equal(receipt.status, 200);
  assert.match(await receipt.text(), /Receipt for \$10\.00.*visa ending in 4242/s);

  const listed = await stripe.paymentIntents.list({ expand: ['data.latest_charge', 'data.customer'] });
  assert.ok(typeof listed.data[0]?.latest_charge === 'object');

  const session = await stripe.checkout.sessions.create({
    mode: 'payment',
    success_url: 'https://example.com/',
    line_items: [
      { price_data: { currency: 'usd', unit_amount: 700, product_data: { name: 'Seven' } }, quantity: 2 },
    ],
    expand: ['line_items'],
  });
  assert.equal(session.line_items?.data[0]?.amount_total, 1400);
  const kept = await stripe.checkout.sessions.list({ status: 'open', expand: ['data.line_items'] });
  assert.deepEqual([kept.data.length, kept.data[0]?.line_items?.data[0]?.description], [1, 'Seven']);
  await assert.rejects(stripe.paymentIntents.retrieve(id, { expand: ['nothing'] }), /cannot be expanded/);
});

test('customers and their cards are made, changed, listed and deleted', async (t) => {
  const { stripe } = await startProvider(t);
  const customer = await stripe.customers.create({ email: 'ann@example.com', metadata: { a: '1', b: '2' } });
  const changed = await stripe.customers.update(customer.id, { name: 'Ann', metadata: { a: '', c: '3' } });
  assert.deepEqual(
    [changed.name, changed.email, changed.metadata],
    ['Ann', 'ann@example.com', { b: '2', c: '3' }],
  );
  assert.deepEqual((await stripe.customers.update(customer.id, { metadata: '' })).metadata, {});
  assert.equal((await stripe.customers.list({ email: 'ann@example.com' })).data.length, 1);
  assert.equal((await stripe.customers.list({ email: 'bob@example.com' })).data.length, 0);

  const method = await stripe.paymentMethods.create({ type: 'card', card: { token: 'tok_mastercard' } });
  await stripe.paymentMethods.attach(method.id, { customer: customer.id });
  const visa = await stripe.paymentMethods.attach('pm_card_visa', { customer: customer.id });
  assert.notEqual(visa.id, 'pm_card_visa');
  assert.equal((await stripe.customers.listPaymentMethods(customer.id)).data.length, 2);
  assert.equal((await stripe.paymentMethods.list({ customer: customer.id, type: 'card' })).data.length, 2);
  await assert.rejects(
    stripe.paymentMethods.attach(method.id, { customer: customer.id }),
    /already been attached/,
  );
  const paid = await pay(stripe, {}, { customer: customer.id, payment_method: method.id });
  assert.deepEqual([paid.status, paid.payment_method], ['succeeded', method.id]);
  await stripe.paymentMethods.detach(method.id);
  assert.equal((await stripe.paymentMethods.list({ customer: customer.id })).data.length, 1);
  const number = await stripe.paymentMethods.create({
    type: 'card',
    card: { number: '4000000000000002', exp_month: 1, exp_year: 2031, cvc: '123' },
  });
  await assert.rejects(pay(stripe, {}, { payment_method: number.id }), Stripe.errors.StripeCardError);
  await assert.rejects(
    stripe.paymentMethods.create({
      type: 'card',
      card: { number: '4111111111111112', exp_month: 1, exp_year: 2031 },
    }),
    { code: 'incorrect_number' },
  );

  assert.deepEqual(await deletedOf(stripe.customers.del(customer.id)), { id: customer.id, deleted: true });
  assert.equal((await stripe.customers.retrieve(customer.id)).deleted, true);
  assert.equal((await stripe.customers.list()).data.length, 0);
  await assert.rejects(stripe.customers.update(customer.id, { name: 'x' }), { code: 'resource_missing' });
  await assert.rejects(stripe.customers.retrieve(method.id), { code: 'resource_missing' });
});

const deletedOf = async (answer: Promise<{ id: string; deleted: boolean }>) => {
  const { id, deleted } = await answer;
  return { id, deleted };
};

test('products and prices are sold by a checkout', async (t) => {
  const { stripe } = await startProvider(t);
  const product = await stripe.products.create({
    name: 'Credits',
    default_price_data: { currency: 'usd', unit_amount: 500 },
  });
  const price = await stripe.prices.create({
    product: product.id,
    currency: 'usd',
    unit_amount: 900,
    nickname: 'more',
  });
  assert.equal((await stripe.prices.list({ product: product.id })).data.length, 2);
  assert.equal((await stripe.prices.update(price.id, { metadata: { a: '1' } })).metadata.a, '1');
  assert.equal(
    (await stripe.products.update(product.id, { description: 'For storage' })).description,
    'For storage',
  );
  assert.equal((await stripe.products.search({ query: 'name:"Credits"' })).data.length, 1);
  const sell = () =>
    stripe.checkout.sessions.create({
      mode: 'payment',
      success_url: 'https://example.com/',
      line_items: [{ price: price.id, quantity: 3 }],
    });
  const session = await sell();
  assert.equal(session.amount_total, 2700);
  await assert.rejects(stripe.products.del(product.id), /cannot be deleted/);
  await stripe.prices.update(price.id, { active: false });
  await assert.rejects(sell(), /inactive/);
  const bare = await stripe.products.create({ name: 'Nothing' });
  assert.equal((await stripe.products.del(bare.id)).deleted, true);
});

test('the balance is what was paid, went back and was disputed, after fees', async (t) => {
  let now = Date.now();
  const { stripe } = await startProvider(t, { now: () => now });
  const { id } = await pay(stripe);
  await stripe.refunds.create({ payment_intent: id, amount: 400 });
  const disputed = await pay(stripe, {}, { payment_method: 'pm_card_createDispute' });
  const net = 1000 - 59 - 400 + (1000 - 59) + (-1000 - 1500);
  const before = await stripe.balance.retrieve();
  assert.deepEqual([before.available[0]?.amount, before.pending[0]?.amount], [0, net]);
  now += 3 * 24 * 3600 * 1000;
  const [dispute] = (await stripe.disputes.list({ payment_intent: disputed.id })).data;
  await stripe.disputes.update(dispute?.id ?? '', { evidence: { uncategorized_text: 'winning_evidence' } });
  const after = await stripe.balance.retrieve();
  assert.deepEqual([after.available[0]?.amount, after.pending[0]?.amount], [net, 2500]);
  const moved = await stripe.balanceTransactions.list({ type: 'refund' });
  assert.deepEqual(
    moved.data.map(({ amount, status }) => [amount, status]),
    [[-400, 'available']],
  );
});

test('payments, refunds, charges and sessions take changes of their descriptions', async (t) => {
  const { stripe } = await startProvider(t);
  const open = await stripe.paymentIntents.create({ amount: 1000, currency: 'usd', metadata: { a: '1' } });
  const changed = await stripe.paymentIntents.update(open.id, {
    amount: 2000,
    description: 'two',
    metadata: { b: '2' },
    payment_method: 'pm_card_visa',
  });
  assert.deepEqual(
    [changed.amount, changed.description, changed.metadata, changed.status],
    [2000, 'two', { a: '1', b: '2' }, 'requires_confirmation'],
  );
  assert.equal((await stripe.paymentIntents.confirm(open.id)).amount_received, 2000);
  await assert.rejects(stripe.paymentIntents.update(open.id, { amount: 1 }), /status of succeeded/);
  assert.equal((await stripe.paymentIntents.update(open.id, { description: 'paid' })).description, 'paid');
  const refund = await stripe.refunds.create({ payment_intent: open.id, amount: 100 });
  assert.deepEqual((await stripe.refunds.update(refund.id, { metadata: { why: 'x' } })).metadata, {
    why: 'x',
  });
  const session = await stripe.checkout.sessions.create({
    mode: 'payment',
    success_url: 'https://example.com/',
    metadata: { a: '1' },
    line_items: [{ price_data: { currency: 'usd', unit_amount: 700, product_data: { name: 'Seven' } } }],
  });
  const described = await stripe.checkout.sessions.update(session.id, { metadata: { b: '2' } });
  assert.deepEqual(described.metadata, { a: '1', b: '2' });
  const [charge] = (await stripe.charges.list()).data;
  assert.equal((await stripe.charges.update(charge?.id ?? '', { description: 'd' })).description, 'd');
});

test('further endpoints get the events that they asked for, signed with their own secret', async (t) => {
  const { stripe } = await startProvider(t);
  const [wanting, everything] = [await startEndpoint(t), await startEndpoint(t)];
  const first = await stripe.webhookEndpoints.create({
    url: wanting.url,
    enabled_events: ['payment_intent.succeeded'],
  });
  const second = await stripe.webhookEndpoints.create({ url: everything.url, enabled_events: ['*'] });
  assert.match(first.secret ?? '', /^whsec_/);
  assert.equal((await stripe.webhookEndpoints.retrieve(first.id)).secret, undefined);
  await pay(stripe);
  await Promise.all([wanting.until(1), everything.until(3)]);
  assert.deepEqual(
    wanting.received.map(({ event }) => event.type),
    ['payment_intent.succeeded'],
  );
  const [got] = wanting.received;
  stripe.webhooks.constructEvent(got?.body ?? '', got?.signature ?? '', first.secret ?? '');
  assert.throws(() =>
    stripe.webhooks.constructEvent(got?.body ?? '', got?.signature ?? '', second.secret ?? ''),
  );

  await stripe.webhookEndpoints.update(second.id, { disabled: true });
  assert.equal((await stripe.webhookEndpoints.del(first.id)).deleted, true);
  assert.equal((await stripe.webhookEndpoints.list()).data.length, 1);
  await pay(stripe);
  await stripe.webhookEndpoints.update(second.id, { disabled: false });
  await stripe.customers.create({});
  await everything.until(4);
  assert.equal(everything.received.at(-1)?.event.type, 'customer.created');
  assert.equal(wanting.received.length, 1);
});

test('addresses that do not exist say so, after the key', async (t) => {
  const { provider, stripe } = await startProvider(t);
  const { hostname, port } = new URL(provider.url);
  const stranger = new Stripe('sk_test_wrong', {
    host: hostname,
    port,
    protocol: 'http',
    maxNetworkRetries: 0,
  });
  await assert.rejects(stranger.rawRequest('GET', '/v1/subscriptions'), { statusCode: 401 });
  await assert.rejects(stripe.rawRequest('GET', '/v1/subscriptions'), /Unrecognized request URL/);
  await assert.rejects(stripe.paymentIntents.list({ colour: 'red' } as object), {
    code: 'parameter_unknown',
  });
});
