/** The price of what a payment is for is reserved out of it, and ends once; rows of before are answered and never charged. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { migrations, payer, type Setting, setUp, stateOf } from '../../../test/support/x402-payments.ts';
import { type Credits, winc } from '../../credits/credits.ts';
import { creditsMigrations } from '../../credits/migrations.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { endByHand, unclearPayments } from './by-hand.ts';
import { matchingClaim, writeClaim } from './claims.ts';
import { PurchaseOver, X402Refused, X402SettlementFailed } from './errors.ts';
import { x402Migrations } from './migrations.ts';
import { beginSession, readPurchase, returnAbandoned, returnPurchase, spendPurchase } from './purchases.ts';
import type { SettleRequest } from './x402.ts';

const full = 1_000_000_000n;
const price = winc(600_000_000n);
const key = { network: '192.0.2.1', key: 'a-secret-of-the-client' };
const upload: SettleRequest = { purpose: 'upload', reference: 'item', reserve: price, claim: key };

async function settled(s: Setting, request: SettleRequest = upload, nonce = `0x${'31'.repeat(32)}`) {
  const payment = await s.read({ nonce });
  assert.ok(payment !== undefined);
  return { payment, receipt: await s.x402.settle(payment, request) };
}

const spendOn = (sql: Sql, credits: Credits, id: string, item: string, amount = price) =>
  sql.transaction((tx) => spendPurchase(tx, credits, id, item, amount));
const giveBack = (sql: Sql, credits: Credits, id: string) =>
  sql.transaction((tx) => returnPurchase(tx, credits, id));
const sound = async (credits: Credits) => assert.equal((await credits.selfCheck()).ok, true);

forEachEngine((_engine, open) => {
  it('reserves the price in the transaction that credits the payment, and says so each time', async (t) => {
    const s = await setUp(t, await open(migrations));
    const { payment, receipt } = await settled(s);
    assert.equal(receipt.creditedWinc, full);
    assert.deepEqual(receipt.purchase, { state: 'reserved', reserved: price, item: undefined });
    assert.equal(await s.balance(), full - price);
    assert.deepEqual(await s.reopen().settle(payment, upload), { ...receipt, applied: false });
    assert.deepEqual(await s.x402.recall(payment, upload), { ...receipt, applied: false });
    assert.equal(await s.x402.recall(payment, { purpose: 'upload', reference: 'another' }), undefined);
    assert.equal(await s.balance(), full - price);
    const { state, amount } = (await s.credits.spending('upload', receipt.id)) ?? {};
    assert.deepEqual([state, amount], ['reserved', price]);
    await sound(s.credits);
  });

  it('reserves no more than was paid', async (t) => {
    const s = await setUp(t, await open(migrations));
    const { receipt } = await settled(s, { ...upload, reserve: winc(2n * full) });
    assert.equal(receipt.purchase?.reserved, full);
    assert.equal(await s.balance(), 0n);
  });

  it('reserves it also for a payment whose settlement was not heard of', async (t) => {
    const s = await setUp(t, await open(migrations));
    const payment = await s.read();
    assert.ok(payment !== undefined);
    await s.fault({ loseAnswers: 1 });
    await assert.rejects(s.x402.settle(payment, upload), X402SettlementFailed);
    assert.equal(await s.balance(), 0n);
    s.clock.offsetMs = 60_000;
    const after = s.reopen();
    await after.start();
    await eventually('it is credited', async () => (await stateOf(s.sql))[0] === 'credited');
    assert.equal(await s.balance(), full - price);
    assert.equal((await after.settle(payment, upload)).purchase?.state, 'reserved');
    await sound(s.credits);
  });

  it('spends what is reserved once, on one item, and gives the rest back', async (t) => {
    const s = await setUp(t, await open(migrations));
    const { payment, receipt } = await settled(s);
    const spendings = await Promise.allSettled(
      ['item', 'item', 'other'].map((item) =>
        spendOn(s.sql, s.credits, receipt.id, item, winc(500_000_000n)),
      ),
    );
    assert.equal(spendings.filter(({ status }) => status === 'fulfilled').length, 1);
    for (const spending of spendings) {
      if (spending.status === 'rejected') assert.ok(spending.reason instanceof PurchaseOver);
    }
    assert.equal(await giveBack(s.sql, s.credits, receipt.id), false);
    assert.equal(await s.balance(), full - 500_000_000n);
    const again = await s.x402.settle(payment, upload);
    assert.equal(again.purchase?.state, 'spent');
    await sound(s.credits);
  });

  it('gives what is reserved back once, and then buys nothing', async (t) => {
    const s = await setUp(t, await open(migrations));
    const { receipt } = await settled(s);
    const returned = await Promise.all([1, 2, 3].map(() => giveBack(s.sql, s.credits, receipt.id)));
    assert.deepEqual(returned.sort(), [false, false, true]);
    await assert.rejects(spendOn(s.sql, s.credits, receipt.id, 'item'), PurchaseOver);
    assert.equal(await s.balance(), full);
    await sound(s.credits);
  });

  it('gives nothing back that is not in the ledger as it is in the row', async (t) => {
    const s = await setUp(t, await open(migrations));
    const { receipt } = await settled(s);
    await s.sql.run("UPDATE x402_payments SET reserved = '1'");
    await assert.rejects(giveBack(s.sql, s.credits, receipt.id), /is not in the ledger/);
    assert.equal((await readPurchase(s.sql, receipt.id))?.state, 'reserved');
    assert.equal(await s.balance(), full - price);
  });

  it('begins one upload in parts and never another, and that one is not given up for its age', async (t) => {
    const s = await setUp(t, await open(migrations));
    const { receipt } = await settled(s);
    const other = await settled(s, { ...upload, reference: 'second' }, `0x${'32'.repeat(32)}`);
    const begin = (session: string) => s.sql.transaction((tx) => beginSession(tx, receipt.id, session));
    await begin('first');
    await assert.rejects(begin('second'), /one row was to be changed/);
    assert.equal((await readPurchase(s.sql, receipt.id))?.session, 'first');
    const later = Date.now() + 1_000;
    assert.equal(await returnAbandoned(s.sql, s.credits, Date.now() - 60_000, 10), 0);
    assert.equal(await returnAbandoned(s.sql, s.credits, later, 10), 1);
    assert.equal(await returnAbandoned(s.sql, s.credits, later, 10), 0);
    assert.equal((await readPurchase(s.sql, receipt.id))?.state, 'reserved');
    assert.equal((await readPurchase(s.sql, other.receipt.id))?.state, 'returned');
    assert.equal(await s.balance(), 2n * full - price);
    await sound(s.credits);
  });

  it('tells the client of the first request from others', async (t) => {
    const s = await setUp(t, await open(migrations));
    const { receipt } = await settled(s);
    const claim = (await readPurchase(s.sql, receipt.id))?.claim;
    assert.equal(matchingClaim(claim, receipt.id, key), 'key');
    assert.equal(matchingClaim(claim, receipt.id, { ...key, network: '192.0.2.9' }), 'key');
    assert.equal(matchingClaim(claim, receipt.id, { ...key, key: 'another' }), undefined);
    assert.equal(matchingClaim(claim, receipt.id, { network: key.network }), undefined);
    assert.equal(matchingClaim(claim, receipt.id, { network: key.key }), undefined);
    assert.equal(matchingClaim(claim, 'another payment', key), undefined);
    assert.equal(matchingClaim(undefined, receipt.id, key), undefined);
    assert.ok(claim !== undefined && !claim.includes(key.key), 'the key itself is not kept');
    const byNetwork = writeClaim(receipt.id, { network: key.network });
    assert.equal(
      matchingClaim(byNetwork, receipt.id, key),
      'network',
      'a key that is sent later adds nothing',
    );
    assert.equal(matchingClaim(byNetwork, receipt.id, { ...key, network: '192.0.2.9' }), undefined);
  });

  it('credits all of a payment that a person ends, since its upload was told that it failed', async (t) => {
    const s = await setUp(t, await open(migrations), { withChain: false, minted: 1_000_000n });
    const payment = await s.read();
    assert.ok(payment !== undefined);
    await s.fault({ loseAnswers: 1 });
    await assert.rejects(s.x402.settle(payment, upload), X402SettlementFailed);
    s.clock.offsetMs = 1_000_000;
    await s.reopen().start();
    await eventually('it is unclear', async () => (await stateOf(s.sql))[0] === 'unclear');
    const id = (await unclearPayments(s.sql, 10, Date.now()))[0]?.id ?? '';
    assert.equal(await endByHand(s.sql, s.credits, id, `0x${'ab'.repeat(32)}`, Date.now()), true);
    assert.equal(await s.balance(), full);
    await assert.rejects(spendOn(s.sql, s.credits, id, 'item'), PurchaseOver);
    assert.equal((await s.x402.settle(payment, upload)).purchase?.state, 'returned');
    assert.equal(await s.balance(), full);
    await sound(s.credits);
  });

  it('does not say whom a payment credited to who does not know', async (t) => {
    const s = await setUp(t, await open(migrations));
    const wallet = { address: 'A'.repeat(43), addressType: 'arweave' };
    const { payment } = await settled(s, { purpose: 'top-up', wallet });
    for (const request of [
      { purpose: 'top-up' },
      { purpose: 'top-up', wallet: { ...wallet, address: 'B'.repeat(43) } },
    ] as const) {
      await assert.rejects(s.x402.settle(payment, request), X402Refused);
      assert.equal(await s.x402.recall(payment, request), undefined);
    }
    assert.equal((await s.x402.settle(payment, { purpose: 'top-up', wallet })).walletAddress, wallet.address);
    assert.equal(await s.tokens(), '4000000');
  });

  it('opens the tables of before, answers their payments, and lets nothing be had for them', async (t) => {
    const before = [...creditsMigrations, ...x402Migrations.slice(0, 2)];
    const old = await open(before, 'ledger');
    // A row as the version before wrote it, of a payment that the test signs.
    const s = await setUp(t, await open(migrations));
    const { payment, receipt } = await settled(s);
    const columns = `id, version, network, payer, nonce, value, valid_before, request, purpose, reference, address,
      address_type, winc, state, settlement, leased_until, attempts, due_at, created_at, changed_at`;
    const row = await s.sql.get<Record<string, string | number | null>>(
      `SELECT ${columns} FROM x402_payments WHERE id = ?`,
      receipt.id,
    );
    const values = columns.split(',').map((name) => row?.[name.trim()] ?? null);
    await old.run(
      `INSERT INTO x402_payments (${columns}) VALUES (${values.map(() => '?').join()})`,
      ...values,
    );
    await old.close();

    const opened = await setUp(t, await open(migrations, 'ledger'));
    await opened.credits.credit({
      address: payer,
      addressType: 'ethereum',
      amount: winc(full),
      reason: 'x402_payment',
      id: receipt.id,
    });
    const answer = await opened.x402.settle(payment, upload);
    assert.deepEqual([answer.applied, answer.purchase, answer.creditedWinc], [false, undefined, full]);
    assert.deepEqual(await opened.sql.transaction((tx) => readPurchase(tx, receipt.id)), {
      state: undefined,
      reserved: 0n,
      session: undefined,
      item: undefined,
      claim: undefined,
      creditedAt: 0,
    });
    await assert.rejects(spendOn(opened.sql, opened.credits, receipt.id, 'item'), PurchaseOver);
    assert.equal(await giveBack(opened.sql, opened.credits, receipt.id), false);
    assert.equal(await returnAbandoned(opened.sql, opened.credits, Date.now(), 10), 0);
    await assert.rejects(
      opened.sql.transaction((tx) => beginSession(tx, receipt.id, 'session')),
      /one row was to be changed/,
    );
    assert.equal(await opened.balance(), full);
    assert.equal(await opened.tokens(), '5000000');
  });

  it('reads what it stored through its schema: a row that was tampered with is an error, and stops no other', async (t) => {
    const s = await setUp(t, await open(migrations));
    const { payment, receipt } = await settled(s);
    const tamper = (column: 'request' | 'settlement', text: string) =>
      s.sql.run(`UPDATE x402_payments SET ${column} = ? WHERE id = ?`, text, receipt.id);
    const stored = await s.sql.get<{ request: string; settlement: string }>(
      'SELECT request, settlement FROM x402_payments',
    );
    assert.ok(stored !== undefined);
    for (const text of [
      '{',
      '[]',
      '{"success":"yes"}',
      '{"success":true,"transaction":1,"network":"base"}',
    ]) {
      await tamper('settlement', text);
      await assert.rejects(s.x402.settle(payment, upload), /the settlement of x402 payment/);
    }
    await tamper('settlement', stored.settlement);
    for (const text of ['null', '{"x402Version":3}', stored.request.replaceAll('"exact"', '"other"')]) {
      await tamper('request', text);
      await assert.rejects(s.x402.settle(payment, upload), /the request of x402 payment/);
    }
    // Open and due, and not to be read: the payments behind it are found all the same.
    await s.sql.run("UPDATE x402_payments SET state = 'open', due_at = 0");
    const next = await s.read({ nonce: `0x${'33'.repeat(32)}` });
    assert.ok(next !== undefined);
    await s.fault({ loseAnswers: 1 });
    await assert.rejects(s.x402.settle(next, { purpose: 'top-up' }), X402SettlementFailed);
    s.clock.offsetMs = 60_000;
    await s.reopen().start();
    await eventually('it is credited', async () => (await s.balance()) === 2n * full - price);
  });
});
