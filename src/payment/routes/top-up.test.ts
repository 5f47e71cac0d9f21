import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openCardBench, wallet } from '../../../test/support/card-bench.ts';
import { addRow } from '../../pricing/catalogue/rows.ts';
import { localWallets } from '../../wallets/local-wallets.ts';

const quotes = async (bench: Awaited<ReturnType<typeof openCardBench>>) =>
  bench.sql.all<{ id: string; state: string; failure: string | null }>(
    'SELECT id, state, failure FROM card_quotes ORDER BY created_at',
  );

test('a payment intent is quoted with what is charged, credited and taken as a fee', async (t) => {
  const bench = await openCardBench(t);
  const before = Date.now();
  const { status, headers, body } = await bench.topUp(`payment-intent/${wallet}/USD/1000`, {
    referer: 'https://app.example/buy?secret=1',
  });
  const after = Date.now();
  assert.equal(status, 200);
  assert.equal(headers.get('cache-control'), 'no-store');
  const { topUpQuoteId, quoteExpirationDate, ...quote } = body.topUpQuote;
  assert.deepEqual(quote, {
    destinationAddress: wallet,
    destinationAddressType: 'arweave',
    paymentAmount: 1000,
    quotedPaymentAmount: 1000,
    currencyType: 'usd',
    winstonCreditAmount: '1225600000000',
    paymentProvider: 'stripe',
  });
  const quotedAt = Date.parse(String(quoteExpirationDate)) - 1_800_000;
  assert.ok(quotedAt >= before && quotedAt <= after);
  assert.deepEqual(Object.keys(body.paymentSession), ['id', 'client_secret', 'url']);
  assert.equal(body.paymentSession.url, null);
  assert.deepEqual(body.adjustments, []);
  assert.equal(body.fees[0]?.operatorMagnitude, '0.766');
  assert.equal(body.fees[0]?.adjustmentAmount, '-234');
  const intent = await bench.stripe.paymentIntents.retrieve(body.paymentSession.id);
  assert.equal(intent.amount, 1000);
  assert.equal(intent.metadata.topUpQuoteId, topUpQuoteId);
  assert.equal(intent.metadata.winstonCreditAmount, '1225600000000');
  assert.equal(intent.metadata.referer, 'https://app.example/buy');
  assert.equal(intent.metadata['adj0_Infrastructure Fee'], '-234');
});

test('a hosted checkout leads back to where the request or the configuration says', async (t) => {
  const bench = await openCardBench(t);
  const { body } = await bench.topUp(
    `checkout-session/${wallet}/eur/2500?successUrl=${encodeURIComponent('https://shop.example/ok')}`,
  );
  assert.match(body.paymentSession.url ?? '', new RegExp(`^${bench.provider.url}/c/pay/cs_test_`));
  assert.equal(body.paymentSession.client_secret, null);
  const session = await bench.stripe.checkout.sessions.retrieve(body.paymentSession.id);
  assert.equal(session.success_url, 'https://shop.example/ok');
  assert.equal(session.cancel_url, 'https://app.example/done');
  assert.equal(session.amount_total, 2500);
  assert.equal(session.currency, 'eur');
  const expires = Date.parse(String(body.topUpQuote.quoteExpirationDate)) / 1000;
  assert.ok(session.expires_at - expires >= 60 && session.expires_at - expires < 62);
});

test('an embedded checkout has a client secret and no address', async (t) => {
  const bench = await openCardBench(t);
  const plain = await bench.topUp(`checkout-session/${wallet}/jpy/1500?uiMode=embedded`);
  assert.match(plain.body.paymentSession.client_secret ?? '', /^cs_test_.*_secret_/);
  assert.equal(plain.body.paymentSession.url, null);
  assert.equal(plain.body.topUpQuote.winstonCreditAmount, '1222340425532');
  const returning = await bench.topUp(
    `checkout-session/${wallet}/usd/1500?uiMode=embedded&returnUrl=https%3A%2F%2Fshop.example%2Fback`,
  );
  const session = await bench.stripe.checkout.sessions.retrieve(returning.body.paymentSession.id);
  assert.equal(session.return_url, 'https://shop.example/back');
  const unsaid = await bench.stripe.checkout.sessions.retrieve(plain.body.paymentSession.id);
  assert.equal(unsaid.return_url, 'https://app.example/done', 'the configured application');
});

