import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { ledgerMigrations } from '../../../cli/ledger-database.ts';
import { readConfig } from '../../../config/config.ts';
import { LOSS_ACCOUNT, winc } from '../../../credits/credits.ts';
import { createCredits } from '../../../credits/ledger/ledger.ts';
import type {
  LedgerAccount,
  LedgerCheckState,
  LedgerLosses,
  OpenMatters,
  OpenNameAction,
  PaymentSummary,
  PriceChange,
  ReconcileState,
  WaitingGift,
} from '../../../formats/admin-answers.ts';
import { examplePayment } from '../../../formats/x402/testing.ts';
import { createAdmin } from '../../../kernel/admin/admin.ts';
import { silentLog, testServer } from '../../../kernel/testing.ts';
import { signPayment } from '../../../localnet/x402/testing.ts';
import { takenBackNames, writeReceipt } from '../../../names/receipts.ts';
import { adminActionsRoute } from '../../../names/routes/admin-actions.ts';
import { insertQuote, mostRefundTries, type QuoteRow, untouched } from '../../../payments/card/quotes.ts';
import { insertRow } from '../../../payments/chain/store.ts';
import type { OutsideSource } from '../../../payments/outside-records.ts';
import { Reconciler } from '../../../payments/reconciliation/reconciler.ts';
import { addRow } from '../../../pricing/catalogue/rows.ts';
import { insertion } from '../../../storage/sql/columns.ts';
import { columnsOf } from '../../../storage/sql/fields.ts';
import type { Sql } from '../../../storage/sql/sql.ts';
import { forEachEngine, type OpenForTest } from '../../../storage/sql/testing.ts';
import { Bookkeeping } from '../../bookkeeping.ts';
import { createGifts } from '../../gifts.ts';
import { translated } from '../../route-failures.ts';
import { adminLedgerRoutes } from './ledger.ts';
import { adminPaymentsRoutes } from './payments.ts';
import { adminReconcileRoutes } from './reconcile.ts';

const now = Date.UTC(2026, 5, 1);
const day = 86_400_000;
const wallet = '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A';
const other = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C';
const key = 'k'.repeat(30);
const hash = `0x${'ab'.repeat(32)}`;

