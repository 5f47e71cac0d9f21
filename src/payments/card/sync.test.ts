import assert from 'node:assert/strict';
import { it } from 'node:test';
import { PromoCodeRefused, winc } from '../../pricing/pricing.ts';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { PurchaseRefused } from './errors.ts';
import { cardMigrations } from './migrations.ts';
import type { PaymentFacts } from './provider.ts';
import { updateQuote } from './quotes.ts';
import { failQuote, shareTakenBack, syncQuote } from './sync.ts';
import { now, paid, setUpQuote } from './testing.ts';

forEachEngine((_engine, open) => {
  it('delivers once, takes back and gives again along what the provider says', async () => {
    const { calls, sync, row } = await setUpQuote(await open(cardMigrations));
    await sync({ status: 'open', received: undefined });
    await sync({});
    await sync({});
    await sync({ refunded: 250 });
    await sync({ refunded: 250, disputed: true });
    await sync({ refunded: 250, disputed: true });
    await sync({ refunded: 250 });
    await sync({ refunded: 1000 });
    assert.deepEqual(calls, [
      'paid',
      '-250 (750 left) card_refund 1',
      '-750 (0 left) chargeback 2',
      '+750 (750 left) 3',
      '-750 (0 left) card_refund 4',
    ]);
    assert.equal((await row()).state, 'refunded');
  });

  it('does not believe an answer after a later question was answered', async () => {
    const { context, calls, ask, row } = await setUpQuote(await open(cardMigrations));
    const [first, second, third] = [await ask(), await ask(), await ask()];
    await syncQuote(context, 'quote', paid, second);
    await syncQuote(context, 'quote', { ...paid, disputed: true }, first);
    assert.deepEqual(calls, ['paid']);
    assert.equal((await row()).state, 'paid');
    await syncQuote(context, 'quote', { ...paid, disputed: true }, third);
    assert.equal((await row()).state, 'charged_back');
  });

  it('gives the money back for a payment that is wrong, late, or can no longer be delivered', async () => {
    const wrong: [Partial<PaymentFacts>, string, Error?][] = [
      [{ received: { amount: 999, currency: 'usd', at: now } }, 'amount_mismatch'],
      [{ received: { amount: 1000, currency: 'eur', at: now } }, 'currency_mismatch'],
      [{ received: { amount: 1000, currency: 'usd', at: now + 2_400_001 } }, 'expired'],
      [{}, 'promo_code', new PromoCodeRefused('used up')],
      [{}, 'sold out', new PurchaseRefused('sold out')],
    ];
    for (const [facts, failure, refusal] of wrong) {
      const { calls, sync, row } = await setUpQuote(await open(cardMigrations), refusal);
      const observed = await sync(facts);
      assert.deepEqual(
        observed.map(({ kind }) => kind),
        ['refused'],
      );
      assert.deepEqual(calls, ['promo released', 'failed']);
      const { state, refundDue, failure: reason, receiptId } = await row();
      assert.deepEqual([state, refundDue, reason, receiptId], ['failed', true, failure, undefined]);
    }
  });

  it('refuses nothing that another has delivered, or ended, before the refusal is written', async () => {
    for (const [meanwhile, calls] of [
      ['delivered', ['paid']],
      ['ended', ['promo released', 'failed']],
    ] as const) {
      const sql = await open(cardMigrations);
      const s = await setUpQuote(sql);
      const refusing = (await setUpQuote(await open(cardMigrations), new PurchaseRefused('sold out')))
        .context;
      const [earlier, later] = [await s.ask(), await s.ask()];
      let transactions = 0;
      const between: Sql = Object.assign(Object.create(sql), {
        async transaction<T>(work: (tx: SqlExecutor) => Promise<T>): Promise<T> {
          transactions += 1;
          if (transactions === 2) {
            if (meanwhile === 'delivered') await syncQuote(s.context, 'quote', paid, earlier);
            else await failQuote(s.context, 'quote', 'session_error');
          }
          return sql.transaction(work);
        },
      });
      assert.deepEqual(await syncQuote({ ...refusing, sql: between }, 'quote', paid, later), []);
      assert.equal(transactions, 2);
      assert.deepEqual(s.calls, calls);
      assert.equal((await s.row()).refundDue, false);
    }
  });

  it('takes more than was asked, as when tax comes on top', async () => {
    const { calls, sync } = await setUpQuote(await open(cardMigrations));
    await sync({ received: { amount: 1190, currency: 'usd', at: now } });
    assert.deepEqual(calls, ['paid']);
  });

  it('refunds a payment of a quote that was given up, and not one that was refunded already', async () => {
    const { context, sync, row } = await setUpQuote(await open(cardMigrations));
    await failQuote(context, 'quote', 'session_error');
    await sync({ status: 'open', received: undefined });
    assert.equal((await row()).refundDue, false);
    await sync({});
    assert.equal((await row()).refundDue, true);
    await sync({ refunded: 1000 });
    assert.equal((await row()).refundDue, false);
    assert.equal((await row()).state, 'failed');
  });

  it('takes what comes in the last moment, and ends what can no longer be paid', async () => {
    const { sync, row } = await setUpQuote(await open(cardMigrations));
    const [observed] = await sync({ received: { amount: 1000, currency: 'usd', at: now + 2_400_000 } });
    assert.equal(observed?.kind, 'paid');
    assert.deepEqual([(await row()).paidAmount, typeof (await row()).receiptId], [1000, 'string']);
    const closed = await setUpQuote(await open(cardMigrations));
    const ended = await closed.sync({ status: 'closed', received: undefined });
    assert.deepEqual(
      ended.map(({ kind }) => kind),
      ['expired'],
    );
    const { state, failure, refundDue, undelivered } = await closed.row();
    assert.deepEqual([state, failure, refundDue, undelivered], ['failed', 'expired', false, true]);
    assert.deepEqual(closed.calls, ['promo released', 'failed']);
    assert.deepEqual(await failQuote(closed.context, 'quote', 'again'), []);
    assert.deepEqual(await failQuote(closed.context, 'another', 'again'), []);
    await assert.rejects(
      setUpQuote(await open(cardMigrations)).then((s) => s.sync({ received: undefined })),
      /without an amount/,
    );
  });

  it('owes nothing for a refused payment that is disputed or has gone back already', async () => {
    for (const [facts, owed] of [
      [{ disputed: true }, false],
      [{ refunded: 1000 }, false],
      [{ refunded: 999 }, true],
    ] as const) {
      const { sync, row } = await setUpQuote(await open(cardMigrations), new PurchaseRefused('sold out'));
      const [first] = await sync(facts);
      assert.deepEqual([(await row()).refundDue, first?.kind], [owed, owed ? 'refused' : 'expired']);
    }
  });

  it('keeps what the provider calls a payment, and tells what is new of a refund', async () => {
    const { context, sync, row } = await setUpQuote(await open(cardMigrations));
    await sync({ status: 'open', received: undefined, intentId: undefined, sessionId: 'cs_1' });
    assert.deepEqual([(await row()).intentId, (await row()).sessionId], ['pi_1', 'cs_1']);
    await sync({ status: 'open', received: undefined, intentId: 'pi_2', sessionId: 'cs_2' });
    assert.deepEqual([(await row()).intentId, (await row()).sessionId], ['pi_2', 'cs_1']);
    await failQuote(context, 'quote', 'session_error');
    const kinds = async (facts: Partial<PaymentFacts>) =>
      (await sync(facts)).map((one) => ('reason' in one ? `${one.kind} ${one.reason}` : one.kind));
    assert.deepEqual(await kinds({}), ['refused session_error']);
    assert.deepEqual(await kinds({}), []);
    assert.deepEqual(await kinds({ disputed: true }), [], 'a dispute is no refund');
    assert.deepEqual(await kinds({}), ['refused session_error']);
    assert.deepEqual(await kinds({ refunded: 1000 }), ['refunded']);
    await context.sql.transaction(async (tx) => updateQuote(tx, { ...(await row()), refundTries: 1 }, now));
    assert.deepEqual(await kinds({}), ['refund-failed returned']);
    assert.equal((await row()).state, 'failed');
  });

  it('tells of a wallet with more disputes than it may have', async () => {
    const sql = await open(cardMigrations);
    const { context, sync } = await setUpQuote(sql);
    const kinds = async (facts: Partial<PaymentFacts>) => (await sync(facts)).map(({ kind }) => kind);
    assert.deepEqual(await kinds({ disputed: true }), ['paid', 'taken-back'], 'one is allowed');
    await sync({});
    const strict = { ...context, maxChargebacks: 0 };
    const observed = await syncQuote(strict, 'quote', { ...paid, disputed: true }, 99);
    assert.deepEqual(
      observed.map(({ kind }) => kind),
      ['taken-back', 'suspicious'],
    );
    assert.deepEqual(
      (await syncQuote(strict, 'quote', { ...paid, refunded: 1000 }, 100)).map(({ kind }) => kind),
      [],
      'nothing more is taken',
    );
    await sql.run('UPDATE card_quotes SET debtor = NULL');
    await syncQuote(strict, 'quote', paid, 101);
    assert.deepEqual(
      (await syncQuote(strict, 'quote', { ...paid, disputed: true }, 102)).map(({ kind }) => kind),
      ['taken-back'],
      'nobody owes',
    );
  });

  it('undoes returns whose refund failed, where there are any', async () => {
    const sql = await open(cardMigrations);
    const { context, sync } = await setUpQuote(sql);
    await sync({});
    const undone: string[] = [];
    const noting = { ...context, returnFailedIn: async (_tx: unknown, id: string) => void undone.push(id) };
    const refund = (returnId: string, state: 'made' | 'failed') => ({ id: 're', returnId, amount: 5, state });
    const facts = { ...paid, returns: [refund('made', 'made'), refund('lost', 'failed')] };
    await syncQuote(noting, 'quote', facts, 50);
    assert.deepEqual(undone, [], 'nothing was returned');
    await sql.run("UPDATE card_quotes SET returned = '5'");
    await syncQuote(noting, 'quote', { ...facts, returns: facts.returns.slice(0, 1) }, 51);
    assert.deepEqual(undone, []);
    await syncQuote(noting, 'quote', facts, 52);
    assert.deepEqual(undone, ['lost']);
    await syncQuote(noting, 'quote', facts, 51);
    assert.deepEqual(undone, ['lost'], 'what is older is not believed');
  });
});

