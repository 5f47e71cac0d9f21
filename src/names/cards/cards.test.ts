import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { at, chainDown, NamesBench, text } from '../../../test/support/names-bench.ts';
import { readConfig } from '../../config/config.ts';
import { readLosses } from '../../credits/ledger/accounts.ts';
import { parseSolanaAddress } from '../../formats/solana/address.ts';
import { silentLog } from '../../kernel/testing.ts';
import { startProvider } from '../../localnet/card/testing.ts';
import { wallet } from '../../localnet/solana/testing.ts';
import { stripeWebhookRoute } from '../../payment/routes/stripe-webhook.ts';
import { createCardPayments } from '../../payments/card/card-payments.ts';

const arweaveBuyer = `${'w'.repeat(42)}A`;
const solanaBuyer = wallet('card buyer');
const payer = wallet('payer');

async function openBench(t: TestContext, environment: Record<string, string> = {}, reconcileMs = 100) {
  let time = () => Date.UTC(2026, 0, 1);
  const { provider, stripe } = await startProvider(t, { now: () => time() });
  const config = readConfig({
    STRIPE_API_URL: provider.url,
    STRIPE_RECONCILE_INTERVAL_MS: String(reconcileMs),
  });
  const bench = await NamesBench.start({
    environment,
    deliveryTimeoutMs: 300,
    cardRoutes: stripeWebhookRoute,
    cards: ({ sql, pricing, now }) =>
      createCardPayments(
        { ...config, STRIPE_SECRET_KEY: provider.secretKey, STRIPE_WEBHOOK_SECRET: provider.webhookSecret },
        { sql, pricing, log: silentLog, now },
      ),
  });
  time = () => bench.ledger.time;
  await bench.server.listen();
  await bench.cards?.start();
  await provider.deliverTo(`${bench.server.url}/v1/stripe-webhook`);
  t.after(async () => {
    await bench.cards?.stop();
    await bench.stop();
  });
  const quote = async (path: string) => {
    const answer = await bench.get(`/arns/quote/payment-intent/${path}`);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body;
  };
  const pay = (quoted: unknown) =>
    stripe.paymentIntents.confirm(text(quoted, 'paymentSession', 'id'), { payment_method: 'pm_card_visa' });
  const status = async (quoted: unknown) =>
    (await bench.get(`/arns/purchase/${text(quoted, 'purchaseQuote', 'nonce')}`)).body;
  const until = (quoted: unknown, expected: string) =>
    eventually(`it is ${expected}`, async () => {
      const now = await status(quoted);
      return text(now, 'status') === expected && now;
    });
  /** Until the card got so many minor units back. */
  const refunded = (quoted: unknown, amount: number) =>
    eventually(`the card has ${amount} back`, async () => {
      const { latest_charge: charge } = await stripe.paymentIntents.retrieve(
        text(quoted, 'paymentSession', 'id'),
        { expand: ['latest_charge'] },
      );
      return typeof charge === 'object' && charge?.amount_refunded === amount;
    });
  return { bench, stripe, quote, pay, status, until, refunded };
}