test('wallets of every chain are topped up in their normal form', async (t) => {
  const bench = await openCardBench(t);
  const ethereum = '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A';
  const cases: [string, string, string][] = [
    [ethereum.toLowerCase(), 'ethereum', ethereum],
    [ethereum, 'matic', ethereum],
    [
      'GmaDrppBC7P5ARKV8g3djiwP89vz1jLK23V2GBjuAEGB',
      'solana',
      'GmaDrppBC7P5ARKV8g3djiwP89vz1jLK23V2GBjuAEGB',
    ],
    ['GmaDrppBC7P5ARKV8g3djiwP89vz1jLK23V2GBjuAEGB', 'ario', 'GmaDrppBC7P5ARKV8g3djiwP89vz1jLK23V2GBjuAEGB'],
  ];
  for (const [address, token, normal] of cases) {
    const { body, status } = await bench.topUp(`payment-intent/${address}/usd/1000?token=${token}`);
    assert.equal(status, 200, token);
    assert.equal(body.topUpQuote.destinationAddress, normal);
    assert.equal(body.topUpQuote.destinationAddressType, token);
  }
});

test('nothing is sold to a wallet whose key everybody has, where that is refused', async (t) => {
  const bench = await openCardBench(t);
  const { ethereum, arweave } = localWallets(1);
  for (const [address, token] of [
    [ethereum[0]!.address.toLowerCase(), 'ethereum'],
    [arweave[0]!.address, 'arweave'],
  ]) {
    const { status, text } = await bench.topUp(`payment-intent/${address}/usd/1000?token=${token}`);
    assert.equal(status, 403);
    assert.match(text, /not a valid/);
  }
  assert.equal(await bench.sql.get('SELECT 1 FROM card_quotes'), undefined);
});

test('a promo code lowers the charge and not the credits, once per wallet', async (t) => {
  const bench = await openCardBench(t);
  await addRow(
    bench.sql,
    {
      kind: 'promo',
      name: 'Welcome',
      operator: 'multiply',
      magnitude: '0.8',
      code: 'HELLO',
      startsAt: 0,
    },
    Date.now(),
  );
  const { body } = await bench.topUp(`payment-intent/${wallet}/usd/1000?promoCode=HELLO`);
  assert.equal(body.topUpQuote.paymentAmount, 800);
  assert.equal(body.topUpQuote.quotedPaymentAmount, 1000);
  assert.equal(body.topUpQuote.winstonCreditAmount, '1225600000000');
  assert.equal(body.adjustments[0]?.promoCode, 'HELLO');
  // Two quotes may be open with the same code; only the first to be paid has it.
  const second = await bench.topUp(`payment-intent/${wallet}/usd/1000?promoCode=HELLO`);
  await bench.confirm(body.paymentSession.id);
  await bench.until(async () => (await bench.balance()) === 1_225_600_000_000n);
  const refused = await bench.topUp(`payment-intent/${wallet}/usd/1000?promoCode=HELLO`);
  assert.equal(refused.status, 400);
  assert.equal(refused.text, JSON.stringify(`The user '${wallet}' is ineligible for the promo code 'HELLO'`));
  await bench.confirm(second.body.paymentSession.id);
  await bench.until(async () => (await bench.stripe.refunds.list()).data.length === 1);
  assert.equal(await bench.balance(), 1_225_600_000_000n);
  const unknown = await bench.topUp(`payment-intent/${wallet}/usd/1000?promoCode=NO,HELLO`);
  assert.equal(unknown.text, '"No promo code found with code \'NO\'"');
});

