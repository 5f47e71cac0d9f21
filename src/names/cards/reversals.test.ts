/** Payments for names that go back and come again: who pays for that, and whose the name is then. */
import assert from 'node:assert/strict';
import { it, type TestContext, test } from 'node:test';
import {
  at,
  chainDown,
  NamesBench,
  namesLedgerMigrations,
  payerHeaders,
  text,
} from '../../../test/support/names-bench.ts';
import { readConfig } from '../../config/config.ts';
import { LOSS_ACCOUNT, winc } from '../../credits/credits.ts';
import { readLosses } from '../../credits/ledger/accounts.ts';
import { parseSolanaAddress } from '../../formats/solana/address.ts';
import { silentLog } from '../../kernel/testing.ts';
import { startProvider } from '../../localnet/card/testing.ts';
import { wallet } from '../../localnet/solana/testing.ts';
import type { PurchaseHandlers } from '../../payments/card/card.ts';
import { createCardPayments } from '../../payments/card/card-payments.ts';
import type { PaymentFacts } from '../../payments/card/provider.ts';
import { lockQuote, takeTicket } from '../../payments/card/quotes.ts';
import { syncQuote } from '../../payments/card/sync.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { holdingOf, takenBackNames } from '../receipts.ts';
import { excessShare } from './reversals.ts';

const credit = 10n ** 12n;
const payer = wallet('payer');
const owner = wallet('name owner');
const victim = wallet('a wallet that somebody names');

/** A service whose card provider says of a payment what the test says. */
async function setUp(t: TestContext, sql?: Sql, environment: Record<string, string> = {}) {
  let time = () => Date.UTC(2026, 0, 1);
  const { provider } = await startProvider(t, { now: () => time() });
  const config = readConfig({ STRIPE_API_URL: provider.url });
  let handlers: PurchaseHandlers | undefined;
  const bench = await NamesBench.start({
    ...(sql !== undefined && { sql }),
    environment,
    deliveryTimeoutMs: 300,
    cards: ({ sql, pricing, now }) => {
      const cards = createCardPayments(
        { ...config, STRIPE_SECRET_KEY: provider.secretKey, STRIPE_WEBHOOK_SECRET: provider.webhookSecret },
        { sql, pricing, log: silentLog, now },
      );
      return {
        ...cards,
        forPurpose(purpose, given) {
          handlers = given;
          return cards.forPurpose(purpose, given);
        },
      };
    },
  });
  time = () => bench.ledger.time;
  t.after(() => bench.stop());
  await bench.give(payer, 1_000n * credit);

  const quote = async (path: string, headers: Record<string, string> = {}) => {
    const answer = await bench.get(`/arns/quote/payment-intent/${path}`, headers);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body;
  };
  const row = async (quoted: unknown) => {
    const id = text(quoted, 'purchaseQuote', 'nonce');
    const found = await bench.sql.transaction((tx) => lockQuote(tx, id));
    assert.ok(found !== undefined);
    return found;
  };
  /** The provider was asked and says this of the payment; answers what was observed. */
  const says = async (quoted: unknown, facts: Partial<PaymentFacts> = {}) => {
    const { id, paymentAmount, currency } = await row(quoted);
    const ticket = (await bench.sql.transaction((tx) => takeTicket(tx, id))) ?? 0;
    const observed = await syncQuote(
      {
        sql: bench.sql,
        promoUses: bench.pricing.promoUses,
        maxChargebacks: 1,
        now: () => bench.ledger.time,
        handlersOf: () => handlers ?? assert.fail('names handle no card payments'),
      },
      id,
      {
        status: 'paid',
        intentId: undefined,
        sessionId: undefined,
        received: { amount: paymentAmount, currency, at: bench.ledger.time },
        refunded: 0,
        returns: [],
        disputed: false,
        ...facts,
      },
      ticket,
    );
    return observed.map(({ kind }) => kind);
  };
  const status = async (quoted: unknown) =>
    (await bench.get(`/arns/purchase/${text(quoted, 'purchaseQuote', 'nonce')}`)).body;
  /** Paid, and delivered as far as the chain lets it. */
  const buy = async (path: string, headers?: Record<string, string>) => {
    const quoted = await quote(path, headers);
    await says(quoted);
    await bench.names.reconcile();
    return quoted;
  };
  const confirmed = async (path: string, headers?: Record<string, string>) => {
    const quoted = await buy(path, headers);
    assert.equal(text(await status(quoted), 'status'), 'CONFIRMED', JSON.stringify(await status(quoted)));
    return quoted;
  };
  const losses = () => readLosses(bench.sql);
  /** What is written beside the newest loss. */
  const note = async () =>
    (await bench.credits.entries(LOSS_ACCOUNT.address, { limit: 1 })).items[0]?.note ?? '';
  const adds = async () => assert.deepEqual((await bench.credits.selfCheck()).problems, []);
  return { bench, quote, row, says, status, buy, confirmed, losses, note, adds };
}

