import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openCardBench, wallet } from '../../../test/support/card-bench.ts';

type Bench = Awaited<ReturnType<typeof openCardBench>>;

const card = { number: '4242 4242 4242 4242', expiry: '12 / 40', cvc: '123', name: 'Ada' };

/** Pays on the hosted page, as a browser does, and answers where that leads. */
async function pay(bench: Bench, path: string): Promise<{ quoteId: string; next: string }> {
  const { body } = await bench.topUp(path);
  const paid = await fetch(body.paymentSession.url ?? '', {
    method: 'POST',
    body: new URLSearchParams(card),
    redirect: 'manual',
  });
  assert.equal(paid.status, 303);
  return { quoteId: String(body.topUpQuote.topUpQuoteId), next: paid.headers.get('location') ?? '' };
}

async function state(url: string): Promise<unknown> {
  return (await fetch(url, { headers: { accept: 'application/json' } })).json();
}

async function read(url: string): Promise<{ status: number; text: string; headers: Headers }> {
  const answer = await fetch(url);
  return { status: answer.status, text: await answer.text(), headers: answer.headers };
}

test('after paying, a person lands on a page with the balance', async (t) => {
  const bench = await openCardBench(t, { appUrl: null });
  const { quoteId, next } = await pay(bench, `checkout-session/${wallet}/usd/1000`);
  assert.equal(next, `${bench.url}/v1/thank-you?quote=${quoteId}`);
  await bench.until(async () => (await bench.balance()) > 0n);
  assert.deepEqual(await state(next), { state: 'paid', winc: String(await bench.balance()) });
  const { status, text, headers } = await read(next);
  assert.equal(status, 200);
  for (const part of ['Thank you', '1.2256', wallet]) assert.ok(text.includes(part), part);
  assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'/);
  assert.equal(headers.get('cache-control'), 'no-store');
  assert.equal(headers.get('refresh'), null);
});

test('before the provider has told of the payment the page waits, and looks again', async (t) => {
  const bench = await openCardBench(t, { appUrl: null });
  const { body } = await bench.topUp(`checkout-session/${wallet}/usd/1000`);
  const { status, text, headers } = await read(
    `${bench.url}/v1/thank-you?quote=${body.topUpQuote.topUpQuoteId}`,
  );
  assert.equal(status, 200);
  assert.ok(text.includes('Waiting'));
  const told = await state(`${bench.url}/v1/thank-you?quote=${body.topUpQuote.topUpQuoteId}`);
  assert.deepEqual(told, { state: 'waiting', winc: body.topUpQuote.winstonCreditAmount });
  assert.equal(headers.get('refresh'), '2');
});

test('a gift says how it is redeemed, and nothing of whom it is for', async (t) => {
  const bench = await openCardBench(t, { appUrl: null });
  const path = 'checkout-session/ada@example.com/usd/1000?destinationAddressType=email';
  const { quoteId, next } = await pay(bench, path);
  await bench.until(async () => (await read(next)).text.includes('gift'));
  const { text } = await read(next);
  assert.ok(text.includes(quoteId));
  assert.ok(!text.includes('ada@'));
});

test('a payment that went back is no purchase', async (t) => {
  const bench = await openCardBench(t, { appUrl: null });
  const { quoteId, next } = await pay(bench, `checkout-session/${wallet}/usd/1000`);
  await bench.until(async () => (await bench.balance()) > 0n);
  const [charge] = (await bench.stripe.charges.list()).data;
  await bench.stripe.refunds.create({ charge: charge?.id ?? '' });
  await bench.until(async () => (await bench.cards.quote(quoteId))?.state === 'refunded');
  assert.ok((await read(next)).text.includes('gone back'));
  assert.equal(((await state(next)) as { state: string }).state, 'refunded');
});

test('an unknown payment is a page that says so; APP_URL and the order come first', async (t) => {
  const bench = await openCardBench(t);
  for (const query of ['', '?quote=nobody', `?quote=${'x'.repeat(64)}`]) {
    const { status, text } = await read(`${bench.url}/v1/thank-you${query}`);
    assert.equal(status, 404);
    assert.ok(text.includes('No such payment'));
  }
  assert.equal((await read(`${bench.url}/v1/thank-you?quote=${'x'.repeat(65)}`)).status, 400);
  assert.equal((await pay(bench, `checkout-session/${wallet}/usd/1000`)).next, 'https://app.example/done');
});
