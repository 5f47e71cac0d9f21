/** What a return takes and sends, and what it never does, on both engines. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { winc } from '../../credits/credits.ts';
import { assertSound } from '../../credits/ledger/testing.ts';
import { forEachEngine, type OpenForTest } from '../../storage/sql/testing.ts';
import { formsOfSolanaKey } from '../../wallets/address-forms.ts';
import { ed25519RawPublicKey } from '../../wallets/solana/ed25519.ts';
import { testEd25519Key } from '../../wallets/testing/keys.ts';
import { insertQuote, type QuoteRow } from '../card/quotes.ts';
import { aQuote } from '../card/testing.ts';
import { NotSettled } from './by-hand.ts';
import { checkReturns } from './check.ts';
import { returnRules } from './credit-returns.ts';
import { ReturnRefused } from './returns.ts';
import { confirmReturn, type ReturnRow, readReturn, undoReturn } from './rows.ts';
import {
  dayMs,
  gift,
  openReturnsBench,
  payByChain,
  payByX402,
  returnsTestMigrations,
  spend,
  testRules,
} from './testing.ts';

async function openBench(open: OpenForTest, rules = testRules) {
  const bench = openReturnsBench(await open(returnsTestMigrations), rules);
  const { sql, credits, clock } = bench;
  return {
    ...bench,
    pay: (address: string, id: string, quantity: bigint, bought: bigint) =>
      payByChain(sql, credits, address, { id, quantity, bought, at: clock.now }),
    balance: async (address: string) => (await credits.balance(address))?.winc,
    async assertSound() {
      await assertSound(credits);
      assert.deepEqual(await checkReturns(sql), []);
    },
  };
}

const refusedWith = (kind: ReturnRefused['kind'], words: RegExp) => (error: unknown) =>
  error instanceof ReturnRefused && error.kind === kind && words.test(error.message);

it('the rules are what the operator configures, in days, percent and credits', () => {
  const configured = { RETURN_WINDOW_DAYS: 14, RETURN_FEE_PERCENT: 2.5, RETURN_MINIMUM_CREDITS: 0.25 };
  assert.deepEqual(returnRules(configured), {
    ...{ windowMs: 14 * dayMs, feeBasisPoints: 250n, minimumWinc: 250_000_000_000n },
  });
});

forEachEngine((_engine, open) => {
  describe('returning a payment', () => {
    it('moves exactly the unspent part, once, under twenty parallel requests', async () => {
      const bench = await openBench(open);
      const payment = await bench.pay('anna', 'one', 1_000n, 5_000n);
      await spend(bench.credits, 'anna', 2_000n, 'item');
      const asked = await Promise.allSettled(
        Array.from({ length: 20 }, () => bench.request('anna', payment)),
      );
      assert.equal(asked.filter(({ status }) => status === 'fulfilled').length, 1);
      for (const one of asked) {
        if (one.status === 'rejected')
          assert.ok(refusedWith('not-returnable', /nothing of it is left/)(one.reason));
      }
      await bench.work();
      assert.equal(await bench.balance('anna'), 0n);
      assert.deepEqual(
        [...bench.bank.arrived.values()].map(({ to, amount }) => [to, amount]),
        [['sender of one', 600n]],
      );
      await bench.assertSound();
    });

    it('answers the same return to the same request', async () => {
      const bench = await openBench(open);
      const payment = await bench.pay('anna', 'one', 1_000n, 5_000n);
      const asked = await Promise.all(
        Array.from({ length: 20 }, () => bench.request('anna', payment, 1_000n, 'the key')),
      );
      assert.equal(asked.filter(({ isNew }) => isNew).length, 1);
      assert.equal(new Set(asked.map(({ made }) => made.id)).size, 1);
      assert.equal(await bench.balance('anna'), 4_000n);
    });

    it('is found by the id of the transaction too, and takes a part of it', async () => {
      const bench = await openBench(open);
      await bench.pay('anna', 'one', 1_001n, 5_000n);
      const { made } = await bench.request('anna', 'one', 2_500n);
      assert.deepEqual([made.winc, made.amount, made.recipient], [2_500n, 500n, 'sender of one']);
      await assert.rejects(bench.request('anna', 'one', 2_501n), refusedWith('amount', /Only 2500 winc/));
      await assert.rejects(bench.request('boris', 'one'), refusedWith('unknown', /no payment one/));
      await bench.request('anna', 'one', 1_000n);
      await bench.request('anna', 'one', 1_000n);
      await assert.rejects(bench.request('anna', 'one'), refusedWith('not-returnable', /3 times/));
    });

    it('keeps the fee of the operator, and refuses what is too little', async () => {
      const rules = { ...testRules, feeBasisPoints: 250n, minimumWinc: winc(100n) };
      const bench = await openBench(open, rules);
      await bench.pay('anna', 'one', 1_000n, 1_000n);
      const { made } = await bench.request('anna', 'one', 500n);
      assert.equal(made.amount, 487n);
      await assert.rejects(bench.request('anna', 'one', 99n), refusedWith('not-returnable', /too little/));
    });

    it('is over when the window is, and off where the operator says so', async () => {
      const bench = await openBench(open);
      await bench.pay('anna', 'one', 1_000n, 1_000n);
      bench.clock.now += testRules.windowMs + 1;
      assert.deepEqual(await bench.unspent('anna'), {});
      await assert.rejects(bench.request('anna', 'one'), refusedWith('unknown', /no payment one/));
      const off = await openBench(open, { ...testRules, windowMs: 0 });
      await off.pay('anna', 'one', 1_000n, 1_000n);
      await assert.rejects(off.request('anna', 'one'), refusedWith('off', /does not return/));
      assert.deepEqual(await off.unspent('anna'), {});
      assert.equal(await off.balance('anna'), 1_000n);
    });
  });

  describe('what is left of a payment', () => {
    it('is what the oldest-first order of spending leaves: gifts make no money', async () => {
      const bench = await openBench(open);
      await gift(bench.credits, 'anna', 50n, 'before');
      await bench.pay('anna', 'one', 100n, 100n);
      await spend(bench.credits, 'anna', 50n, 'item 1');
      assert.deepEqual(await bench.unspent('anna'), { 'test:one': 100n });
      await spend(bench.credits, 'anna', 100n, 'item 2');
      await gift(bench.credits, 'anna', 100n, 'after');
      assert.deepEqual(await bench.unspent('anna'), { 'test:one': 0n });
      await bench.pay('anna', 'two', 100n, 100n);
      await bench.credits.refund('upload', 'item 2');
      assert.deepEqual(await bench.unspent('anna'), { 'test:two': 100n, 'test:one': 100n });
      await assert.rejects(bench.request('anna', 'before'), refusedWith('unknown', /no payment/));
    });

    it('does not count what is lent, and counts what comes back', async () => {
      const bench = await openBench(open);
      await bench.pay('anna', 'one', 100n, 100n);
      await bench.credits.approve({ id: 'loan', payer: 'anna', approved: 'boris', amount: winc(70n) });
      assert.deepEqual(await bench.unspent('anna'), { 'test:one': 30n });
      assert.deepEqual(await bench.unspent('boris'), {});
      await bench.request('anna', 'one');
      await bench.credits.revoke({ id: 'revoke', payer: 'anna', approved: 'boris' });
      assert.deepEqual(await bench.unspent('anna'), { 'test:one': 70n });
      await bench.assertSound();
    });

    it('is nothing of a payment that bought an upload, but what that did not cost', async () => {
      const bench = await openBench(open);
      await gift(bench.credits, 'anna', 1_000n, 'gift');
      const at = bench.clock.now;
      await payByX402(bench.sql, bench.credits, 'anna', {
        id: 'x',
        value: 500n,
        bought: 100n,
        reserved: 80n,
        at,
      });
      assert.deepEqual(await bench.unspent('anna'), { x: 20n });
      const { made } = await bench.request('anna', 'x');
      assert.deepEqual([made.kind, made.amount, made.recipient], ['x402', 100n, 'payer of x']);
    });

    it('is found under every form of the address that it was paid to', async () => {
      const bench = await openBench(open);
      const forms = formsOfSolanaKey(ed25519RawPublicKey(testEd25519Key));
      const { wallet, others } = forms;
      await bench.pay(others[0] ?? '', 'one', 100n, 100n);
      await bench.credits.unite(forms);
      await bench.pay(wallet.address, 'two', 50n, 50n);
      await spend(bench.credits, wallet.address, 30n, 'item');
      assert.deepEqual(await bench.unspent(wallet.address), { 'test:two': 50n, 'test:one': 70n });
      const { made } = await bench.request(wallet.address, 'one');
      assert.deepEqual([made.address, made.winc, made.amount], [wallet.address, 70n, 70n]);
      assert.deepEqual(await bench.unspent(others[0] ?? ''), { 'test:two': 50n, 'test:one': 0n });
      await bench.assertSound();
    });

    it('is what a card paid for itself: nothing of a gift, of another purchase, or of what went back', async () => {
      const bench = await openBench(open);
      const pay = async (
        id: string,
        reason: 'payment' | 'gifted_payment_redemption' = 'payment',
        more: Partial<QuoteRow> = {},
      ) => {
        await bench.sql.transaction(async (tx) => {
          const row: QuoteRow = {
            ...aQuote,
            ...{ id, intentId: `pi_${id}`, purpose: 'top-up', state: 'paid', paidAmount: 500 },
            ...{ receiptId: `receipt ${id}`, ...more },
          };
          await insertQuote(tx, { row, adjustments: '[]', referer: null, dueAt: 0 });
          await bench.credits.within(tx).credit({
            ...{ address: 'anna', addressType: 'arweave', amount: winc(1_000n), reason },
            id: `receipt ${id}`,
            payment: {
              ...{ type: 'fiat', paymentAmount: '500', currencyType: 'usd', paymentProvider: 'stripe' },
              ...{ receiptId: `receipt ${id}`, giftMessage: null },
            },
          });
        });
      };
      await pay('own');
      await pay('gift', 'gifted_payment_redemption');
      await pay('name', 'payment', { purpose: 'arns' });
      await pay('partly', 'payment', { takenBack: winc(400n) });
      await pay('disputed', 'payment', { state: 'charged_back' });
      await pay('undelivered', 'payment', { undelivered: true });
      const found = await bench.returns.returnable('anna');
      assert.deepEqual(
        found
          .map(({ payment, unspent, amount, refusal = '' }) =>
            `${payment} ${unspent} ${amount} ${refusal}`.trim(),
          )
          .sort(),
        [
          'receipt disputed 1000 500 its payment is disputed or has gone back',
          'receipt own 1000 500',
          'receipt partly 600 300',
          'receipt undelivered 1000 500 its payment is disputed or has gone back',
        ],
      );
    });

    it('is nothing of a wallet that owes', async () => {
      const bench = await openBench(open);
      await bench.pay('anna', 'one', 100n, 100n);
      const clawback = { address: 'anna', addressType: 'arweave', amount: winc(130n) } as const;
      await bench.credits.clawback({ ...clawback, reason: 'chargeback', id: 'dispute' });
      assert.deepEqual(await bench.unspent('anna'), { 'test:one': 0n });
    });
  });

  describe('sending', () => {
    it('begins when it is asked for, and by one who still has the return', async () => {
      const bench = await openBench(open);
      const payment = await bench.pay('anna', 'one', 100n, 100n);
      bench.returns.start();
      await bench.returns.settled();
      bench.bank.isFinal = false;
      const { made } = await bench.request('anna', payment, 40n);
      await bench.returns.settled();
      assert.equal(bench.bank.arrived.size, 1);
      await bench.returns.stop();
      const read = await readReturn(bench.sql, made.id);
      assert.ok(read !== undefined);
      const stale = { ...read, leases: read.leases - 1 };
      const confirm = (row: ReturnRow) =>
        bench.sql.transaction((tx) => confirmReturn(tx, bench.credits, row, 'ref', 5));
      const undo = (row: ReturnRow) =>
        bench.sql.transaction((tx) =>
          undoReturn(tx, bench.credits, row, { state: 'failed', reason: 'x' }, 5),
        );
      assert.deepEqual([await confirm(stale), await undo(stale)], [false, false]);
      assert.equal((await readReturn(bench.sql, made.id))?.state, 'sent');
      assert.equal(await confirm(read), true);
      assert.deepEqual([await confirm(read), await undo(read)], [false, false]);
      const { state, reference } = (await readReturn(bench.sql, made.id)) ?? {};
      assert.deepEqual([state, reference, await bench.balance('anna')], ['confirmed', 'ref', 60n]);
      await bench.assertSound();
    });

    it('sends the same transfer again after a lost answer, and never another', async () => {
      const bench = await openBench(open);
      const payment = await bench.pay('anna', 'one', 100n, 100n);
      await bench.request('anna', payment);
      bench.bank.losesAnswers = true;
      await bench.work();
      bench.clock.now += dayMs;
      await bench.work();
      assert.deepEqual([bench.bank.prepared, bench.bank.arrived.size], [1, 1]);
      bench.bank.losesAnswers = false;
      bench.clock.now += dayMs;
      await bench.work();
      const [made] = await bench.returns.of('anna', 10);
      assert.deepEqual([made?.state, bench.bank.arrived.size], ['confirmed', 1]);
      await bench.assertSound();
    });

    it('does not wait for as long as the clock was ahead that put it off, or that its holder died with', async () => {
      const bench = await openBench(open);
      const payments = [
        await bench.pay('anna', 'one', 1_000n, 5_000n),
        await bench.pay('anna', 'two', 1_000n, 5_000n),
      ];
      for (const payment of payments) await bench.request('anna', payment);
      bench.bank.isDown = true;
      bench.clock.now += dayMs;
      await bench.work();
      await bench.sql.run(
        'UPDATE payment_returns SET leased_until = ? WHERE payment = ?',
        bench.clock.now,
        payments[0] ?? '',
      );
      bench.clock.now -= dayMs;
      bench.bank.isDown = false;
      await bench.work();
      assert.equal(bench.bank.arrived.size, 2);
      await bench.assertSound();
    });

    it('makes another transfer only when the first is proven void', async () => {
      const bench = await openBench(open);
      await bench.request('anna', await bench.pay('anna', 'one', 100n, 100n));
      bench.bank.isFinal = false;
      await bench.work();
      const [first] = await bench.returns.of('anna', 10);
      assert.equal(first?.state, 'sent');
      bench.bank.arrived.clear();
      bench.bank.dead.add(first?.reference ?? '');
      bench.bank.isFinal = true;
      for (let round = 0; round < 2; round += 1) {
        bench.clock.now += dayMs;
        await bench.work();
      }
      const [second] = await bench.returns.of('anna', 10);
      assert.equal(second?.state, 'confirmed');
      assert.notEqual(second?.reference, first?.reference);
      assert.equal(bench.bank.arrived.size, 1);
    });

    it('waits while the chain cannot be asked, and is left to a person at last', async () => {
      const bench = await openBench(open);
      await bench.request('anna', await bench.pay('anna', 'one', 100n, 100n));
      bench.bank.isDown = true;
      for (let round = 0; round < 40; round += 1) {
        await bench.work();
        bench.clock.now += 3_600_000;
      }
      const [made] = await bench.returns.of('anna', 10);
      assert.deepEqual([made?.state, made?.reason], ['by_hand', 'the bank is down']);
      bench.bank.isDown = false;
      assert.equal(await bench.returns.retry(made?.id ?? ''), true);
      await bench.work();
      assert.equal((await bench.returns.of('anna', 1))[0]?.state, 'confirmed');
      await bench.assertSound();
    });
  });

  describe('by hand', () => {
    it('is settled by a transaction that pays what is due to whom it is due, once', async () => {
      const bench = await openBench(open);
      bench.bank.hasKey = false;
      const orders = await Promise.all(
        ['one', 'two'].map(async (id) => {
          const { made } = await bench.request('anna', await bench.pay('anna', id, 100n, 100n));
          return made;
        }),
      );
      await bench.work();
      const [one, two] = orders;
      const settle = (transaction: string, id = one?.id ?? '') => bench.returns.settle(id, transaction);
      const refused = (words: RegExp) => (error: unknown) =>
        error instanceof NotSettled && words.test(error.message);
      bench.outside.isConfigured = false;
      await assert.rejects(settle('tx1'), refused(/the chain of arweave is not configured here/));
      bench.outside.isConfigured = true;
      await assert.rejects(settle('nonsense'), refused(/no transaction can have/));
      await assert.rejects(settle('tx1'), refused(/not there/));
      bench.transfers.set('tx1', { recipient: 'somebody', quantity: 100n });
      await assert.rejects(settle('tx1'), refused(/does not pay sender of one/));
      bench.transfers.set('tx1', { recipient: 'sender of one', quantity: 99n });
      await assert.rejects(settle('tx1'), refused(/pays 99, and 100 are due/));
      bench.transfers.set('tx1', { recipient: 'sender of one', quantity: 100n });
      assert.equal(await settle('tx1'), true);
      assert.equal(await settle('tx1'), false);
      bench.transfers.set('tx1', { recipient: 'sender of two', quantity: 100n });
      await assert.rejects(settle('tx1', two?.id), refused(/settled another return/));
      assert.equal(await bench.balance('anna'), 0n);
      await bench.assertSound();
    });

    it('is refused with the credits given back, once', async () => {
      const bench = await openBench(open);
      bench.bank.hasKey = false;
      const { made } = await bench.request('anna', await bench.pay('anna', 'one', 100n, 100n));
      await bench.work();
      const refused = await Promise.all(
        Array.from({ length: 5 }, () => bench.returns.refuse(made.id, 'an exchange sent it')),
      );
      assert.equal(refused.filter((isDone) => isDone).length, 1);
      assert.equal(await bench.balance('anna'), 100n);
      assert.deepEqual(await bench.unspent('anna'), { 'test:one': 100n });
      assert.equal(await bench.returns.retry(made.id), false);
      await bench.assertSound();
    });
  });

  it('is checked with all others, however many there are, up to so many disagreements', async () => {
    const bench = await openBench(open);
    const { sql } = bench;
    const { made } = await bench.request('anna', await bench.pay('anna', 'one', 100n, 100n));
    const ofReturn = `address, address_type, kind, payment, token, winc, amount, recipient, state, tries, due_at,
      leased_until, leases, created_at, changed_at`;
    const ofSpending = 'reason, attempt, state, signer, amount, created_at, changed_at';
    const ids = Array.from({ length: 601 }, (_, n) => `zz ${String(n).padStart(4, '0')}`);
    await sql.transaction(async (tx) => {
      for (const id of ids) {
        await tx.run(
          `INSERT INTO payment_returns (id, request_key, ${ofReturn})
           SELECT CAST(? AS TEXT), CAST(? AS TEXT), ${ofReturn} FROM payment_returns WHERE id = ?`,
          ...[id, id, made.id],
        );
        await tx.run(
          `INSERT INTO credits_spendings (id, ${ofSpending})
           SELECT CAST(? AS TEXT), ${ofSpending} FROM credits_spendings WHERE id = ?`,
          ...[id, made.id],
        );
      }
    });
    assert.deepEqual(await checkReturns(sql), []);
    await sql.run("UPDATE credits_spendings SET amount = '99' WHERE id = ?", ids.at(-1) ?? '');
    assert.deepEqual(await checkReturns(sql), [
      'return zz 0600 is due with 100 winc, but the ledger has 99 reserved',
    ]);
    await sql.run("UPDATE credits_spendings SET state = 'settled' WHERE id LIKE 'zz%'");
    assert.equal((await checkReturns(sql)).length, 100);
  });

  it('is checked against what the quotes of cards say was returned', async () => {
    const bench = await openBench(open);
    const { sql } = bench;
    await sql.transaction(async (tx) => {
      for (let n = 0; n < 501; n += 1) {
        const row = {
          ...aQuote,
          id: `q ${String(n).padStart(4, '0')}`,
          intentId: `pi_${n}`,
          receiptId: `r ${n}`,
        };
        await insertQuote(tx, { row, adjustments: '[]', referer: null, dueAt: 0 });
      }
    });
    assert.deepEqual(await checkReturns(sql), []);
    await sql.run("UPDATE card_quotes SET returned = '5' WHERE id = 'q 0500'");
    assert.deepEqual(await checkReturns(sql), ['quote q 0500 has 5 winc returned, but its returns took 0']);
    await sql.run("UPDATE card_quotes SET returned = '5'");
    assert.equal((await checkReturns(sql)).length, 100);
  });

  it('is seen by the check of the books where a return and the ledger disagree', async () => {
    const bench = await openBench(open);
    const { made } = await bench.request('anna', await bench.pay('anna', 'one', 100n, 100n));
    assert.deepEqual(await checkReturns(bench.sql), []);
    await bench.sql.run("UPDATE payment_returns SET state = 'failed' WHERE id = ?", made.id);
    assert.match(
      (await checkReturns(bench.sql)).join(),
      /is failed with 100 winc, but the ledger has 100 reserved/,
    );
  });
});