test('a name bought by card for an Arweave wallet is held for it until it names a wallet of its own', async (t) => {
  const { bench, quote, pay, status, until } = await openBench(t);
  const quoted = await quote(`${arweaveBuyer}/usd/Buy-Name/card-name?type=lease&years=1`);
  const price = await bench.get('/arns/price/buy-name/card-name?type=lease&years=1&currency=usd');
  assert.equal(
    at(quoted, 'purchaseQuote', 'paymentAmount'),
    at(price.body, 'fiatEstimate', 'paymentAmountWithAntSpawn'),
  );
  assert.equal(text(quoted, 'purchaseQuote', 'mTOKENQty'), '480000000');
  assert.equal(text(quoted, 'purchaseQuote', 'wincQty'), text(price.body, 'wincTotalWithAntSpawn'));
  assert.equal(text(quoted, 'purchaseQuote', 'intent'), 'Buy-Name');
  assert.equal(text(quoted, 'purchaseQuote', 'excessWincAmount'), '0');
  assert.equal(at(quoted, 'purchaseQuote', 'usdArRate'), 6.25);
  const pending = await status(quoted);
  assert.equal(text(pending, 'status'), 'PENDING');
  assert.equal(at(pending, 'messageId'), undefined);
  await pay(quoted);
  const confirmed = await until(quoted, 'CONFIRMED');
  assert.match(text(confirmed, 'messageId'), /^[1-9A-HJ-NP-Za-km-z]{80,90}$/);
  const antId = parseSolanaAddress(text(confirmed, 'antId'));
  assert.equal((await bench.registry.name('card-name')).record?.ant, antId);
  assert.equal((await bench.registry.ant(antId))?.owner, bench.service.address);
  const mine = await bench.get(`/arns/my-names/${arweaveBuyer}`);
  assert.equal(at(mine.body, 'names', 0, 'custodial'), true);
  assert.equal(at(mine.body, 'names', 0, 'selfCustody'), false);
  // Nobody but its buyer may ask for it.
  await bench.give(payer, 10n ** 13n);
  const body = { antId, ownerAddress: payer.address, target: wallet('thief').address };
  const theft = await bench.create('transfer', body, payer);
  assert.equal(theft.status, 400);
});

test('a name bought by card for a Solana wallet ends in that wallet', async (t) => {
  const { bench, quote, pay, until } = await openBench(t);
  const quoted = await quote(`${solanaBuyer.address}/eur/buy-record/card-sol?type=permabuy`);
  await pay(quoted);
  const confirmed = await until(quoted, 'CONFIRMED');
  const antId = parseSolanaAddress(text(confirmed, 'antId'));
  assert.equal((await bench.registry.ant(antId))?.owner, solanaBuyer.address);
  assert.equal((await bench.registry.name('card-sol')).record?.type, 'permabuy');
  const mine = await bench.get(`/arns/my-names/${solanaBuyer.address}`);
  assert.deepEqual(
    [at(mine.body, 'names', 0, 'custodial'), at(mine.body, 'names', 0, 'selfCustody')],
    [false, true],
  );
  // With a token of the buyer's own only the name is bought.
  const own = await quote(
    `${solanaBuyer.address}/usd/buy-name/card-own-ant?type=lease&years=1&processId=${antId}`,
  );
  await pay(own);
  await until(own, 'CONFIRMED');
  assert.equal((await bench.registry.name('card-own-ant')).record?.ant, antId);
  // The smallest charge is more than an undername costs: the rest becomes credits.
  const wide = await quote(`${solanaBuyer.address}/usd/increase-undername-limit/card-own-ant?increaseQty=1`);
  const excess = BigInt(text(wide, 'purchaseQuote', 'excessWincAmount'));
  assert.equal(at(wide, 'purchaseQuote', 'paymentAmount'), 50);
  await pay(wide);
  await until(wide, 'CONFIRMED');
  const shared = await bench.sql.all('SELECT slot FROM arns_slots');
  assert.equal(shared.length, 1, 'other processes read what stands since');
  assert.equal(await bench.balance(solanaBuyer), excess);
  assert.equal((await bench.registry.name('card-own-ant')).record?.undernameLimit, 11);
  assert.deepEqual((await bench.credits.selfCheck()).problems, []);
});

