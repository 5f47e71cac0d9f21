import assert from 'node:assert/strict';
import { it, test } from 'node:test';
import { type CardBench, ledgerMigrations, openCardBench, wallet } from '../../../test/support/card-bench.ts';
import { winc } from '../../credits/credits.ts';
import { signatureHeader } from '../../localnet/card/deliveries.ts';
import { shareTakenBack } from '../../payments/card/sync.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';

const full = 1_225_600_000_000n;

const stateOf = async (bench: CardBench, id: string) => {
  const quote = await bench.cards.quote(id);
  return quote?.failure === undefined ? quote?.state : `${quote.state}: ${quote.failure}`;
};

const send = (bench: CardBench, body: string, signature?: string) =>
  fetch(`${bench.url}/v1/stripe-webhook`, {
    method: 'POST',
    body,
    headers: {
      'content-type': 'application/json',
      ...(signature === undefined ? {} : { 'stripe-signature': signature }),
    },
  });

const noHistoryMoved = async (bench: CardBench, entries: number) =>
  assert.equal((await bench.credits.entries(wallet, { limit: 100 })).items.length, entries);

test('the share taken back is the part refunded, and all of it while a dispute stands', () => {
  const share = (refunded: number, disputed = false) =>
    shareTakenBack({ winc: winc(1_000n), returned: winc(0n) }, 300, { refunded, disputed, returns: [] });
  assert.equal(share(0), 0n);
  assert.equal(share(100), 333n);
  assert.equal(share(299), 996n);
  assert.equal(share(300), 1_000n);
  assert.equal(share(0, true), 1_000n);
});

test('what a return took is not taken again, neither for its own refund nor by a dispute', () => {
  const share = (refunded: number, disputed = false) =>
    shareTakenBack({ winc: winc(1_000n), returned: winc(400n) }, 300, {
      ...{ refunded, disputed },
      returns: [
        { id: 're_1', returnId: 'r1', amount: 120, state: 'made' },
        { id: 're_2', returnId: 'r2', amount: 60, state: 'failed' },
      ],
    });
  assert.equal(share(120), 0n);
  assert.equal(share(150), 100n);
  assert.equal(share(300), 600n);
  assert.equal(share(120, true), 600n);
});