/** A name for a wallet that was taken for another chain's: the service holds the token. */
async function buyHeld(s: Awaited<ReturnType<typeof setUp>>, name: string, buyer = wallet('buyer')) {
  const quoted = await s.quote(`${buyer.address}/usd/Buy-Name/${name}?type=lease&years=1`);
  await s.bench.sql.run("UPDATE card_quotes SET address_type = 'arweave'");
  await s.says(quoted);
  await s.bench.names.reconcile();
  const antId = parseSolanaAddress(text(await s.status(quoted), 'antId'));
  assert.equal((await s.bench.registry.ant(antId))?.owner, s.bench.service.address);
  await s.bench.give(buyer, 10n * credit);
  const claim = (target = wallet('new home').address) =>
    s.bench.create('transfer', { antId, ownerAddress: buyer.address, target }, buyer);
  const mine = async () => (await s.bench.get(`/arns/my-names/${buyer.address}`)).body;
  return { quoted, antId, buyer, claim, mine };
}

const totalOf = (quoted: unknown) =>
  BigInt(text(quoted, 'purchaseQuote', 'wincQty')) +
  BigInt(text(quoted, 'purchaseQuote', 'excessWincAmount'));

test('the share of a payment that falls on credits is whole when all of it is gone, and never more', () => {
  const promised = {
    purchase: { action: 'upgrade-name', name: 'x' },
    intent: 'Upgrade-Name',
    processId: undefined,
    mtoken: 1n,
    winc: 7n,
    excessWinc: 3n,
    usdArRate: 1,
    usdTokenRate: 1,
  } as const;
  assert.deepEqual(
    [0n, 1n, 4n, 9n, 10n].map((taken) => excessShare(promised, taken)),
    [0n, 0n, 1n, 2n, 3n],
  );
  assert.equal(excessShare({ ...promised, excessWinc: 0n }, 7n), 0n);
});