test('a custodial token is handed over to its buyer at once', async (t) => {
  const { bench, quote, pay, until } = await openBench(t);
  const buyer = wallet('ambiguous');
  // Bought for a wallet that was taken for another chain's: the service holds it.
  const quoted = await quote(`${buyer.address}/usd/Buy-Name/held-name?type=lease&years=1`);
  await bench.sql.run("UPDATE card_quotes SET address_type = 'arweave'");
  await pay(quoted);
  const antId = parseSolanaAddress(text(await until(quoted, 'CONFIRMED'), 'antId'));
  assert.equal((await bench.registry.ant(antId))?.owner, bench.service.address);
  await bench.give(buyer, 10n ** 13n);
  const body = { antId, ownerAddress: buyer.address, target: wallet('new home').address };
  const exit = await bench.create('transfer', body, buyer);
  assert.equal(text(exit.body, 'status'), 'completed', JSON.stringify(exit.body));
  assert.equal((await bench.registry.ant(antId))?.owner, wallet('new home').address);
  const mine = await bench.get(`/arns/my-names/${buyer.address}`);
  assert.equal(at(mine.body, 'names', 0, 'custodial'), false);
});

test('a name that is gone when the card is charged is refunded to the card', async (t) => {
  const { bench, quote, pay, until, refunded } = await openBench(t);
  await bench.give(payer, 10n ** 14n);
  const quoted = await quote(`${arweaveBuyer}/usd/Buy-Name/too-late?type=lease&years=1`);
  await bench.buy('too-late', wallet('faster'), payer);
  await pay(quoted);
  const failed = await until(quoted, 'FAILED');
  assert.equal(text(failed, 'failedReason'), 'Name too-late already exists');
  assert.match(text(failed, 'failedDate'), /^2026-/);
  await refunded(quoted, Number(at(quoted, 'purchaseQuote', 'paymentAmount')));
  assert.equal(await bench.credits.balance(arweaveBuyer), undefined);
  assert.deepEqual((await bench.credits.selfCheck()).problems, []);
});

test('a buyer who loses the race for a name is told so, and the card has its money back at once', async (t) => {
  const { bench, quote, pay, until, refunded } = await openBench(t, {}, 3_600_000);
  await bench.give(payer, 10n ** 14n);
  const quoted = await quote(`${arweaveBuyer}/usd/Buy-Name/raced?type=lease&years=1`);
  const faster = wallet('faster');
  let blockhashes = 0;
  bench.faults.before = async (method) => {
    if (method !== 'latestBlockhash') return;
    blockhashes += 1;
    // The list and the token were made; the name was free a moment ago.
    if (blockhashes !== 3) return;
    // The payment was seen; the provider is not asked again for an hour.
    await bench.cards?.settled();
    const body = { name: 'raced', ownerAddress: faster.address, type: 'lease', years: 1 };
    const created = await bench.create('buy-name', body, payer);
    assert.equal(text((await bench.sign(created.body, faster)).body, 'status'), 'completed');
  };
  await pay(quoted);
  await bench.cards?.stop();
  await bench.cards?.start();
  const failed = await until(quoted, 'FAILED');
  assert.equal(text(failed, 'failedReason'), 'Name raced already exists');
  await refunded(quoted, Number(at(quoted, 'purchaseQuote', 'paymentAmount')));
  assert.equal(await readLosses(bench.sql), 0n);
  assert.deepEqual((await bench.credits.selfCheck()).problems, []);
});

/** Two who want a name for the same token, which one of them has. */
async function twoForOneToken(t: TestContext) {
  const opened = await openBench(t);
  const { bench, quote, pay, status, until, refunded } = opened;
  const tokenOf = await quote(`${solanaBuyer.address}/usd/buy-name/token-of?type=permabuy`);
  await pay(tokenOf);
  const antId = text(await until(tokenOf, 'CONFIRMED'), 'antId');
  const quotes: unknown[] = [];
  for (const [index, { address }] of [solanaBuyer, { address: arweaveBuyer }].entries())
    quotes.push(
      await quote(`${address}/usd/buy-name/wanted-twice?type=lease&years=${index + 1}&processId=${antId}`),
    );
  const ended = (quoted: unknown) =>
    eventually('it is over', async () => {
      const now = await status(quoted);
      return text(now, 'status') !== 'PENDING' && { quoted, now };
    });
  /** One has the name, and the other the money. */
  const requireOne = async () => {
    const ends = await Promise.all(quotes.map(ended));
    assert.deepEqual(ends.map(({ now }) => text(now, 'status')).sort(), ['CONFIRMED', 'FAILED']);
    const failed = ends.find(({ now }) => text(now, 'status') === 'FAILED');
    assert.equal(text(failed?.now, 'failedReason'), 'Name wanted-twice already exists');
    await refunded(failed?.quoted, Number(at(failed?.quoted, 'purchaseQuote', 'paymentAmount')));
    assert.equal((await bench.registry.name('wanted-twice')).record?.ant, antId);
    assert.deepEqual((await bench.credits.selfCheck()).problems, []);
  };
  return { ...opened, quotes, ended, requireOne };
}