forEachEngine((_engine, open) => {
  it('credits a paid quote once, when every webhook comes twice and in reverse', async (t) => {
    const bench = await openCardBench(t, { sql: await open(ledgerMigrations) });
    const { quoteId, intentId } = await bench.intent();
    await bench.faults({ hold: true });
    await bench.confirm(intentId);
    await bench.faults({ duplicate: 100, reverse: true });
    await bench.until(async () => (await bench.balance()) === full);
    await bench.until(async () => (await bench.sql.all('SELECT 1 AS x FROM card_events')).length >= 3);
    await bench.cards.settled();
    assert.equal(await stateOf(bench, quoteId), 'paid');
    assert.equal(await bench.balance(), full);
    await noHistoryMoved(bench, 1);
    const [payment] = (await bench.credits.payments(wallet, { limit: 10 })).items;
    assert.ok(payment?.record.type === 'fiat');
    assert.equal(payment.record.paymentAmount, '1000');
    assert.equal(payment.record.paymentProvider, 'stripe');
  });

  it('takes credits back when a payment is disputed, and gives them again when the dispute is won', async (t) => {
    const bench = await openCardBench(t, { sql: await open(ledgerMigrations) });
    const { quoteId, intentId } = await bench.intent();
    await bench.confirm(intentId, 'pm_card_createDispute');
    await bench.until(async () => (await stateOf(bench, quoteId)) === 'charged_back');
    assert.equal(await bench.balance(), 0n);
    const [dispute] = (await bench.stripe.disputes.list({ payment_intent: intentId })).data;
    assert.ok(dispute !== undefined);
    await bench.stripe.disputes.update(dispute.id, { evidence: { uncategorized_text: 'winning_evidence' } });
    await bench.until(async () => (await stateOf(bench, quoteId)) === 'paid');
    assert.equal(await bench.balance(), full);
    const { items } = await bench.credits.entries(wallet, { limit: 10 });
    assert.deepEqual(
      items.map(({ reason, amount }) => [reason, amount]),
      [
        ['chargeback_reversed', full],
        ['chargeback', -full],
        ['payment', full],
      ],
    );
  });

  it('lets a lost dispute stand', async (t) => {
    const bench = await openCardBench(t, { sql: await open(ledgerMigrations) });
    const { quoteId, intentId } = await bench.intent();
    await bench.faults({ hold: true });
    await bench.confirm(intentId, 'pm_card_createDispute');
    const [dispute] = (await bench.stripe.disputes.list({ payment_intent: intentId })).data;
    await bench.stripe.disputes.close(dispute?.id ?? '');
    await bench.faults({ reverse: true });
    await bench.until(async () => (await stateOf(bench, quoteId)) === 'charged_back');
    await bench.cards.settled();
    assert.equal(await bench.balance(), 0n);
    await noHistoryMoved(bench, 2);
    assert.ok((await bench.credits.selfCheck()).ok);
  });

  it('goes below zero when a payment is taken back after its credits were spent', async (t) => {
    const bench = await openCardBench(t, { sql: await open(ledgerMigrations) });
    const { quoteId, intentId } = await bench.intent();
    await bench.confirm(intentId);
    await bench.until(async () => (await bench.balance()) === full);
    const amount = winc(full);
    await bench.credits.spend({
      id: 'item',
      reason: 'upload',
      signer: wallet,
      signerType: 'arweave',
      amount,
    });
    await bench.stripe.refunds.create({ payment_intent: intentId });
    await bench.until(async () => (await stateOf(bench, quoteId)) === 'refunded');
    assert.equal(await bench.balance(), -full);
    assert.ok((await bench.credits.selfCheck()).ok);
  });

  it('takes back what was refunded, pro rata, and all of it in the end', async (t) => {
    const bench = await openCardBench(t, { sql: await open(ledgerMigrations) });
    const { quoteId, intentId } = await bench.intent();
    await bench.confirm(intentId);
    await bench.until(async () => (await bench.balance()) === full);
    await bench.stripe.refunds.create({ payment_intent: intentId, amount: 250 });
    await bench.until(async () => (await bench.balance()) === (full * 3n) / 4n);
    assert.equal(await stateOf(bench, quoteId), 'paid');
    await bench.stripe.refunds.create({ payment_intent: intentId });
    await bench.until(async () => (await stateOf(bench, quoteId)) === 'refunded');
    assert.equal(await bench.balance(), 0n);
  });

  it('gives credits again when a refund fails at the bank', async (t) => {
    const bench = await openCardBench(t, { sql: await open(ledgerMigrations) });
    const { quoteId, intentId } = await bench.intent();
    await bench.confirm(intentId, 'pm_card_refundFail');
    await bench.until(async () => (await bench.balance()) === full);
    await bench.stripe.refunds.create({ payment_intent: intentId });
    await bench.until(async () => {
      const events = await bench.sql.all(
        "SELECT 1 AS x FROM card_events WHERE type = 'refund.failed' AND state = 'done'",
      );
      return events.length === 1;
    });
    assert.equal(await stateOf(bench, quoteId), 'paid');
    assert.equal(await bench.balance(), full);
  });

  it('credits a checkout that is paid on the page after a refused card', async (t) => {
    const bench = await openCardBench(t, { sql: await open(ledgerMigrations) });
    const { body } = await bench.topUp(`checkout-session/${wallet}/usd/1000`);
    const pay = (number: string) =>
      fetch(body.paymentSession.url ?? '', {
        method: 'POST',
        redirect: 'manual',
        body: new URLSearchParams({ number, expiry: '12 / 40', cvc: '123', name: 'Ada' }),
      });
    assert.equal((await pay('4000000000000002')).status, 402);
    assert.equal((await pay('4242424242424242')).status, 303);
    await bench.until(async () => (await bench.balance()) === full);
    assert.equal(await stateOf(bench, String(body.topUpQuote.topUpQuoteId)), 'paid');
  });

  it('refunds a payment that comes after the quote has ended', async (t) => {
    const bench = await openCardBench(t, { sql: await open(ledgerMigrations) });
    const { quoteId, intentId } = await bench.intent();
    bench.clock.offsetMs = 1_800_000 + 60_000 + 600_000 + 2_000;
    await bench.confirm(intentId);
    await bench.until(
      async () => (await bench.stripe.refunds.list({ payment_intent: intentId })).data.length === 1,
    );
    await bench.until(async () => (await stateOf(bench, quoteId)) === 'failed: expired');
    await bench.cards.settled();
    assert.equal(await bench.balance(), 0n);
    assert.ok(bench.observations.some(({ kind }) => kind === 'refunded'));
  });

  it('credits a payment made in time whose webhook comes late', async (t) => {
    const bench = await openCardBench(t, { sql: await open(ledgerMigrations) });
    const { intentId } = await bench.intent();
    await bench.faults({ hold: true });
    await bench.confirm(intentId);
    bench.clock.offsetMs = 24 * 3_600_000;
    await bench.faults({});
    await bench.until(async () => (await bench.balance()) === full);
    assert.equal((await bench.stripe.refunds.list()).data.length, 0);
  });

  it('asks the provider about quotes whose webhooks were lost, after a restart', async (t) => {
    const bench = await openCardBench(t, { sql: await open(ledgerMigrations) });
    const { intentId } = await bench.intent();
    const { body } = await bench.topUp(`checkout-session/${wallet}/usd/1000`);
    await bench.faults({ drop: 1_000_000 });
    await bench.confirm(intentId);
    await fetch(body.paymentSession.url ?? '', {
      method: 'POST',
      redirect: 'manual',
      body: new URLSearchParams({ number: '4242424242424242', expiry: '12 / 40', cvc: '123', name: 'Ada' }),
    });
    assert.equal(await bench.balance(), 0n);
    await bench.restart();
    await bench.until(async () => (await bench.balance()) === 2n * full);
    await bench.cards.settled();
    assert.equal(await bench.balance(), 2n * full);
  });

  it('hears of a dispute whose webhook was lost from the list of events', async (t) => {
    const bench = await openCardBench(t, { sql: await open(ledgerMigrations) });
    const { quoteId, intentId } = await bench.intent();
    await bench.confirm(intentId);
    await bench.until(async () => (await bench.balance()) === full);
    await bench.cards.settled();
    await bench.faults({ drop: 1_000_000 });
    await bench.stripe.refunds.create({ payment_intent: intentId });
    await bench.restart();
    await bench.until(async () => (await stateOf(bench, quoteId)) === 'refunded');
    assert.equal(await bench.balance(), 0n);
  });

  it('goes through all that is open, and past what it cannot deal with', async (t) => {
    const bench = await openCardBench(t, { sql: await open(ledgerMigrations) });
    const { quoteId, intentId } = await bench.intent();
    const { quoteId: stuck, intentId: stuckIntent } = await bench.intent();
    await bench.faults({ drop: 1_000_000 });
    await bench.confirm(intentId);
    await bench.confirm(stuckIntent);
    await bench.stopService();
    await bench.sql.run("UPDATE card_quotes SET purpose = 'nobody''s', due_at = 0 WHERE id = ?", stuck);
    const columns = (await bench.sql.all<Record<string, unknown>>('SELECT * FROM card_quotes'))
      .flatMap((row) => Object.keys(row))
      .filter((name) => !['id', 'state', 'intent_id', 'created_at', 'due_at'].includes(name));
    const copied = [...new Set(columns)].join(', ');
    for (let n = 0; n < 120; n += 1) {
      await bench.sql.run(
        `INSERT INTO card_quotes (id, state, created_at, due_at, ${copied})
         SELECT ?, 'opening', 0, 1, ${copied} FROM card_quotes WHERE id = ?`,
        `abandoned ${n}`,
        quoteId,
      );
    }
    // What happened is not in the list of events either, so that only the quotes themselves tell.
    await bench.sql.run(
      "INSERT INTO card_cursor (name, value) VALUES ('events', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
      4_000_000_000,
    );
    await bench.restart();
    await bench.until(async () => (await stateOf(bench, quoteId)) === 'paid');
    await bench.until(async () => (await stateOf(bench, 'abandoned 119')) === 'failed: abandoned');
    assert.equal(await stateOf(bench, stuck), 'quoted');
    assert.equal(await bench.balance(), full);
  });

  it('ends quotes that nobody pays, and closes them at the provider', async (t) => {
    const bench = await openCardBench(t, { sql: await open(ledgerMigrations) });
    const { quoteId, intentId } = await bench.intent();
    bench.clock.offsetMs = 3 * 3_600_000;
    await bench.restart();
    await bench.until(async () => (await stateOf(bench, quoteId)) === 'failed: expired');
    assert.equal((await bench.stripe.paymentIntents.retrieve(intentId)).status, 'canceled');
    assert.equal(await bench.balance(), 0n);
  });

  it('keeps what it was told while the provider is away', async (t) => {
    const bench = await openCardBench(t, {
      sql: await open(ledgerMigrations),
      providerUrl: 'http://127.0.0.1:1',
    });
    const intent = await bench.stripe.paymentIntents.create({
      amount: 1000,
      currency: 'usd',
      payment_method: 'pm_card_visa',
      confirm: true,
    });
    const waiting = () =>
      bench.sql.all("SELECT 1 AS x FROM card_events WHERE state = 'waiting' AND attempts > 0");
    await bench.until(async () => (await waiting()).length === 1);
    assert.equal(intent.status, 'succeeded');
    assert.equal(await bench.balance(), 0n);
  });
});