forEachEngine((_engine, open) => {
  it('charges nobody for a payment that a stranger made in their name: the operator has lost it', async (t) => {
    const s = await setUp(t, await open(namesLedgerMigrations));
    const { bench, says, confirmed, losses, note, adds } = s;
    await bench.give(victim, 5n * credit);
    const lent = { id: 'loan', payer: victim.address, approved: wallet('friend').address };
    await bench.credits.approve({ ...lent, amount: winc(4n * credit) });
    const before = await bench.credits.balance(victim.address);
    for (const name of ['stranger-a', 'stranger-b', 'stranger-c']) {
      await bench.buy(name, owner, payer);
      const lost = await losses();
      const quoted = await confirmed(`${victim.address}/usd/upgrade-name/${name}`);
      const total = totalOf(quoted);
      const half = Math.floor(Number(at(quoted, 'purchaseQuote', 'paymentAmount')) / 2);
      await says(quoted, { refunded: half });
      const part = (await losses()) - lost;
      assert.ok(part > 0n && part <= total / 2n, String(part));
      assert.deepEqual(await says(quoted, { refunded: half, disputed: true }), ['taken-back']);
      assert.deepEqual(await says(quoted, { refunded: half, disputed: true }), []);
      assert.equal(await losses(), lost + total);
      assert.match(
        await note(),
        new RegExp(`for ${victim.address}: Upgrade-Name of ${name}, done on the chain`),
      );
    }
    assert.deepEqual(await bench.credits.balance(victim.address), before);
    assert.equal((await bench.credits.entries(victim.address, { limit: 10 })).items.length, 2);
    const check = await bench.credits.selfCheck();
    assert.deepEqual([check.problems, check.losses], [[], await losses()]);
    await adds();
  });

  it('books a loss back when the dispute is won or the refund fails', async (t) => {
    const { bench, says, confirmed, losses, adds } = await setUp(t, await open(namesLedgerMigrations));
    await bench.buy('comes-again', owner, payer);
    const quoted = await confirmed(`${victim.address}/usd/upgrade-name/comes-again`);
    const amount = Number(at(quoted, 'purchaseQuote', 'paymentAmount'));
    for (const gone of [{ disputed: true }, { refunded: amount }, { refunded: 1, disputed: true }]) {
      await says(quoted, gone);
      assert.equal(await losses(), totalOf(quoted));
      await adds();
      assert.deepEqual(await says(quoted), ['given-back']);
      assert.equal(await losses(), 0n);
      await adds();
    }
    assert.equal(await bench.credits.balance(victim.address), undefined);
  });

  it('charges whoever signed the quote, and nobody else', async (t) => {
    const { bench, says, row, confirmed, losses, adds } = await setUp(t, await open(namesLedgerMigrations));
    const signer = wallet('signer');
    await bench.give(signer, credit);
    const kinds: string[] = [];
    for (const name of ['signed-a', 'signed-b']) {
      await bench.buy(name, owner, payer);
      const held = await bench.balance(signer);
      const quoted = await confirmed(`${victim.address}/usd/upgrade-name/${name}`, payerHeaders(signer));
      assert.equal((await row(quoted)).debtor?.address, signer.address);
      kinds.push(...(await says(quoted, { disputed: true })));
      assert.equal(await bench.balance(signer), held - totalOf(quoted));
      if (name === 'signed-a') {
        await says(quoted);
        assert.equal(await bench.balance(signer), held);
        kinds.push(...(await says(quoted, { disputed: true })));
      }
    }
    assert.ok((await bench.balance(signer)) < 0n);
    assert.deepEqual(kinds, ['taken-back', 'taken-back', 'taken-back', 'suspicious']);
    assert.equal(await losses(), 0n);
    assert.equal(await bench.credits.balance(victim.address), undefined);
    await adds();
  });

  it('takes credits that came with a name from the wallet that got them, and the price from no bystander', async (t) => {
    const { bench, says, confirmed, losses, adds } = await setUp(t, await open(namesLedgerMigrations));
    await bench.buy('with-credits', owner, payer);
    await bench.give(victim, credit);
    const path = `${victim.address}/usd/increase-undername-limit/with-credits?increaseQty=1`;
    const quoted = await confirmed(path);
    const excess = BigInt(text(quoted, 'purchaseQuote', 'excessWincAmount'));
    const price = BigInt(text(quoted, 'purchaseQuote', 'wincQty'));
    assert.ok(excess > 0n);
    assert.equal(await bench.balance(victim), credit + excess);
    const half = Number(at(quoted, 'purchaseQuote', 'paymentAmount')) / 2;
    await says(quoted, { refunded: half });
    assert.equal(await bench.balance(victim), credit + excess - excess / 2n);
    await adds();
    await says(quoted, { disputed: true });
    assert.deepEqual([await bench.balance(victim), await losses()], [credit, price]);
    await adds();
    await says(quoted);
    assert.deepEqual([await bench.balance(victim), await losses()], [credit + excess, 0n]);
    await adds();
  });

  it('takes back a name that the service still holds, and gives it back when the payment comes again', async (t) => {
    const s = await setUp(t, await open(namesLedgerMigrations));
    const { bench, says, losses, note, adds } = s;
    const { quoted, antId, buyer, claim, mine } = await buyHeld(s, 'held');
    // An extension that the same buyer paid for does not make the token the buyer's either.
    await bench.create('extend-lease', { name: 'held', years: 1 }, buyer);
    const held = await bench.balance(buyer);
    assert.equal(at(await mine(), 'names', 0, 'custodial'), true);
    for (const gone of [
      { disputed: true },
      { refunded: Number(at(quoted, 'purchaseQuote', 'paymentAmount')) },
    ]) {
      await says(quoted, gone);
      assert.deepEqual(at(await mine(), 'names'), []);
      const refused = await claim();
      assert.deepEqual(
        [refused.status, refused.body],
        [400, 'This ANT is held by the service: only its buyer may transfer it'],
      );
      assert.equal(await bench.balance(buyer), held);
      assert.equal((await bench.registry.ant(antId))?.owner, bench.service.address);
      assert.deepEqual(
        (await takenBackNames(bench.sql, 10)).map(({ name, custody }) => [name, custody]),
        [['held', 'operator']],
      );
      assert.match(await note(), /Buy-Name of held, token \w+ is held by the service$/);
      assert.equal(await losses(), totalOf(quoted));
      await says(quoted);
      assert.equal(at(await mine(), 'names', 0, 'custodial'), true);
      assert.deepEqual(await takenBackNames(bench.sql, 10), []);
    }
    // A part that was refunded is no reason to take the name.
    await says(quoted, { refunded: 1 });
    assert.equal(text((await claim()).body, 'status'), 'completed');
    assert.equal((await bench.registry.ant(antId))?.owner, wallet('new home').address);
    await says(quoted, { disputed: true });
    assert.match(await note(), new RegExp(`was handed over to ${wallet('new home').address}$`));
    assert.equal(at(await mine(), 'names', 0, 'name'), 'held');
    assert.equal(await losses(), totalOf(quoted));
    await adds();
  });

  it('does not hand over a token whose payment goes back while that is prepared', async (t) => {
    const s = await setUp(t, await open(namesLedgerMigrations));
    const { bench, says, adds } = s;
    const { quoted, antId, buyer, claim } = await buyHeld(s, 'prepared');
    const held = await bench.balance(buyer);
    let sent = 0;
    bench.faults.before = async (method) => {
      if (method === 'send') sent += 1;
      if (method === 'latestBlockhash') await says(quoted, { disputed: true });
    };
    assert.equal((await claim()).status, 400);
    bench.faults.before = () => {};
    assert.equal(sent, 0);
    assert.equal(await bench.balance(buyer), held);
    assert.equal((await bench.registry.ant(antId))?.owner, bench.service.address);
    await adds();
  });

  it('tells of a token that was on its way to the buyer when its payment went back', async (t) => {
    const s = await setUp(t, await open(namesLedgerMigrations));
    const { bench, says, note, mine, adds } = { ...s, ...(await buyHeld(s, 'on-its-way')) };
    const [purchase] = await bench.sql.all<{ nonce: string }>('SELECT nonce FROM arns_purchase');
    const quoted = { purchaseQuote: purchase };
    const target = wallet('reached').address;
    bench.faults.before = async (method) => {
      if (method === 'send') await says(quoted, { disputed: true });
    };
    const antId = text(await s.status(quoted), 'antId');
    const body = { antId, ownerAddress: wallet('buyer').address, target };
    const handed = await bench.create('transfer', body, wallet('buyer'));
    bench.faults.before = () => {};
    assert.equal(text(handed.body, 'status'), 'completed', JSON.stringify(handed.body));
    assert.match(await note(), /is being handed over$/);
    const holding = await holdingOf(bench.sql, purchase?.nonce ?? '');
    assert.deepEqual([holding?.custody, holding?.owner], ['none', target]);
    assert.equal(at(await mine(), 'names', 0, 'custodial'), false);
    await says(quoted);
    assert.equal((await holdingOf(bench.sql, purchase?.nonce ?? ''))?.custody, 'none');
    await adds();
  });

  it('buys nothing for a payment that is gone, and gives it back should it come again', async (t) => {
    const s = await setUp(t, await open(namesLedgerMigrations));
    const { bench, quote, says, row, status, losses, adds } = s;
    const quoted = await quote(`${victim.address}/usd/Buy-Name/gone-at-once?type=lease&years=1`);
    const lamports = bench.ledger.balance(bench.service);
    await says(quoted, { disputed: true });
    assert.equal(await losses(), totalOf(quoted));
    await bench.names.reconcile();
    assert.equal(text(await status(quoted), 'status'), 'FAILED');
    assert.equal(text(await status(quoted), 'failedReason'), 'The payment was taken back');
    assert.equal((await bench.registry.name('gone-at-once')).record, undefined);
    assert.equal(bench.ledger.balance(bench.service), lamports);
    assert.equal(await losses(), 0n);
    await adds();
    await says(quoted);
    assert.deepEqual([(await row(quoted)).state, (await row(quoted)).refundDue], ['paid', true]);
    assert.equal(await losses(), 0n);
    await adds();
  });

  it('keeps a bought token that was not handed over when its payment went back', async (t) => {
    const s = await setUp(t, await open(namesLedgerMigrations));
    const { bench, buy, says, status, losses, note, adds } = s;
    const buyer = wallet('impatient');
    let sent = 0;
    bench.faults.after = (method) => {
      if (method === 'send') sent += 1;
    };
    // The list, the token and the name are made; then the chain is away.
    bench.faults.before = (method) => (method === 'latestBlockhash' && sent >= 3 ? chainDown() : undefined);
    const quoted = await buy(`${buyer.address}/usd/Buy-Name/not-handed?type=lease&years=1`);
    assert.equal(text(await status(quoted), 'status'), 'PENDING');
    await says(quoted, { disputed: true });
    assert.match(await note(), /not delivered yet$/);
    bench.faults.before = () => {};
    await bench.names.reconcile();
    const antId = parseSolanaAddress(text(await status(quoted), 'antId'));
    assert.equal((await bench.registry.ant(antId))?.owner, bench.service.address);
    assert.deepEqual(at((await bench.get(`/arns/my-names/${buyer.address}`)).body, 'names'), []);
    assert.equal((await takenBackNames(bench.sql, 10))[0]?.antId, antId);
    assert.equal(await losses(), totalOf(quoted));
    await says(quoted);
    assert.deepEqual([await losses(), await takenBackNames(bench.sql, 10)], [0n, []]);
    await adds();
  });

  it('credits only what is left of the credits that come with a name when part of the payment went back', async (t) => {
    const s = await setUp(t, await open(namesLedgerMigrations));
    const { bench, quote, says, losses, adds } = s;
    await bench.buy('partly', owner, payer);
    const path = `${victim.address}/usd/increase-undername-limit/partly?increaseQty=1`;
    const quoted = await quote(path);
    const excess = BigInt(text(quoted, 'purchaseQuote', 'excessWincAmount'));
    const half = Number(at(quoted, 'purchaseQuote', 'paymentAmount')) / 2;
    await says(quoted, { refunded: half });
    await bench.names.reconcile();
    assert.equal(await bench.balance(victim), excess - excess / 2n);
    assert.equal(await losses(), totalOf(quoted) / 2n - excess / 2n);
    await adds();
    await says(quoted);
    assert.deepEqual([await bench.balance(victim), await losses()], [excess, 0n]);
    await says(quoted, { disputed: true });
    assert.equal(await bench.balance(victim), 0n);
    await adds();
  });
});