it('takes back the part that was refunded, rounded for the payer, and never what returns took', () => {
  const share = (returned: bigint, more: Partial<Parameters<typeof shareTakenBack>[2]> = {}) =>
    shareTakenBack({ winc: winc(1_000n), returned: winc(returned) }, 300, {
      ...{ disputed: false, refunded: 0, returns: [], ...more },
    });
  const own = { id: 're', returnId: 'r', amount: 100, state: 'made' } as const;
  assert.equal(share(0n), 0n);
  assert.equal(share(0n, { refunded: 100 }), 333n);
  assert.equal(share(0n, { refunded: 299 }), 996n);
  assert.equal(share(0n, { refunded: 300 }), 1_000n);
  assert.equal(share(0n, { refunded: 400 }), 1_000n);
  assert.equal(share(0n, { disputed: true }), 1_000n);
  assert.equal(share(400n, { disputed: true }), 600n);
  assert.equal(share(400n, { refunded: 300 }), 600n);
  assert.equal(share(400n, { refunded: 200 }), 600n, 'no more than is left');
  assert.equal(share(300n, { refunded: 100, returns: [own] }), 0n);
  assert.equal(share(300n, { refunded: 50, returns: [own] }), 0n);
  assert.equal(share(300n, { refunded: 150, returns: [own] }), 166n);
  assert.equal(share(300n, { refunded: 100, returns: [{ ...own, state: 'failed' }] }), 333n);
});