test('wrong requests are refused with the words of the contract, and nothing is stored', async (t) => {
  const bench = await openCardBench(t);
  const cases: [string, number, string][] = [
    [`bank/${wallet}/usd/1000`, 400, 'Payment method must include one of: payment-intent,checkout-session!'],
    [`payment-intent/${wallet}/usd/499`, 400, 'Payment Amount is Invalid! It must be at least 500 usd'],
    [
      `payment-intent/${wallet}/usd/1000001`,
      400,
      'Payment Amount is Invalid! It must be at most 1000000 usd',
    ],
    [`payment-intent/${wallet}/usd/1e3`, 400, 'Payment Amount is Invalid!'],
    [`payment-intent/${wallet}/usd/-1000`, 400, 'Payment Amount is Invalid!'],
    [`payment-intent/${wallet}/usd/1999.9999999999998`, 400, 'Payment Amount is Invalid!'],
    [`payment-intent/${wallet}/usd/0x10`, 400, 'Payment Amount is Invalid!'],
    [`payment-intent/${wallet}/usd/01000`, 400, 'Payment Amount is Invalid!'],
    [
      `payment-intent/${wallet}/xyz/1000`,
      400,
      "The currency type 'xyz' is currently not supported by this API!",
    ],
    [`payment-intent/nobody/usd/1000`, 403, 'Destination address is not a valid Arweave native address!'],
    [
      `payment-intent/0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2a/usd/1000?token=ethereum`,
      403,
      'Destination address is not a valid Arweave native address!',
    ],
    [`payment-intent/${wallet}/usd/1000?token=doge`, 400, 'Invalid destination address type: doge'],
    [
      `checkout-session/${wallet}/usd/1000?uiMode=pop-up`,
      400,
      'Invalid ui mode! Allowed modes: "hosted,embedded"',
    ],
    [
      `checkout-session/${wallet}/usd/1000?successUrl=javascript%3Aalert(1)`,
      400,
      'Invalid url provided: javascript:alert(1)!',
    ],
    [`payment-intent/${wallet}/usd/1000?giftMessage=${'x'.repeat(251)}`, 400, 'Invalid gift message!'],
    [`payment-intent/${wallet}/usd/1000?token=arweave&token=solana`, 400, 'Invalid query parameter: token'],
  ];
  for (const [path, status, text] of cases) {
    const answer = await bench.topUp(path);
    assert.equal(answer.status, status, path);
    assert.equal(answer.text, JSON.stringify(text), path);
  }
  assert.deepEqual(await quotes(bench), []);
  assert.equal((await bench.stripe.events.list()).data.length, 0);
});

test('without rates there is no quote, and without a provider the quote is given up', async (t) => {
  const bench = await openCardBench(t, { providerUrl: 'http://127.0.0.1:1' });
  const down = await bench.topUp(`payment-intent/${wallet}/usd/1000`);
  assert.equal(down.status, 503);
  assert.equal(down.text, '"Payment provider unavailable"');
  assert.equal(down.headers.get('retry-after'), '10');
  assert.deepEqual(
    (await quotes(bench)).map(({ state, failure }) => [state, failure]),
    [['failed', 'session_error']],
  );
  bench.outside.ratesDown = true;
  const blind = await bench.topUp(`payment-intent/${wallet}/usd/1000`);
  assert.equal(blind.status, 503);
  assert.equal(blind.text, '"Fiat Oracle Unavailable"');
  assert.equal((await quotes(bench)).length, 1);
});

test('a gift waits for its email address and is withdrawn when the payment is', async (t) => {
  const bench = await openCardBench(t);
  const buy = async (method: string) => {
    const path = 'payment-intent/ada%40example.com/usd/1000?destinationAddressType=email&giftMessage=Hi+%3C3';
    const { body, status } = await bench.topUp(path);
    assert.equal(status, 200);
    await bench.confirm(body.paymentSession.id, method);
    const id = String(body.topUpQuote.topUpQuoteId);
    await bench.until(async () => (await bench.cards.quote(id))?.receiptId !== undefined);
    await bench.cards.settled();
    return { id, intentId: body.paymentSession.id };
  };
  const { id, intentId } = await buy('pm_card_visa');
  // What the buyer was told is all that is needed beside the address.
  const redemption = {
    id,
    email: 'ada@example.com',
    wallet: { address: wallet, addressType: 'arweave' },
  };
  await bench.gifts.redeem(redemption);
  assert.equal(await bench.balance(), 1_225_600_000_000n);
  await bench.stripe.refunds.create({ payment_intent: intentId });
  await bench.until(async () => (await bench.balance()) === 0n);
  const withdrawn = await buy('pm_card_createDispute');
  await bench.until(async () => (await bench.sql.all('SELECT * FROM payment_gifts')).length === 1);
  await assert.rejects(bench.gifts.redeem({ ...redemption, id: withdrawn.id }));
  assert.equal(await bench.balance(), 0n);
});