test('forged, stale and oversized webhooks are refused and leave no trace', async (t) => {
  const bench = await openCardBench(t);
  const { quoteId, intentId } = await bench.intent();
  const now = Math.floor(Date.now() / 1000);
  const body = JSON.stringify({
    id: 'evt_forged',
    object: 'event',
    type: 'payment_intent.succeeded',
    created: now,
    data: { object: { id: intentId, object: 'payment_intent', metadata: { quoteId } } },
  });
  const secret = bench.provider.webhookSecret;
  const cases: [string, string | undefined][] = [
    [body, undefined],
    [body, 'nonsense'],
    [body, signatureHeader(body, 'whsec_wrong', now)],
    [body, signatureHeader(body, secret, now - 301)],
    [body.replace('evt_forged', 'evt_other'), signatureHeader(body, secret, now)],
  ];
  for (const [text, signature] of cases) {
    const answer = await send(bench, text, signature);
    assert.equal(answer.status, 400);
    assert.equal(await answer.text(), '"Webhook Error!"');
  }
  const huge = ' '.repeat(1024 * 1024 + 1);
  assert.equal((await send(bench, huge, signatureHeader(huge, secret, now))).status, 413);
  const known = await bench.sql.all("SELECT id FROM card_events WHERE id IN ('evt_forged', 'evt_other')");
  assert.deepEqual(known, []);
  assert.equal(await bench.balance(), 0n);
});

