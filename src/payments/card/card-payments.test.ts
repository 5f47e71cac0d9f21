/** Card payments put together: what a purpose hears of its payments, and what is kept of an order. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createCredits } from '../../credits/ledger/ledger.ts';
import { creditsMigrations } from '../../credits/migrations.ts';
import { silentLog } from '../../kernel/testing.ts';
import { signatureHeader } from '../../localnet/card/deliveries.ts';
import { startProvider } from '../../localnet/card/testing.ts';
import { winc } from '../../pricing/pricing.ts';
import type { Sql, SqlExecutor, SqlValue } from '../../storage/sql/sql.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import type { CardObservation, CardOrder, PurchaseHandlers } from './card.ts';
import { createCardPayments } from './card-payments.ts';
import { CardAmountRefused } from './errors.ts';
import { cardMigrations } from './migrations.ts';
import { readQuote } from './quotes.ts';

const order: CardOrder = {
  ...{
    method: 'payment-intent',
    address: 'anna',
    addressType: 'arweave',
    debtor: undefined,
    currency: 'usd',
  },
  ...{ paymentAmount: 1000, quotedPaymentAmount: 1000, winc: winc(50n), adjustments: [], fees: [] },
  ...{ page: { uiMode: 'embedded', returnUrl: undefined }, description: 'test', details: { note: 'n' } },
};

async function setUp(t: TestContext, sql: Sql, url?: string) {
  const { provider, stripe } = await startProvider(t);
  const credits = createCredits({ sql });
  const observed: CardObservation[] = [];
  const held: string[] = [];
  const cards = createCardPayments(
    {
      ...{ STRIPE_API_URL: url ?? provider.url, STRIPE_SECRET_KEY: provider.secretKey },
      ...{ STRIPE_WEBHOOK_SECRET: provider.webhookSecret, ENABLE_AUTO_STRIPE_TAX: false },
      ...{ CHECKOUT_PRODUCT_NAME: 'credits', TOP_UP_QUOTE_EXPIRATION_MS: 2_000_000 },
      ...{ TOP_UP_QUOTE_GRACE_MS: 1_000, MAX_ALLOWED_CHARGE_BACKS: 1 },
      STRIPE_RECONCILE_INTERVAL_MS: 3_600_000,
    },
    {
      ...{ sql, credits, log: silentLog, observe: (seen) => observed.push(seen) },
      pricing: {
        promoUses: {
          holdIn: async (_tx, { address }) => void held.push(address),
          useIn: async () => {},
          releaseIn: async () => void held.pop(),
        },
      },
    },
  );
  t.after(() => cards.stop());
  return { cards, stripe, provider, observed, held };
}

const handlers = (calls: string[]): PurchaseHandlers => ({
  paidIn: async () => void calls.push('delivered'),
  takenBackIn: async () => {},
  givenBackIn: async () => {},
  paid: ({ id }) => void calls.push(`paid ${id}`),
});

forEachEngine((_engine, open) => {
  test('a purpose delivers in the transaction of its payment, and hears of it afterwards; another is not asked', async (t) => {
    const s = await setUp(t, await open([...creditsMigrations, ...cardMigrations]));
    const [own, others]: string[][] = [[], []];
    const mine = s.cards.forPurpose('mine', handlers(own ?? []));
    const theirs = s.cards.forPurpose('theirs', handlers(others ?? []));
    assert.throws(() => s.cards.forPurpose('mine', handlers([])), /are taken already/);
    const { quote, session } = await mine.open({
      ...order,
      metadata: () => ({ long: 'x'.repeat(600), ['k'.repeat(60)]: 'v' }),
    });
    assert.deepEqual(s.held, ['anna']);
    assert.deepEqual([quote.state, quote.purpose, quote.details], ['quoted', 'mine', { note: 'n' }]);
    assert.equal((await mine.quote(quote.id))?.id, quote.id);
    assert.equal(await theirs.quote(quote.id), undefined);
    const { metadata } = await s.stripe.paymentIntents.retrieve(session.id);
    assert.deepEqual(
      [metadata.quoteId, metadata.purpose, metadata.long?.length, metadata['k'.repeat(40)]],
      [quote.id, 'mine', 500, 'v'],
    );
    await s.stripe.paymentIntents.confirm(session.id, { payment_method: 'pm_card_visa' });
    const body = JSON.stringify({
      ...{ id: 'evt', object: 'event', type: 'payment_intent.succeeded', created: 3 },
      data: { object: { object: 'payment_intent', id: session.id } },
    });
    await s.cards.start();
    await s.cards.settled();
    const signature = signatureHeader(body, s.provider.webhookSecret, Math.floor(Date.now() / 1000));
    await s.cards.receive(Buffer.from(body), signature);
    await s.cards.settled();
    assert.deepEqual(own, ['delivered', `paid ${quote.id}`]);
    assert.deepEqual(others, []);
  });

  test('a payment that is heard of before its session is stored is not set back', async (t) => {
    const stored = await open([...creditsMigrations, ...cardMigrations]);
    let transactions = 0;
    const sql: Sql = Object.assign(Object.create(stored), {
      engine: stored.engine,
      async transaction<T>(work: (tx: SqlExecutor) => Promise<T>): Promise<T> {
        transactions += 1;
        if (transactions === 2) await stored.run("UPDATE card_quotes SET state = 'paid', receipt_id = 'r'");
        return stored.transaction(work);
      },
      run: (statement: string, ...values: SqlValue[]) => stored.run(statement, ...values),
      get: (statement: string, ...values: SqlValue[]) => stored.get(statement, ...values),
    });
    const s = await setUp(t, sql);
    const { quote } = await s.cards.forPurpose('mine', handlers([])).open(order);
    assert.equal(transactions, 2);
    assert.equal((await readQuote(stored, quote.id))?.state, 'paid');
    assert.deepEqual(await stored.get('SELECT adjustments, referer FROM card_quotes'), {
      ...{ adjustments: '[]', referer: null },
    });
  });

  test('an order whose session could not be made is given up, and its promo code let go', async (t) => {
    const sql = await open([...creditsMigrations, ...cardMigrations]);
    const s = await setUp(t, sql);
    const { open: ask } = s.cards.forPurpose('mine', handlers([]));
    await assert.rejects(ask({ ...order, paymentAmount: 1 }), CardAmountRefused);
    assert.deepEqual(s.held, []);
    assert.deepEqual(
      s.observed.map(({ kind }) => kind),
      ['session-error'],
    );
    const row = await sql.get<{ id: string }>('SELECT id FROM card_quotes');
    const quote = await readQuote(sql, row?.id ?? '');
    assert.deepEqual([quote?.state, quote?.failure], ['failed', 'session_error']);
    assert.deepEqual(await s.cards.refundReturn(row?.id ?? '', 'return', 5), {
      ...{ state: 'failed', reason: 'no_payment' },
    });
  });
});