async function start(t: TestContext, open: OpenForTest) {
  const sql = await open(ledgerMigrations);
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-books-'));
  const credits = createCredits({ sql, now: () => now });
  const keptNames = (limit: number) => takenBackNames(sql, limit);
  const books = new Bookkeeping({ sql, credits, keptNames, now: () => now });
  const outside: OutsideSource = {
    name: 'the outside',
    async *unknown(since) {
      const payment = { kind: 'card', at: since, what: '5 usd' } as const;
      const credit = async () => {
        await credits.credit({
          ...{ address: wallet, addressType: 'ethereum', amount: winc(5n), reason: 'payment', id: 'proven' },
        });
        return { state: 'credited', address: wallet, winc: 5n } as const;
      };
      yield { ...payment, id: 'proven', credit };
      yield { ...payment, id: 'unclear', openBecause: 'nobody knows' };
      throw new Error('it went away');
    },
  };
  const reconciler = new Reconciler({
    sources: [outside],
    log: silentLog,
    now: () => now,
  });
  const admin = createAdmin({
    ...{ surface: 'payment', version: '1', config: readConfig({ DATA_DIR: folder }), key, log: silentLog },
    parts: () => [
      {
        name: 'ledger',
        adminRoutes(app) {
          adminLedgerRoutes(app, books);
          adminPaymentsRoutes(app, sql, () => now);
          adminActionsRoute(app, sql, () => now);
          adminReconcileRoutes(app, reconciler);
        },
      },
    ],
    figures: async () => ({}),
    translate: (error) => translated(error, {}),
  });
  const server = testServer();
  server.mount(admin.routes, ['/v1']);
  await server.app.ready();
  t.after(async () => {
    await server.app.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const call = async (method: 'GET' | 'POST', path: string, payload?: object) => {
    const answer = await server.app.inject({
      method,
      url: `/v1/admin/${path}`,
      headers: { authorization: `Bearer ${key}` },
      ...(payload !== undefined && { payload }),
    });
    return { status: answer.statusCode, body: answer.json() as unknown };
  };
  return {
    sql,
    credits,
    post: (path: string, body: object = {}) => call('POST', path, body),
    get: (path: string) => call('GET', path),
    async read<T>(path: string): Promise<T> {
      const { status, body } = await call('GET', path);
      assert.equal(status, 200, path);
      return body as T;
    },
  };
}

const chainPayment = (transaction_id: string, state: 'pending' | 'failed', createdAt: number) => ({
  ...{ chain: 'polygon', transaction_id, token: 'matic', state, quantity: '5000', winc: '700' },
  ...{ adjustments: '[]', usd_equivalent: '1.000000', sender: wallet, destination: other },
  ...{ destination_type: 'ethereum', referer: null, created_at: createdAt, block_height: null },
  ended_at: state === 'failed' ? createdAt : null,
  failure_reason: state === 'failed' ? 'not_found' : null,
  ...{ checks: 1, checked_at: createdAt, next_check_at: 0, missing_since: null, seen_height: null },
});

async function addX402(sql: Sql, id: string, state: string, createdAt: number): Promise<void> {
  const values = columnsOf({
    ...{ id, version: 1, network: 'eip155:84532', payer: wallet, nonce: '0x', value: '1000000' },
    ...{ validBefore: '1', request: JSON.stringify(signPayment({ payTo: examplePayment.payTo })) },
    ...{ purpose: 'top-up', address: other, addressType: 'ethereum', winc: '700', state },
    ...{ leasedUntil: 0, attempts: 1, dueAt: 0, createdAt, changedAt: createdAt },
  });
  await sql.run(`INSERT INTO x402_payments ${insertion(values)}`, ...Object.values(values));
}

async function addQuote(sql: Sql, id: string, changes: Partial<QuoteRow>): Promise<void> {
  const row: QuoteRow = {
    ...{ id, purpose: 'top-up', state: 'paid', method: 'checkout-session', sessionId: `s-${id}` },
    ...{ intentId: `pi-${id}`, address: wallet, addressType: 'ethereum', debtor: undefined, currency: 'usd' },
    ...{ paymentAmount: 1_000, quotedPaymentAmount: 1_000, winc: winc(900n), details: {} },
    ...{ expiresAt: now, payableUntil: now, createdAt: now, ...untouched },
    ...changes,
  };
  await sql.transaction((tx) => insertQuote(tx, { row, adjustments: '[]', referer: null, dueAt: now }));
}

describe('what operators ask the payment service', () => {
  forEachEngine((_engine, open) => {
    it('checks the ledger now and tells how it ended', async (t) => {
      const { read, post, sql } = await start(t, open);
      assert.deepEqual(await read('ledger/check'), { running: false, last: null });
      assert.equal((await post('ledger/credit', { address: wallet, credits: '0.5', id: 'x' })).status, 200);
      const { body } = await post('ledger/check');
      const checked = body as LedgerCheckState;
      assert.deepEqual([checked.running, checked.last?.ok, checked.last?.entries], [false, true, 1]);
      await sql.run("UPDATE credits_accounts SET balance = '7' WHERE same_as IS NULL");
      await post('ledger/check');
      const { last } = await read<LedgerCheckState>('ledger/check');
      assert.deepEqual([last?.ok, last?.drift, last?.problems.length], [false, '-499999999993', 1]);
    });

    it('gives credits once per id, in the words of the audit log, and shows them', async (t) => {
      const { read, post, get } = await start(t, open);
      const gift = { address: wallet.toLowerCase(), credits: '0.5', id: 'x', message: 'sorry' };
      const given = { id: 'x', address: wallet, given: true, winc: '500000000000', balance: '500000000000' };
      assert.deepEqual(await post('ledger/credit', gift), { status: 200, body: given });
      assert.deepEqual((await post('ledger/credit', gift)).body, { ...given, given: false });
      for (const [changed, status] of [
        [{ credits: '0.6' }, 409],
        [{ credits: '0', id: 'y' }, 400],
        [{ credits: '1e3', id: 'y' }, 400],
        [{ credits: '1000001', id: 'y' }, 400],
        [{ address: 'nobody', id: 'y' }, 400],
        [{ id: '' }, 400],
        [{ message: 'm'.repeat(251) }, 400],
      ] as const) {
        assert.equal(
          (await post('ledger/credit', { ...gift, ...changed })).status,
          status,
          JSON.stringify(changed),
        );
      }
      const account = await read<LedgerAccount>(`ledger/accounts/${wallet}`);
      assert.deepEqual([account.kind, account.balance?.winc], ['ethereum', '500000000000']);
      assert.deepEqual(
        account.entries.map(({ reason, changeId, amount }) => [reason, changeId, amount]),
        [['admin_credit', 'x', '500000000000']],
      );
      assert.equal((await read<LedgerAccount>(`ledger/accounts/${other}`)).balance, null);
      assert.deepEqual(await get('ledger/accounts/nobody'), { status: 400, body: 'Invalid address' });
      const { lines } = await read<{ lines: { action: string; result: string; given: unknown }[] }>('audit');
      assert.deepEqual(lines.at(-1), {
        ...lines.at(-1),
        action: 'ledger/credit',
        given: gift,
        result: 'answered 200',
      });
    });

    it('pages the entries of a wallet', async (t) => {
      const { read, credits } = await start(t, open);
      for (let count = 1; count <= 5; count += 1) {
        const request = { address: wallet, addressType: 'ethereum', reason: 'admin_credit' } as const;
        await credits.credit({ ...request, amount: winc(BigInt(count)), id: `g${count}` });
      }
      const path = `ledger/accounts/${wallet}?limit=3`;
      const first = await read<LedgerAccount>(path);
      const second = await read<LedgerAccount>(`${path}&before=${first.next}`);
      const amounts = [...first.entries, ...second.entries].map(({ amount }) => amount);
      assert.deepEqual([amounts, second.next], [['5', '4', '3', '2', '1'], null]);
    });

    it('ends what only a person can end, and nothing twice', async (t) => {
      const { read, post, sql, credits } = await start(t, open);
      const id = 'eip155:84532:0xpayer:0xnonce';
      await addX402(sql, id, 'unclear', now - 1);
      await addX402(sql, 'made-just-now', 'open', now - 1);
      await insertRow(sql, chainPayment('0xlost', 'failed', now - day));
      const owed = { refundDue: true, undelivered: true };
      await addQuote(sql, 'owed', { ...owed, refundTries: 1 });
      await addQuote(sql, 'given-up', { ...owed, refundTries: mostRefundTries });
      const receipt = { antId: 'T', intent: 'Buy-Name', payer: other, purchasedAt: 0 } as const;
      await sql.transaction((tx) =>
        writeReceipt(tx, { ...receipt, reference: 'q1', name: 'kept', custody: 'operator' }),
      );
      const waiting = await read<OpenMatters>('ledger/open');
      assert.deepEqual(
        waiting.refunds.map(({ quoteId, givenUp, amount }) => [quoteId, givenUp, amount]).sort(),
        [
          ['given-up', true, 1_000],
          ['owed', false, 1_000],
        ],
      );
      assert.deepEqual(
        [waiting.payments.map((one) => one.id), waiting.chainPayments.map((one) => one.id)],
        [[id], ['polygon:0xlost']],
      );
      assert.deepEqual(waiting.names, [{ reference: 'q1', name: 'kept', antId: 'T', payer: other }]);

      assert.equal((await post('ledger/settle', { id, transaction: 'nothing' })).status, 400);
      assert.equal((await post('ledger/settle', { id: 'made-just-now', transaction: hash })).status, 404);
      assert.deepEqual(await post('ledger/settle', { id, transaction: hash }), {
        status: 200,
        body: { ended: true },
      });
      const again = await post('ledger/void', { id });
      assert.deepEqual([again.status, again.body], [404, 'There is no such payment to end']);
      assert.equal((await credits.balance(other))?.winc, 700n);
      assert.equal((await post('ledger/void', { id: 'polygon:0xlost' })).status, 200);
      assert.equal((await post('ledger/refunded', { quoteId: 'owed' })).status, 404);
      assert.equal((await post('ledger/refunded', { quoteId: 'given-up' })).status, 200);
      const left = await read<OpenMatters>('ledger/open');
      assert.deepEqual([left.refunds.length, left.payments.length, left.chainPayments.length], [1, 0, 0]);
    });

    it('reconciles with the outside: only tells, or credits what proves itself, and says who did not answer', async (t) => {
      const { read, post, credits } = await start(t, open);
      assert.deepEqual(await read('reconcile'), { report: null });
      const states = ({ report }: ReconcileState) => report?.records.map(({ id, state }) => [id, state]);
      const dry = (await post('reconcile', { since: 7, dryRun: true })).body as ReconcileState;
      assert.deepEqual(states(dry), [
        ['proven', 'would be credited'],
        ['unclear', 'open'],
      ]);
      assert.equal(await credits.balance(wallet), undefined);
      for (let times = 0; times < 2; times += 1) {
        const run = (await post('reconcile', { since: 7, dryRun: false })).body as ReconcileState;
        assert.deepEqual(states(run), [
          ['proven', 'credited'],
          ['unclear', 'open'],
        ]);
        assert.deepEqual(run.report?.failures, [{ source: 'the outside', reason: 'it went away' }]);
        assert.equal(run.report?.endedAt, now);
        assert.equal((await credits.balance(wallet))?.winc, 5n);
      }
      assert.equal((await post('reconcile', { since: -1, dryRun: true })).status, 400);
    });

    it('lists losses and gifts', async (t) => {
      const { read, sql, credits } = await start(t, open);
      for (const id of ['one', 'two']) {
        await credits.clawback({
          ...LOSS_ACCOUNT,
          amount: winc(5n),
          reason: 'chargeback',
          id,
          note: `of ${id}`,
        });
      }
      const first = await read<LedgerLosses>('ledger/losses?limit=1');
      assert.deepEqual([first.total, first.entries.map(({ note }) => note)], ['10', ['of two']]);
      const second = await read<LedgerLosses>(`ledger/losses?limit=1&before=${first.next}`);
      assert.deepEqual([second.entries.map(({ note }) => note), second.next], [['of one'], null]);
      const gifts = createGifts({ sql, credits, now: () => now });
      const payment = {
        type: 'fiat',
        paymentAmount: '1',
        currencyType: 'usd',
        paymentProvider: 'stripe',
      } as const;
      await sql.transaction((tx) =>
        gifts.createIn(tx, {
          ...{ receiptId: 'r1', quoteId: 'q1', email: 'a@b.example', amount: winc(9n) },
          payment: { ...payment, receiptId: 'r1', giftMessage: null },
        }),
      );
      const { gifts: waiting } = await read<{ gifts: WaitingGift[] }>('ledger/gifts');
      assert.deepEqual(
        waiting.map(({ receiptId, amount, expiresAt }) => [receiptId, amount, expiresAt]),
        [['r1', '9', now + 365 * day]],
      );
    });

    it('lists payments of every kind in one order, by kind and by state', async (t) => {
      const { read, get, sql } = await start(t, open);
      await addX402(sql, 'x-1', 'credited', now - 5);
      await addX402(sql, 'x-2', 'unclear', now - 3);
      await insertRow(sql, chainPayment('0xa', 'pending', now - 4));
      await insertRow(sql, chainPayment('0xb', 'failed', now - 3));
      await addQuote(sql, 'card-1', { createdAt: now - 1, refundDue: true });
      interface Payments {
        payments: PaymentSummary[];
        next: string | null;
      }
      const seen: string[] = [];
      for (let next: string | null = ''; next !== null; ) {
        const page: Payments = await read(`payments?limit=2${next === '' ? '' : `&before=${next}`}`);
        seen.push(...page.payments.map(({ id }) => id));
        next = page.next;
      }
      assert.deepEqual(seen, ['card-1', 'x-2', 'polygon:0xb', 'polygon:0xa', 'x-1']);
      const { payments } = await read<Payments>('payments');
      assert.deepEqual(
        payments.filter((one) => one.open).map(({ id }) => id),
        ['card-1', 'x-2', 'polygon:0xb'],
      );
      const only = async (query: string) =>
        (await read<Payments>(`payments?${query}`)).payments.map(({ id }) => id);
      assert.deepEqual(await only('kind=x402'), ['x-2', 'x-1']);
      assert.deepEqual(await only('kind=chain&state=pending'), ['polygon:0xa']);
      assert.deepEqual(await only('state=paid'), ['card-1']);
      assert.equal((await get('payments?kind=cash')).status, 400);
    });

    it('lists what is added to prices, with how often it was used', async (t) => {
      const { read, sql } = await start(t, open);
      const code = {
        kind: 'promo',
        name: 'ten',
        operator: 'multiply',
        magnitude: '0.9',
        code: 'TEN',
      } as const;
      const id = await addRow(sql, { ...code, maxUses: 3 }, now - day);
      await sql.run(
        "INSERT INTO pricing_promo_uses (quote_id, catalogue_id, code, address, state, expires_at) VALUES ('q', ?, 'TEN', 'a', 'used', 0)",
        id,
      );
      const { codes } = await read<{ codes: PriceChange[] }>('promo-codes');
      assert.deepEqual(
        codes.map(({ code, uses, maxUses, active, magnitude }) => [code, uses, maxUses, active, magnitude]),
        [['TEN', 1, 3, true, '0.9']],
      );
    });

    it('lists name actions that are not finished, with what each waits for', async (t) => {
      const { read, sql } = await start(t, open);
      const action = async (nonce: string, status: string, changes: object = {}) => {
        const row = columnsOf({
          ...{ nonce, payer: wallet, payerType: 'ethereum', payerNonce: nonce, action: 'set-record' },
          ...{ request: '{}', name: null, owner: 'Owner', winc: '5', mtoken: '0', status },
          ...{ expiresAt: now + 60_000, createdAt: now - 10, updatedAt: now - 5, ...changes },
        });
        await sql.run(`INSERT INTO arns_action ${insertion(row)}`, ...Object.values(row));
      };
      await action('a', 'awaiting');
      await action('b', 'sending', { serviceSignature: 'Sig', createdAt: now - 20 });
      await action('c', 'completed');
      const purchase = columnsOf({
        ...{ nonce: 'd', address: other, addressType: 'ethereum', purchase: 'buy-name', intent: 'Buy-Name' },
        ...{ name: 'nice', quote: '{}', mtoken: '1', winc: '7', excessWinc: '0', status: 'PENDING' },
        ...{ stage: 'paid', cardRefunded: 0, expiresAt: now - 1, createdAt: now - 1, updatedAt: now - 1 },
      });
      await sql.run(`INSERT INTO arns_purchase ${insertion(purchase)}`, ...Object.values(purchase));
      interface Actions {
        actions: OpenNameAction[];
        next: string | null;
      }
      const first = await read<Actions>('names/actions?limit=2');
      const second = await read<Actions>(`names/actions?limit=2&before=${first.next}`);
      assert.deepEqual(
        [...first.actions, ...second.actions].map(({ id, paidBy, why }) => [id, paidBy, why]),
        [
          [
            'd',
            'card',
            'The card was charged, and nothing was done on the chain yet. It should have been done by 2026-05-31 23:59 UTC.',
          ],
          ['a', 'credits', 'It waits for Owner to sign, until 2026-06-01 00:01 UTC.'],
          ['b', 'credits', 'The transaction Sig of the service is on its way to the chain.'],
        ],
      );
      assert.equal(second.next, null);
    });
  });
});