test('a webhook that is signed but says more than the provider knows moves nothing', async (t) => {
  const bench = await openCardBench(t);
  const { quoteId, intentId } = await bench.intent();
  const body = JSON.stringify({
    id: 'evt_ahead',
    object: 'event',
    type: 'payment_intent.succeeded',
    created: Math.floor(Date.now() / 1000),
    data: {
      object: { id: intentId, object: 'payment_intent', amount_received: 1000, metadata: { quoteId } },
    },
  });
  const signature = signatureHeader(body, bench.provider.webhookSecret, Math.floor(Date.now() / 1000));
  assert.equal((await send(bench, body, signature)).status, 200);
  await bench.until(async () => {
    const [row] = await bench.sql.all<{ state: string }>(
      "SELECT state FROM card_events WHERE id = 'evt_ahead'",
    );
    return row?.state === 'done';
  });
  assert.equal(await bench.balance(), 0n);
  assert.equal(await stateOf(bench, quoteId), 'quoted');
});

test('payments of others at the same provider are none of our business', async (t) => {
  const bench = await openCardBench(t);
  await bench.stripe.paymentIntents.create({
    amount: 1000,
    currency: 'usd',
    payment_method: 'pm_card_createDispute',
    confirm: true,
  });
  await bench.until(async () => {
    const rows = await bench.sql.all<{ state: string }>('SELECT state FROM card_events');
    return rows.length >= 4 && rows.every(({ state }) => state === 'ignored');
  });
  assert.equal(await bench.balance(), 0n);
});

test('a payment that does not match its quote in amount or currency is refunded', async (t) => {
  const bench = await openCardBench(t);
  for (const [amount, currency, failure] of [
    [999, 'usd', 'amount_mismatch'],
    [1000, 'eur', 'currency_mismatch'],
  ] as const) {
    const { quoteId } = await bench.intent();
    const intent = await bench.stripe.paymentIntents.create({ amount, currency, metadata: { quoteId } });
    await bench.sql.run('UPDATE card_quotes SET intent_id = ? WHERE id = ?', intent.id, quoteId);
    await bench.confirm(intent.id);
    await bench.until(async () => (await stateOf(bench, quoteId)) === `failed: ${failure}`);
    await bench.until(
      async () => (await bench.stripe.refunds.list({ payment_intent: intent.id })).data.length === 1,
    );
  }
  await bench.cards.settled();
  assert.equal(await bench.balance(), 0n);
});

test('a wallet with more disputes than allowed is reported', async (t) => {
  const bench = await openCardBench(t);
  for (let i = 0; i < 2; i += 1) {
    const { quoteId, intentId } = await bench.intent();
    await bench.confirm(intentId, 'pm_card_createDispute');
    await bench.until(async () => (await stateOf(bench, quoteId)) === 'charged_back');
  }
  await bench.cards.settled();
  const reports = bench.observations.filter(({ kind }) => kind === 'suspicious');
  assert.equal(reports.length, 1);
});