test('a name that was bought for a token meanwhile is not delivered to another who pays for the same', async (t) => {
  const { quotes, pay, ended, requireOne } = await twoForOneToken(t);
  for (const quoted of quotes) {
    await pay(quoted);
    await ended(quoted);
  }
  await requireOne();
});

test('nobody pays the registry for a name and a token while another payment for both is on its way', async (t) => {
  const { bench, quotes, pay, requireOne } = await twoForOneToken(t);
  bench.faults.before = (method) => (method === 'send' ? chainDown() : undefined);
  await Promise.all(quotes.map(pay));
  const stages = () =>
    bench.sql.all<{ stage: string }>(
      "SELECT stage FROM arns_purchase WHERE name = 'wanted-twice' ORDER BY stage",
    );
  await eventually('both are paid', async () => (await stages()).length === 2);
  await bench.names.settled();
  await bench.names.reconcile();
  assert.deepEqual(
    (await stages()).map(({ stage }) => stage),
    ['paying', 'spawned'],
  );
  bench.faults.before = () => {};
  await eventually('both are over', async () => {
    await bench.names.reconcile();
    return (await stages()).every(({ stage }) => stage === 'done');
  });
  await requireOne();
});

test('names bought by card come together: the first of a service, for one wallet that has none yet', async (t) => {
  const { bench, quote, pay, until } = await openBench(t);
  const buyer = wallet('buyer of many');
  const names = Array.from({ length: 4 }, (_, index) => `card-crowd-${index}`);
  const quotes = await Promise.all(
    names.map((name) => quote(`${buyer.address}/usd/Buy-Name/${name}?type=lease&years=1`)),
  );
  await Promise.all(quotes.map(pay));
  for (const quoted of quotes) {
    const confirmed = await until(quoted, 'CONFIRMED');
    const antId = parseSolanaAddress(text(confirmed, 'antId'));
    assert.equal((await bench.registry.ant(antId))?.owner, buyer.address);
  }
});

for (const part of ['whole', 'half'] as const) {
  test(`nobody has lost the ${part} of a payment that went back for a name that was not delivered`, async (t) => {
    const { bench, quote, pay, until, refunded, stripe } = await openBench(t);
    await bench.give(payer, 10n ** 14n);
    const quoted = await quote(`${arweaveBuyer}/usd/Buy-Name/regretted?type=lease&years=1`);
    await bench.buy('regretted', wallet('faster'), payer);
    bench.faults.before = (method) => (method === 'latestBlockhash' ? chainDown() : undefined);
    await pay(quoted);
    await eventually('the payment is seen', async () => {
      return (await bench.cards?.quote(text(quoted, 'purchaseQuote', 'nonce')))?.state === 'paid';
    });
    await bench.names.settled();
    const amount = Number(at(quoted, 'purchaseQuote', 'paymentAmount'));
    const intent = text(quoted, 'paymentSession', 'id');
    await stripe.refunds.create({
      payment_intent: intent,
      ...(part === 'half' && { amount: Math.floor(amount / 2) }),
    });
    await eventually('it is a loss while the name may come', async () => (await readLosses(bench.sql)) > 0n);
    bench.faults.before = () => {};
    await bench.names.reconcile();
    await until(quoted, 'FAILED');
    await refunded(quoted, amount);
    await bench.cards?.settled();
    assert.equal(await readLosses(bench.sql), 0n);
    assert.equal(await bench.credits.balance(arweaveBuyer), undefined);
    assert.deepEqual((await bench.credits.selfCheck()).problems, []);
  });
}

