/** What the provider's answers mean: how a payment stands, what a webhook speaks of, and which refusals are for good. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { winc } from '../../credits/credits.ts';
import { collected } from '../../kernel/collected.ts';
import { signatureHeader } from '../../localnet/card/deliveries.ts';
import { CardAmountRefused, CardProviderUnavailable, WebhookRefused } from './errors.ts';
import { CardProvider, isOfLedger } from './provider.ts';
import { aQuote } from './testing.ts';

type Said = { readonly status?: number; readonly body: unknown };
const secret = 'whsec_test';

/** A provider that answers what the test says, by method and path; `asked` is each request with its body and key. */
async function startScripted(t: TestContext) {
  const says = new Map<string, unknown>();
  const asked: string[] = [];
  const server = createServer(async (request, response) => {
    let sent = '';
    for await (const chunk of request) sent += chunk;
    const [path, query = ''] = (request.url ?? '').split('?');
    const key = request.headers['idempotency-key'];
    asked.push([request.method, path, sent || query, key].filter(Boolean).join(' '));
    const answer = says.get(`${request.method} ${path}`) ?? says.get(`${request.method} ${path}?${query}`);
    const { status, body } = (answer ?? { status: 404, body: failing('resource_missing') }) as Said;
    // The package would ask again after a pause.
    response.writeHead(status ?? 200, { 'content-type': 'application/json', 'stripe-should-retry': 'false' });
    response.end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const provider = new CardProvider({
    STRIPE_API_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    STRIPE_SECRET_KEY: 'sk_test',
    STRIPE_WEBHOOK_SECRET: secret,
    ENABLE_AUTO_STRIPE_TAX: false,
    CHECKOUT_PRODUCT_NAME: 'credits',
  });
  return {
    provider,
    says: (where: string, body: unknown, status = 200) => says.set(where, { status, body }),
    asked,
  };
}

const failing = (code: string, type = 'invalid_request_error') => ({ error: { type, code, message: code } });

const intent = (more: object) => ({
  ...{ id: 'pi_1', object: 'payment_intent', status: 'succeeded', amount_received: 1000, currency: 'usd' },
  ...{ created: 7, metadata: { quoteId: 'quote' }, ...more },
});
const charge = (more: object = {}) => ({
  latest_charge: { id: 'ch_1', object: 'charge', created: 9, amount_refunded: 0, disputed: false, ...more },
});
const listOf = (data: readonly object[], more = false) => ({ object: 'list', data, has_more: more });
const refund = (id: string, status: string, returnId?: string) => ({
  ...{ id, object: 'refund', amount: 5, status },
  metadata: returnId === undefined ? {} : { returnId },
});

test('a payment is open until it is paid or cancelled, and paid with what came in and when', async (t) => {
  const { provider, says, asked } = await startScripted(t);
  const quote = { intentId: 'pi_1', sessionId: 'cs_1', returned: winc(0n) };
  const nothing = { received: undefined, refunded: 0, returns: [], disputed: false };
  for (const [status, means] of [
    ['requires_payment_method', 'open'],
    ['processing', 'open'],
    ['canceled', 'closed'],
  ]) {
    says('GET /v1/payment_intents/pi_1', intent({ status, latest_charge: null }));
    assert.deepEqual(await provider.factsOf(quote), {
      ...{ status: means, intentId: 'pi_1', sessionId: 'cs_1', ...nothing },
    });
  }
  says('GET /v1/payment_intents/pi_1', intent({ latest_charge: null }));
  assert.equal((await provider.factsOf(quote)).status, 'open', 'no charge, no payment');
  says('GET /v1/payment_intents/pi_1', intent(charge()));
  assert.deepEqual(await provider.factsOf(quote), {
    ...{ status: 'paid', intentId: 'pi_1', sessionId: 'cs_1', ...nothing },
    received: { amount: 1000, currency: 'usd', at: 9_000 },
  });
  assert.ok(asked.every((request) => request.startsWith('GET /v1/payment_intents/pi_1')));
  await assert.rejects(provider.factsOf({ ...quote, intentId: undefined, sessionId: undefined }), /no facts/);
});

test('a session tells of its payment, and of itself where there is none that counts', async (t) => {
  const { provider, says } = await startScripted(t);
  const quote = { intentId: undefined, sessionId: 'cs_1', returned: winc(0n) };
  const session = (more: object) =>
    says('GET /v1/checkout/sessions/cs_1', { id: 'cs_1', object: 'checkout.session', ...more });
  const found = async () => {
    const { status, intentId, sessionId } = await provider.factsOf(quote);
    return [status, intentId, sessionId];
  };
  session({ status: 'open', payment_intent: null });
  assert.deepEqual(await found(), ['open', undefined, 'cs_1']);
  session({ status: 'expired', payment_intent: null });
  assert.deepEqual(await found(), ['closed', undefined, 'cs_1']);
  says('GET /v1/payment_intents/pi_1', intent(charge()));
  session({ status: 'complete', payment_intent: 'pi_1' });
  assert.deepEqual(await found(), ['paid', 'pi_1', 'cs_1']);
  session({ status: 'complete', payment_intent: { id: 'pi_1', object: 'payment_intent' } });
  assert.deepEqual(await found(), ['paid', 'pi_1', 'cs_1']);
  session({ status: 'expired', payment_intent: 'pi_1' });
  assert.deepEqual(await found(), ['closed', 'pi_1', 'cs_1'], 'what has expired takes no payment');
  // A payment that was given up is followed by another of the same session.
  says('GET /v1/payment_intents/pi_1', intent({ status: 'canceled', latest_charge: null }));
  session({ status: 'open', payment_intent: 'pi_1' });
  assert.deepEqual(await found(), ['open', 'pi_1', 'cs_1']);
});

test('refunds are listed where something went back or was returned, and disputes where one was ever opened', async (t) => {
  const { provider, says, asked } = await startScripted(t);
  const quote = { intentId: 'pi_1', sessionId: undefined, returned: winc(0n) };
  const isListed = (what: string) => asked.splice(0).some((request) => request.includes(what));
  says(
    'GET /v1/refunds',
    listOf([
      refund('re_1', 'succeeded', 'a'),
      refund('re_2', 'pending', 'b'),
      refund('re_3', 'requires_action', 'c'),
      refund('re_4', 'failed', 'd'),
      refund('re_5', 'canceled', 'e'),
      refund('re_6', 'succeeded'),
    ]),
  );
  says('GET /v1/payment_intents/pi_1', intent(charge()));
  assert.deepEqual((await provider.factsOf(quote)).returns, []);
  assert.equal(isListed('/v1/refunds'), false);
  const { returns } = await provider.factsOf({ ...quote, returned: winc(1n) });
  assert.deepEqual(
    returns.map(({ returnId, state }) => `${returnId} ${state}`),
    ['a made', 'b pending', 'c pending', 'd failed', 'e failed'],
  );
  says('GET /v1/payment_intents/pi_1', intent(charge({ amount_refunded: 1 })));
  const facts = await provider.factsOf(quote);
  assert.deepEqual([facts.refunded, facts.returns.length, facts.disputed], [1, 5, false]);
  assert.equal(isListed('/v1/disputes'), false);
  says('GET /v1/payment_intents/pi_1', intent(charge({ disputed: true })));
  for (const [statuses, disputed] of [
    [['won', 'prevented'], false],
    [['warning_needs_response', 'warning_under_review', 'warning_closed'], false],
    [['won', 'needs_response'], true],
    [['lost'], true],
  ] as const) {
    says('GET /v1/disputes', listOf(statuses.map((status, index) => ({ id: `dp_${index}`, status }))));
    assert.equal((await provider.factsOf(quote)).disputed, disputed, statuses.join());
  }
});

test('a refund is refused for good where the provider would say so again, and unanswered where it may not', async (t) => {
  const { provider, says, asked } = await startScripted(t);
  const ask = () => provider.refund({ id: 'quote', refundTries: 2 }, 'pi_1');
  says('POST /v1/refunds', refund('re_1', 'succeeded'));
  assert.equal(await ask(), undefined);
  assert.deepEqual(asked, ['POST /v1/refunds payment_intent=pi_1 quote-refund-3']);
  for (const [status, error, answer] of [
    [400, failing('charge_already_refunded'), 'charge_already_refunded'],
    [402, failing('card_declined', 'card_error'), 'card_declined'],
    [500, { error: { type: 'api_error', message: 'oh' } }, 'StripeAPIError'],
    [409, failing('idempotency_key_in_use', 'idempotency_error'), undefined],
    [409, failing('lock_timeout'), undefined],
    [429, failing('rate_limit'), undefined],
    [401, { error: { type: 'authentication_error', message: 'who' } }, undefined],
    [403, { error: { type: 'permission_error', message: 'no' } }, undefined],
  ] as const) {
    says('POST /v1/refunds', error, status);
    if (answer === undefined) await assert.rejects(ask(), CardProviderUnavailable, `${status}`);
    else assert.equal(await ask(), answer);
  }
});

test('a part goes back once per return, however often it is asked for', async (t) => {
  const { provider, says, asked } = await startScripted(t);
  const ask = () => provider.refundReturn('pi_1', 'b', 5);
  const made = { id: 're_2', returnId: 'b', amount: 5, state: 'made' };
  says('GET /v1/refunds', listOf([refund('re_1', 'succeeded', 'a'), refund('re_0', 'succeeded')]));
  says('POST /v1/refunds', refund('re_2', 'succeeded', 'b'));
  assert.deepEqual(await ask(), made);
  assert.match(asked.at(-1) ?? '', /amount=5&metadata\[returnId\]=b b-return$/);
  says('GET /v1/refunds', listOf([refund('re_1', 'succeeded', 'a'), refund('re_2', 'succeeded', 'b')]));
  asked.length = 0;
  assert.deepEqual(await ask(), made);
  assert.ok(
    asked.every((request) => request.startsWith('GET')),
    'found, not asked for again',
  );
  says('GET /v1/refunds', listOf([]));
  says('POST /v1/refunds', refund('re_3', 'succeeded'));
  assert.equal(await ask(), 'unmarked');
  says('POST /v1/refunds', failing('charge_disputed'), 400);
  assert.equal(await ask(), 'charge_disputed');
  for (const [status, error] of [
    [500, { error: { type: 'api_error', message: 'oh' } }],
    [429, failing('rate_limit')],
    [409, failing('lock_timeout')],
  ] as const) {
    says('POST /v1/refunds', error, status);
    await assert.rejects(ask(), CardProviderUnavailable);
  }
});

test('what may still be paid is ended by its own kind, and what has ended already is no fault', async (t) => {
  const { provider, says, asked } = await startScripted(t);
  const session = { method: 'checkout-session', sessionId: 'cs_1', intentId: 'pi_1' } as const;
  says('POST /v1/checkout/sessions/cs_1/expire', { id: 'cs_1' });
  says('POST /v1/payment_intents/pi_1/cancel', { id: 'pi_1' });
  await provider.close(session);
  await provider.close({ ...session, method: 'payment-intent' });
  await provider.close({ ...session, sessionId: undefined });
  await provider.close({ ...session, method: 'payment-intent', intentId: undefined });
  assert.deepEqual(
    asked.map((request) => request.split(' ')[1]),
    ['/v1/checkout/sessions/cs_1/expire', '/v1/payment_intents/pi_1/cancel'],
  );
  says('POST /v1/checkout/sessions/cs_1/expire', failing('resource_missing'), 400);
  await provider.close(session);
  says('POST /v1/checkout/sessions/cs_1/expire', failing('oh', 'api_error'), 500);
  await assert.rejects(provider.close(session), CardProviderUnavailable);
});

test('payments and events are listed page by page', async (t) => {
  const { provider, says, asked } = await startScripted(t);
  says('GET /v1/payment_intents', listOf([intent({}), intent({ id: 'pi_2', status: 'processing' })], true));
  const pages = provider.paymentsSince(5);
  const first = await pages.next();
  assert.deepEqual(first.value?.[0], {
    ...{ intentId: 'pi_1', createdAt: 7_000, isPaid: true, received: 1000, currency: 'usd' },
    metadata: { quoteId: 'quote' },
  });
  assert.equal(first.value?.[1]?.isPaid, false);
  says('GET /v1/payment_intents', listOf([intent({ id: 'pi_3' })]));
  assert.equal((await pages.next()).value?.length, 1);
  assert.equal((await pages.next()).done, true);
  assert.match(asked[0] ?? '', /created\[gte\]=5&limit=100$/);
  assert.match(asked[1] ?? '', /starting_after=pi_2$/);
  says('GET /v1/payment_intents', listOf([], true));
  assert.equal((await collected(provider.paymentsSince(5))).length, 1, 'nothing follows nothing');

  const event = (id: string, object: object) => ({
    id,
    object: 'event',
    type: 'x',
    created: 3,
    data: { object },
  });
  says('GET /v1/events', listOf([event('evt_1', intent({}))], true));
  const events = provider.eventsSince(6);
  assert.equal((await events.next()).value?.[0]?.id, 'evt_1');
  says('GET /v1/events', listOf([event('evt_2', intent({}))]));
  assert.equal((await events.next()).value?.[0]?.id, 'evt_2');
  assert.equal((await events.next()).done, true);
  assert.match(asked.at(-1) ?? '', /starting_after=evt_1$/);
});

test('a webhook is believed as to which payment it speaks of, where the provider signed it lately', async (t) => {
  const { provider } = await startScripted(t);
  const seconds = Math.floor(Date.now() / 1000);
  const read = (object: object, { by = secret, at = seconds } = {}) => {
    const body = JSON.stringify({ id: 'evt', object: 'event', type: 'x', created: 3, data: { object } });
    const { quoteId, intentId, sessionId } = provider.readWebhook(
      Buffer.from(body),
      signatureHeader(body, by, at),
    );
    return [quoteId, intentId, sessionId];
  };
  const metadata = { quoteId: 'quote' };
  assert.deepEqual(read({ object: 'payment_intent', id: 'pi_1', metadata }), ['quote', 'pi_1', undefined]);
  assert.deepEqual(read({ object: 'checkout.session', id: 'cs_1', payment_intent: 'pi_1', metadata }), [
    ...['quote', 'pi_1', 'cs_1'],
  ]);
  assert.deepEqual(read({ object: 'charge', id: 'ch_1', payment_intent: 'pi_1' }), [
    undefined,
    'pi_1',
    undefined,
  ]);
  assert.equal(read({ object: 'payment_intent', id: 'x'.repeat(300) })[1], 'x'.repeat(255));
  assert.throws(() => read({ object: 'charge' }, { by: 'whsec_other' }), WebhookRefused);
  assert.throws(() => read({ object: 'charge' }, { at: seconds - 400 }), WebhookRefused);
  assert.throws(() => provider.readWebhook(Buffer.from('{}'), undefined), WebhookRefused);
});

test('a payment that the provider does not have is none, and one that it cannot show is not known', async (t) => {
  const { provider, says } = await startScripted(t);
  assert.equal(await provider.paymentOf('pi_1'), undefined);
  says('GET /v1/payment_intents/pi_1', failing('resource_missing', 'api_error'), 500);
  await assert.rejects(provider.paymentOf('pi_1'), CardProviderUnavailable);
  says('GET /v1/payment_intents/pi_1', failing('parameter_invalid'), 400);
  await assert.rejects(provider.paymentOf('pi_1'), CardProviderUnavailable);
  says('GET /v1/payment_intents/pi_1', intent({}));
  assert.equal((await provider.paymentOf('pi_1'))?.intentId, 'pi_1');
  assert.equal(await provider.quoteIdOf('pi_1'), 'quote');
  const payment = (metadata: Record<string, string>) => ({
    ...{ intentId: 'pi_1', createdAt: 0, isPaid: true, received: 1, currency: 'usd', metadata },
  });
  assert.equal(isOfLedger(payment({}), 'ours'), false);
  assert.equal(isOfLedger(payment({ quoteId: 'q' }), 'ours'), true, 'from before payments were marked');
  assert.equal(isOfLedger(payment({ quoteId: 'q', ledgerId: 'ours' }), 'ours'), true);
  assert.equal(isOfLedger(payment({ quoteId: 'q', ledgerId: 'theirs' }), 'ours'), false);
});

test('a session is asked for as its page wants it, and an amount that the provider does not take is told', async (t) => {
  const { provider, says, asked } = await startScripted(t);
  says('POST /v1/checkout/sessions', { id: 'cs_1', client_secret: 's', url: 'u' });
  const make = async (page: Parameters<CardProvider['createSession']>[1]) => {
    assert.deepEqual(await provider.createSession(aQuote, page, 'credits', {}), {
      ...{ id: 'cs_1', client_secret: 's', url: 'u' },
    });
    return decodeURIComponent(asked.at(-1) ?? '');
  };
  const hosted = await make({ uiMode: 'hosted', successUrl: 'https://yes', cancelUrl: 'https://no' });
  assert.match(
    hosted,
    /ui_mode=hosted_page&success_url=https:\/\/yes&cancel_url=https:\/\/no quote-session$/,
  );
  // A minute more than the quote lasts, in whole seconds.
  assert.match(hosted, new RegExp(`expires_at=${Math.ceil((aQuote.expiresAt + 60_000) / 1000)}&`));
  assert.match(
    await make({ uiMode: 'embedded', returnUrl: undefined }),
    /redirect_on_completion=never quote-session$/,
  );
  assert.match(
    await make({ uiMode: 'embedded', returnUrl: 'https://back' }),
    /return_url=https:\/\/back quote-session$/,
  );
  says('POST /v1/payment_intents', { id: 'pi_1', client_secret: 's' });
  assert.deepEqual(await provider.createIntent(aQuote, {}), { id: 'pi_1', client_secret: 's', url: null });
  for (const code of ['amount_too_small', 'amount_too_large']) {
    says('POST /v1/payment_intents', failing(code), 400);
    await assert.rejects(provider.createIntent(aQuote, {}), CardAmountRefused);
  }
  says('POST /v1/payment_intents', failing('currency_unknown'), 400);
  await assert.rejects(provider.createIntent(aQuote, {}), CardProviderUnavailable);
});