test('a signature that was shown before, or was made to read, makes nobody owe', async (t) => {
  const { bench, quote, row } = await setUp(t);
  const signer = wallet('signer');
  await bench.buy('signed-once', owner, payer);
  const path = `${victim.address}/usd/upgrade-name/signed-once`;
  const once = payerHeaders(signer);
  assert.equal((await row(await quote(path, once))).debtor?.address, signer.address);
  assert.equal((await row(await quote(path, once))).debtor, undefined);
  // However long ago it was.
  bench.ledger.skipSeconds(30 * 24 * 3_600);
  await bench.names.reconcile();
  assert.equal((await row(await quote(path, once))).debtor, undefined);

  const toRead = payerHeaders(signer, '5f2c6a0e9b1d4c3aa7e8f0d1c2b3a495');
  assert.equal((await row(await quote(path, toRead))).debtor, undefined);
  const shown = payerHeaders(signer);
  await bench.get('/arns/price/upgrade-name/signed-once', shown);
  assert.equal((await row(await quote(path, shown))).debtor, undefined);
  const forged = { ...payerHeaders(signer), 'x-signature': payerHeaders(payer)['x-signature'] ?? '' };
  assert.equal((await row(await quote(path, forged))).debtor, undefined);

  const nonce = '44444444-4444-4444-8444-444444444444';
  const acted = await bench.create('extend-lease', { name: 'signed-once', years: 1 }, payer, { nonce });
  assert.equal(acted.status, 200, JSON.stringify(acted.body));
  bench.ledger.skipSeconds(30 * 24 * 3_600);
  await bench.names.reconcile();
  assert.equal((await row(await quote(path, payerHeaders(payer, nonce)))).debtor, undefined);
  // And what signed a quote does not act on names.
  const held = await bench.balance(payer);
  const signed = payerHeaders(payer);
  await quote(path, signed);
  const stolen = await bench.post('/arns/actions/extend-lease', { name: 'signed-once', years: 1 }, signed);
  assert.equal(stolen.status, 409);
  assert.equal(await bench.balance(payer), held);
});