test('a chain that is away delays a paid name; a crash between its steps does not lose it', async (t) => {
  const { bench, quote, pay, status, until } = await openBench(t);
  const quoted = await quote(`${arweaveBuyer}/usd/Buy-Name/patient?type=lease&years=1`);
  bench.faults.before = (method) => (method === 'latestBlockhash' ? chainDown() : undefined);
  await pay(quoted);
  await eventually('the payment is seen', async () => {
    return (await bench.cards?.quote(text(quoted, 'purchaseQuote', 'nonce')))?.state === 'paid';
  });
  await bench.cards?.settled();
  await bench.names.settled();
  assert.equal(text(await status(quoted), 'status'), 'PENDING');
  // The token's transaction goes out, then the process dies.
  let sent = 0;
  bench.faults.before = (method) => {
    if (method === 'send') sent += 1;
    if (method === 'send' && sent === 2) chainDown();
    if (method === 'status' && sent >= 2) chainDown();
    return undefined;
  };
  await bench.names.reconcile().catch(() => {});
  bench.faults.before = () => {};
  assert.equal(text(await status(quoted), 'status'), 'PENDING');
  await bench.names.reconcile();
  bench.ledger.skip(151);
  await bench.names.reconcile();
  const confirmed = await until(quoted, 'CONFIRMED');
  assert.equal((await bench.registry.name('patient')).record?.ant, text(confirmed, 'antId'));
});

test('a quote nobody pays ends as failed, and card payments may be switched off', async (t) => {
  const { bench, quote, status, until } = await openBench(t);
  const quoted = await quote(`${arweaveBuyer}/usd/Buy-Name/unpaid?type=lease&years=1`);
  assert.equal(text(await status(quoted), 'status'), 'PENDING');
  bench.ledger.skipSeconds(3 * 3_600);
  await until(quoted, 'FAILED');
  for (const path of [
    `cash/${arweaveBuyer}/usd/Buy-Name/unpaid?type=lease&years=1`,
    'payment-intent/nobody/usd/Buy-Name/unpaid?type=lease&years=1',
    `payment-intent/${arweaveBuyer}/xyz/Buy-Name/unpaid?type=lease&years=1`,
  ]) {
    const answer = await bench.get(`/arns/quote/${path}`);
    assert.deepEqual([answer.status, answer.body], [400, 'Invalid parameters']);
  }
  const off = await NamesBench.start();
  const answer = await off.get(
    `/arns/quote/payment-intent/${arweaveBuyer}/usd/Buy-Name/x?type=lease&years=1`,
  );
  assert.deepEqual([answer.status, answer.body], [503, 'Fiat (Stripe) ArNS payments are disabled']);
  await off.stop();
});

test('a buyer comes back to the configured address unless the request names another', async (t) => {
  const { bench, stripe } = await openBench(t, { APP_URL: 'https://app.example/names' });
  const session = async (query: string) => {
    const path = `/arns/quote/checkout-session/${arweaveBuyer}/usd/buy-record/comes-back?type=permabuy${query}`;
    const quoted = await bench.get(path);
    assert.equal(quoted.status, 200, JSON.stringify(quoted.body));
    return stripe.checkout.sessions.retrieve(text(quoted.body, 'paymentSession', 'id'));
  };
  const hosted = await session('&cancelUrl=https://other.example/');
  assert.equal(hosted.success_url, 'https://app.example/names');
  assert.equal(hosted.cancel_url, 'https://other.example/');
  assert.equal((await session('&uiMode=embedded')).return_url, 'https://app.example/names');
});
