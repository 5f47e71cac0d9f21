import assert from 'node:assert/strict';
import { test } from 'node:test';
import type Stripe from 'stripe';
import { startProvider } from '../testing.ts';
import { money } from './checkout-page.ts';

const good = { number: '4242 4242 4242 4242', expiry: '12 / 40', cvc: '123', name: 'Ada' };

const sessionOf = (stripe: Stripe, extra: Partial<Stripe.Checkout.SessionCreateParams> = {}) =>
  stripe.checkout.sessions.create({
    mode: 'payment',
    line_items: [
      {
        quantity: 1,
        price_data: {
          currency: 'usd',
          unit_amount: 1000,
          product_data: { name: 'Credits <b>', description: 'to "0xabc" & co' },
        },
      },
    ],
    payment_intent_data: { metadata: { quote: '7' } },
    success_url: 'https://shop.example/ok?session={CHECKOUT_SESSION_ID}',
    cancel_url: 'https://shop.example/no',
    ...extra,
  });

const send = (url: string, fields: Record<string, string>) =>
  fetch(url, { method: 'POST', body: new URLSearchParams(fields), redirect: 'manual' });

test('amounts are written as people of the currency write them', () => {
  assert.equal(money(1000, 'usd'), '$10.00');
  assert.equal(money(1500, 'jpy'), '¥1,500');
  assert.equal(money(123456, 'eur'), '€1,234.56');
});

test('a good card pays the session and leads to the success address', async (t) => {
  const { stripe } = await startProvider(t);
  const session = await sessionOf(stripe);
  const page = await fetch(session.url ?? '');
  const text = await page.text();
  assert.equal(page.status, 200);
  assert.match(text, /Pay \$10\.00/);
  assert.match(text, /Credits &lt;b&gt;/);
  assert.match(
    page.headers.get('content-security-policy') ?? '',
    /form-action 'self' https:\/\/shop\.example;/,
  );
  const answer = await send(session.url ?? '', good);
  assert.equal(answer.status, 303);
  assert.equal(answer.headers.get('location'), `https://shop.example/ok?session=${session.id}`);
  const paid = await stripe.checkout.sessions.retrieve(session.id, { expand: ['payment_intent'] });
  assert.equal(paid.status, 'complete');
  assert.equal(paid.payment_status, 'paid');
  assert.ok(typeof paid.payment_intent === 'object' && paid.payment_intent?.metadata.quote === '7');
  assert.equal(paid.payment_intent.status, 'succeeded');
});

test('a session is paid once however often the form is sent', async (t) => {
  const { stripe } = await startProvider(t);
  const session = await sessionOf(stripe);
  const answers = await Promise.all([1, 2, 3].map(() => send(session.url ?? '', good)));
  assert.equal(answers.filter((answer) => answer.status === 303).length, 1);
  assert.equal((await stripe.charges.list()).data.length, 1);
});

test('a refusing card says why, charges nothing and may be replaced', async (t) => {
  const { stripe } = await startProvider(t);
  const session = await sessionOf(stripe);
  const answer = await send(session.url ?? '', { ...good, number: '4000000000009995' });
  assert.equal(answer.status, 402);
  assert.match(await answer.text(), /role="alert"[^>]*>Your card has insufficient funds\./);
  assert.equal((await stripe.checkout.sessions.retrieve(session.id)).status, 'open');
  assert.equal((await send(session.url ?? '', good)).status, 303);
  assert.equal((await stripe.charges.list()).data.filter((charge) => charge.paid).length, 1);
});

test('what is typed wrongly is said at its field, typed text is kept, and nothing is charged', async (t) => {
  const { stripe } = await startProvider(t);
  const session = await sessionOf(stripe);
  const cases: [Record<string, string>, RegExp][] = [
    [{ ...good, number: '4242424242424241' }, /id="number-wrong">Your card number is invalid/],
    [{ ...good, number: '4111111111111111' }, /id="number-wrong">No real card is charged here/],
    [{ ...good, number: 'abc' }, /id="number-wrong">Enter the number/],
    [{ ...good, expiry: '13 / 40' }, /id="expiry-wrong">Enter the date/],
    [{ ...good, expiry: '01 / 20' }, /id="expiry-wrong">Your card has expired/],
    [{ ...good, cvc: '12' }, /id="cvc-wrong"/],
    [{ ...good, name: '' }, /id="name-wrong"/],
    [{ ...good, email: 'nobody' }, /id="email-wrong"/],
    [{}, /id="number-wrong"/],
  ];
  for (const [fields, expected] of cases) {
    const answer = await send(session.url ?? '', fields);
    const text = await answer.text();
    assert.equal(answer.status, 422);
    assert.match(text, expected);
    assert.doesNotMatch(text, /value="123"/);
  }
  assert.equal((await stripe.charges.list()).data.length, 0);
});

test('paid, expired and unknown sessions have a page that says so', async (t) => {
  const { provider, stripe } = await startProvider(t);
  const expired = await sessionOf(stripe);
  await stripe.checkout.sessions.expire(expired.id);
  assert.equal((await fetch(expired.url ?? '')).status, 410);
  assert.equal((await send(expired.url ?? '', good)).status, 410);
  assert.equal((await stripe.charges.list()).data.length, 0);
  const paid = await sessionOf(stripe);
  await send(paid.url ?? '', good);
  assert.match(await (await fetch(paid.url ?? '')).text(), /Payment received/);
  assert.equal((await fetch(`${provider.url}/c/pay/cs_test_none`)).status, 404);
});

test('an embedded session is paid with its client secret only', async (t) => {
  const { provider, stripe } = await startProvider(t);
  const session = await stripe.checkout.sessions.create({
    mode: 'payment',
    ui_mode: 'embedded_page',
    redirect_on_completion: 'never',
    line_items: [{ price_data: { currency: 'usd', unit_amount: 500, product_data: { name: 'Credits' } } }],
  });
  assert.equal((await fetch(`${provider.url}/c/pay/${session.id}`)).status, 404);
  assert.equal((await fetch(`${provider.url}/c/embedded/${session.id}_secret_x`)).status, 404);
  const answer = await send(`${provider.url}/c/embedded/${session.client_secret}`, good);
  assert.equal(answer.status, 200);
  assert.match(await answer.text(), /Payment received/);
});
