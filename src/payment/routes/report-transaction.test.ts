import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import type { ChainTransaction, Transfer } from '../../payments/chain/chain.ts';
import { failedPayments, voidPayment } from '../../payments/chain/store.ts';
import { serviceWallets } from '../../payments/chain/testing.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { type PaymentBench, paymentBench, paymentBenchMigrations } from '../testing.ts';

const payer = `${'p'.repeat(42)}A`;
const other = `${'o'.repeat(42)}A`;
const evmPayer = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C';
const id = `${'t'.repeat(42)}A`;
const hash = `0x${'ab'.repeat(32)}`;

forEachEngine((_engine, open) =>
  describe('reporting a chain payment', () => {
    let bench: PaymentBench;
    beforeEach(async () => {
      const sql = await open(paymentBenchMigrations);
      bench = await paymentBench({ CRYPTO_FUND_EXCLUDED_ADDRESSES: other }, sql);
    });
    afterEach(() => bench.close());

    const transfer = (more: Partial<Transfer> = {}): Transfer => ({
      sender: payer,
      recipient: serviceWallets.arweave,
      quantity: 10n ** 12n,
      blockHeight: 77,
      ...more,
    });
    const onChain = (
      state: 'pending' | 'confirmed' | 'reverted',
      more: Partial<Transfer> = {},
      key = id,
    ): void => {
      const found: ChainTransaction = { state, transfer: transfer(more) };
      bench.outside.transactions.set(`arweave ${key}`, found);
    };
    const report = (body = `{"tx_id":"${id}"}`, path = '/v1/account/balance/arweave', from?: string) =>
      bench.post(path, body, {}, from);
    const reportId = (key: string, from?: string) => report(`{"tx_id":"${key}"}`, undefined, from);
    const hours = (count: number) => count * 3_600_000;
    const owned = async (address: string) => (await bench.credits.balance(address))?.winc;

    it('credits a confirmed one at once, and only once', async () => {
      onChain('confirmed');
      const answer = await report();
      const expected = {
        message: 'Transaction credited',
        creditedTransaction: {
          transactionId: id,
          transactionQuantity: 1_000_000_000_000,
          createdAt: '2026-01-01T00:00:00.000Z',
          tokenType: 'arweave',
          destinationAddress: payer,
          destinationAddressType: 'arweave',
          winstonCreditAmount: '766000000000',
          adjustments: [
            {
              name: 'Infrastructure Fee',
              description: 'Covers the cost of infrastructure and of the payment provider',
              operator: 'multiply',
              operatorMagnitude: '0.766',
              adjustmentAmount: '-234000000000',
            },
          ],
          transactionSenderAddress: payer,
          blockHeight: 77,
          creditedAt: '2026-01-01T00:00:00.000Z',
        },
      };
      assert.deepEqual([answer.status, answer.json], [200, expected]);
      assert.deepEqual((await report()).json, expected);
      assert.deepEqual((await report(undefined, '/account/balance/arweave')).json, expected);
      assert.equal(await owned(payer), 766_000_000_000n);
      assert.equal(bench.outside.lookups, 1, 'a known transaction is not looked for again');
      const [payment] = (await bench.credits.payments(payer, { limit: 1 })).items;
      assert.deepEqual(payment?.record, {
        type: 'crypto',
        tokenType: 'arweave',
        tokenQuantity: '1000000000000',
        usdEquivalent: '6.250000',
        senderAddress: payer,
        transactionId: id,
        blockHeight: '77',
      });
    });

    it('makes one credit of many reports at once', async () => {
      onChain('confirmed');
      const all = await Promise.all(Array.from({ length: 50 }, () => report()));
      assert.ok(all.every(({ status }) => status === 200));
      assert.equal(await owned(payer), 766_000_000_000n);
    });

    it('takes the body whatever its content type says', async () => {
      onChain('confirmed');
      for (const [body, headers] of [
        [`{"tx_id":"${id}"}`, {}],
        [` {"tx_id":"${id}"}`, { 'content-type': 'text/plain' }],
        [`tx_id=${id}`, { 'content-type': 'application/x-www-form-urlencoded' }],
        [`{"tx_id":"${id}"}`, { 'content-type': 'application/json' }],
      ] as const) {
        assert.equal((await bench.post('/v1/account/balance/arweave', body, headers)).status, 200, body);
      }
    });

    it('holds a pending one and credits it when it is confirmed, at the price of its report', async () => {
      onChain('pending', { blockHeight: undefined });
      const first = await report();
      assert.equal(first.status, 202);
      assert.match(
        first.text,
        /^\{"message":"Transaction pending","pendingTransaction":\{"transactionId":"t+A"/,
      );
      assert.equal(await owned(payer), undefined);
      onChain('confirmed');
      assert.equal((await report()).status, 202, 'the chain is not asked again at once');
      assert.equal(bench.outside.lookups, 1);
      bench.outside.now += 2_000;
      assert.equal((await report()).status, 200);
      assert.equal(await owned(payer), 766_000_000_000n);
    });

    it('finishes pending ones in the background', async () => {
      onChain('pending');
      await report();
      bench.outside.now += 2_000;
      assert.equal(await bench.payments.checkPending(), 0);
      onChain('confirmed');
      assert.equal(await bench.payments.checkPending(), 0, 'its next look is not due');
      bench.outside.now += 4_000;
      assert.equal(await bench.payments.checkPending(), 1);
      assert.equal(await bench.payments.checkPending(), 0);
      assert.equal(await owned(payer), 766_000_000_000n);
    });

    it('keeps a pending one while its chain cannot be asked, and fails it when the chain has forgotten it', async () => {
      onChain('pending');
      await report();
      bench.outside.chainDown = true;
      bench.outside.now += 2 * 86_400_000;
      await assert.rejects(bench.payments.checkPending(), /cannot ask arweave/);
      bench.outside.chainDown = false;
      // An endpoint that lags behind says once that it does not know it.
      bench.outside.transactions.clear();
      bench.outside.now += 600_000;
      assert.equal(await bench.payments.checkPending(), 0);
      onChain('pending');
      bench.outside.now += 90_000_000;
      assert.equal(await bench.payments.checkPending(), 0);
      bench.outside.transactions.clear();
      bench.outside.now += 600_000;
      assert.equal(await bench.payments.checkPending(), 0);
      bench.outside.now += 86_400_001;
      assert.equal(await bench.payments.checkPending(), 1);
      const answer = await report();
      assert.equal(answer.status, 400);
      assert.match(answer.text, /"message":"Transaction has already failed!","failedTransaction":\{/);
      assert.match(answer.text, /"failureReason":"not_found","failedReason":"not_found"/);
      assert.equal(await owned(payer), undefined);
    });

    /** Pending, and then not known to its chain until it fails. */
    async function forgotten(): Promise<void> {
      onChain('pending');
      await report();
      bench.outside.transactions.clear();
      bench.outside.now += 600_000;
      await bench.payments.checkPending();
      bench.outside.now += 86_400_001;
      assert.equal(await bench.payments.checkPending(), 1);
      assert.match((await report()).text, /"failureReason":"not_found"/);
      assert.equal(await owned(payer), undefined);
    }

    it('credits one that had failed when its chain has it after all, once, as soon as it is reported again', async () => {
      await forgotten();
      onChain('confirmed');
      assert.equal((await report()).status, 400, 'the chain is not asked again at once');
      bench.outside.now += 2_000;
      const answer = await report();
      assert.equal(answer.status, 200, answer.text);
      assert.match(answer.text, /"message":"Transaction credited"/);
      await report();
      bench.outside.now += hours(2);
      await bench.payments.checkPending();
      assert.equal(await owned(payer), 766_000_000_000n);
    });

    it('finds one that had failed without a report', async () => {
      await forgotten();
      onChain('confirmed');
      bench.outside.now += hours(1);
      assert.equal(await bench.payments.checkPending(), 1);
      assert.equal(await bench.payments.checkPending(), 0);
      assert.equal(await owned(payer), 766_000_000_000n);
    });

    it('credits one that failed as changed, for what it has paid', async () => {
      await forgotten();
      // What earlier versions stored of a payment that had paid another amount.
      await bench.sql.run("UPDATE payment_chain_transactions SET failure_reason = 'changed'");
      onChain('confirmed', { quantity: 2n * 10n ** 12n });
      bench.outside.now += hours(1);
      assert.equal((await report()).status, 200);
      assert.equal(await bench.payments.checkPending(), 0);
      assert.equal(await owned(payer), 2n * 766_000_000_000n);
    });

    it('takes one that had failed for pending when its chain sees it again', async () => {
      await forgotten();
      onChain('pending');
      bench.outside.now += 2_000;
      assert.equal((await report()).status, 202);
      assert.equal(await owned(payer), undefined);
      onChain('confirmed');
      bench.outside.now += 2_000;
      assert.equal((await report()).status, 200);
      assert.equal(await owned(payer), 766_000_000_000n);
    });

    it('lists those that failed although the wallet may have been paid, until a person ends them', async () => {
      await forgotten();
      const reverted = `${'r'.repeat(42)}A`;
      onChain('reverted', {}, reverted);
      await reportId(reverted);
      const listed = async () =>
        (await failedPayments(bench.sql, 10, bench.outside.now)).map(({ transaction_id: key }) => key);
      assert.deepEqual(await listed(), [id]);
      assert.equal(await voidPayment(bench.sql, `arweave:${reverted}`), false);
      assert.equal(await voidPayment(bench.sql, id), false);
      assert.equal(await voidPayment(bench.sql, `arweave:${id}`), true);
      assert.equal(await voidPayment(bench.sql, `arweave:${id}`), false);
      assert.deepEqual(await listed(), []);
      onChain('confirmed');
      bench.outside.now += hours(2);
      assert.equal((await report()).status, 400, 'ended for good');
      await bench.payments.checkPending();
      assert.equal(await owned(payer), undefined);
    });

    it('fails nothing by an absence that could not know it', async () => {
      const look = async (transaction: ChainTransaction | undefined): Promise<number> => {
        const { transactions } = bench.outside;
        if (transaction === undefined) transactions.clear();
        else transactions.set(`arweave ${id}`, transaction);
        bench.outside.now += 86_400_001;
        return bench.payments.checkPending();
      };
      bench.outside.transactions.set(`arweave ${id}`, { state: 'pending', transfer: transfer(), at: 100 });
      await report();
      for (let day = 0; day < 3; day += 1) {
        assert.equal(await look({ state: 'not-known', cause: 'an endpoint is away' }), 0);
        assert.equal(await look({ state: 'not-found', at: 100 }), 0, 'an endpoint that stands still');
      }
      assert.equal((await report()).status, 202);
      assert.equal(await look({ state: 'not-found', at: 101 }), 0);
      assert.equal(await look({ state: 'not-found', at: 102 }), 1);
      assert.equal(await owned(payer), undefined);
    });

    it('credits a pending one at the rate of its report for some hours, then at the rate of the moment', async () => {
      const late = `0x${'cd'.repeat(32)}`;
      const paid = {
        ...transfer(),
        sender: evmPayer,
        recipient: serviceWallets.ethereum,
        quantity: 10n ** 18n,
      };
      const chain = (state: 'pending' | 'confirmed', key: string) =>
        bench.outside.transactions.set(`polygon ${key}`, { state, transfer: paid });
      const credit = async (key: string): Promise<bigint> => {
        const { text } = await report(`{"tx_id":"${key}"}`, '/v1/account/balance/matic');
        return BigInt(/"winstonCreditAmount":"([0-9]+)"/.exec(text)?.[1] ?? '0');
      };
      chain('pending', hash);
      chain('pending', late);
      const promised = await credit(hash);
      assert.equal(await credit(late), promised);
      // AR becomes twice as dear, so that the same tokens buy half as much.
      bench.outside.rates = { arweave: { ...bench.config.STATIC_RATES.arweave, usd: 12.5 } };
      chain('confirmed', hash);
      bench.outside.now += hours(3);
      assert.equal(await credit(hash), promised);
      chain('confirmed', late);
      bench.outside.now += 2_000;
      assert.equal(await credit(late), promised / 2n);
      assert.equal(await credit(late), promised / 2n, 'what was credited is stored');
      assert.equal(await owned(evmPayer), promised + promised / 2n);
    });

    it('keeps a late one pending while there is no rate for it, and holds up no other', async () => {
      onChain('pending');
      await report();
      bench.outside.now += hours(4);
      const early = `${'e'.repeat(42)}A`;
      onChain('pending', {}, early);
      await reportId(early);
      onChain('confirmed');
      onChain('confirmed', {}, early);
      bench.outside.ratesDown = true;
      bench.outside.now += hours(2);
      await assert.rejects(bench.payments.checkPending(), /could not be looked at/);
      assert.equal(await owned(payer), 766_000_000_000n, 'the one whose rate still holds');
      bench.outside.ratesDown = false;
      bench.outside.now += hours(1);
      assert.equal(await bench.payments.checkPending(), 1);
      assert.equal(await owned(payer), 2n * 766_000_000_000n);
    });

    it('looks at payments on other chains while one chain is away, which is asked once in a run', async () => {
      const waiting = (n: number) => `${String(n).padStart(42, 'w')}A`;
      for (let n = 0; n < 12; n += 1) {
        onChain('pending', {}, waiting(n));
        await report(`{"tx_id":"${waiting(n)}"}`);
      }
      const paid: Transfer = { ...transfer(), sender: evmPayer, recipient: serviceWallets.ethereum };
      bench.outside.transactions.set(`polygon ${hash}`, { state: 'pending', transfer: paid });
      await report(`{"tx_id":"${hash}"}`, '/v1/account/balance/matic');
      bench.outside.transactions.set(`polygon ${hash}`, { state: 'confirmed', transfer: paid });
      bench.outside.chainDown = 'arweave';
      bench.outside.now += 60_000;
      const before = bench.outside.lookups;
      await assert.rejects(bench.payments.checkPending(), /cannot ask arweave/);
      assert.notEqual(await owned(evmPayer), undefined);
      assert.ok(bench.outside.lookups - before <= 5, 'four at once, and the one that can be asked');
    });

    it('does not mistake a payment in a token for one in the coin that is reported at the same time', async () => {
      const paid = { ...transfer(), sender: evmPayer, recipient: serviceWallets.ethereum };
      const call = { ...paid, recipient: evmPayer };
      bench.outside.transactions.set(`polygon ${hash}`, { state: 'confirmed', transfer: call });
      bench.outside.transactions.set(`polygon-usdc ${hash}`, { state: 'confirmed', transfer: paid });
      const wait = Promise.withResolvers<void>();
      bench.outside.slow = wait.promise;
      const body = `{"tx_id":"${hash}"}`;
      const both = [
        report(body, '/v1/account/balance/matic'),
        report(body, '/v1/account/balance/polygon-usdc'),
      ];
      for (let tries = 0; bench.outside.lookups < 2 && tries < 1_000; tries += 1) {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      wait.resolve();
      assert.deepEqual(
        (await Promise.all(both)).map(({ status }) => status),
        [400, 200],
      );
    });

    it('credits what one pays when it is final, not what it was to pay when it was reported', async () => {
      onChain('pending', { quantity: 10n ** 15n });
      await report();
      onChain('confirmed', { quantity: 10n ** 12n, sender: evmPayer });
      bench.outside.now += 2_000;
      const answer = await report();
      assert.equal(answer.status, 200, answer.text);
      assert.match(answer.text, /"transactionQuantity":1000000000000,/);
      assert.equal(await owned(payer), undefined);
      assert.equal(await owned(evmPayer), 766_000_000_000n);
    });

    it('credits nothing for one that does not pay us in the end, or not by somebody who may', async () => {
      for (const [more, reason, isListed] of [
        [{ recipient: other }, 'not_paid', false],
        [{ quantity: 0n }, 'not_paid', false],
        [{ quantity: 1n }, 'too_small', true],
        [{ sender: other }, 'excluded_sender', true],
      ] as const) {
        const key = `${reason.padEnd(42, isListed ? 'l' : String(Object.keys(more)[0]))}A`.slice(-43);
        onChain('pending', {}, key);
        await reportId(key);
        onChain('confirmed', more, key);
        bench.outside.now += 2_000;
        assert.match((await reportId(key)).text, new RegExp(`"failureReason":"${reason}"`));
        const listed = await failedPayments(bench.sql, 10, bench.outside.now);
        assert.equal(
          listed.some(({ transaction_id: one }) => one === key),
          isListed,
          reason,
        );
      }
      assert.equal(await owned(payer), undefined);
      assert.equal(await owned(other), undefined);
    });

    it('credits once what several processes find confirmed at the same time', async () => {
      const others = [bench.anotherProcess(), bench.anotherProcess()];
      onChain('pending');
      await report();
      onChain('confirmed');
      bench.outside.now += hours(4);
      const all = [bench.payments, ...others];
      const work = all.flatMap((payments) => [
        payments.checkPending(),
        payments.report('arweave', id, { client: '203.0.113.1' }),
      ]);
      await Promise.all(work);
      assert.equal(await owned(payer), 766_000_000_000n);
      const { items } = await bench.credits.entries(payer, { limit: 10 });
      assert.equal(items.length, 1);
      assert.equal((await bench.credits.selfCheck()).ok, true);
    });

    it('does not let a process that looked before undo what another has credited since', async () => {
      onChain('pending');
      await report();
      bench.outside.now += hours(1);
      const wait = Promise.withResolvers<void>();
      bench.outside.slow = wait.promise;
      const before = bench.outside.lookups;
      const slow = bench.anotherProcess().checkPending();
      await eventually('the other looks', async () => bench.outside.lookups > before);
      bench.outside.slow = undefined;
      onChain('confirmed');
      assert.equal((await report()).status, 200);
      onChain('pending');
      wait.resolve();
      await slow;
      assert.equal((await report()).status, 200);
      assert.equal(await owned(payer), 766_000_000_000n);
    });

    it('credits nothing for one that was reverted, first or later', async () => {
      onChain('reverted');
      const answer = await report();
      assert.equal(answer.status, 400);
      assert.match(answer.text, /"failureReason":"reverted"/);
      const second = `${'s'.repeat(42)}A`;
      onChain('pending', {}, second);
      await report(`{"tx_id":"${second}"}`);
      onChain('reverted', {}, second);
      bench.outside.now += 2_000;
      assert.equal((await report(`{"tx_id":"${second}"}`)).status, 400);
      assert.equal(await owned(payer), undefined);
    });

    it('refuses what is not for us, of nothing, too small, or from an excluded sender, and stores nothing', async () => {
      const cases: [Partial<Transfer>, number, string][] = [
        [{ recipient: other }, 400, `Payment transaction '${id}' has wrong target address '${other}'`],
        [{ quantity: 0n }, 400, 'Transaction quantity must be greater than 0'],
        [
          { quantity: 1n },
          400,
          'Crypto payment amount is too small! Token value must convert to at least one winc',
        ],
        [
          { sender: other },
          403,
          `Payment transaction '${id}' has sender that is on the excluded address list: '${other}'`,
        ],
      ];
      for (const [more, status, text] of cases) {
        onChain('confirmed', more);
        const answer = await report();
        assert.deepEqual([answer.status, answer.json], [status, text]);
      }
      assert.equal(await owned(payer), undefined);
      assert.equal(await owned(other), undefined);
      const rows = await bench.sql.all('SELECT 1 AS one FROM payment_chain_transactions');
      assert.deepEqual(rows, []);
    });

    it('credits the wallet that the payer names, of any chain, and else the payer', async () => {
      onChain('confirmed', { destination: evmPayer.toLowerCase() });
      assert.match((await report()).text, /"destinationAddressType":"ethereum"/);
      assert.equal(await owned(evmPayer), 766_000_000_000n);
      const second = `${'s'.repeat(42)}A`;
      onChain('confirmed', { destination: 'not an address' }, second);
      await report(`{"tx_id":"${second}"}`);
      assert.equal(await owned(payer), 766_000_000_000n);
    });

    it('credits what arrives at a former wallet of the service, at once or later', async () => {
      onChain('confirmed', { recipient: serviceWallets.formerArweave });
      assert.match((await report()).text, /Transaction credited/);
      const second = `${'s'.repeat(42)}A`;
      onChain('pending', { recipient: serviceWallets.formerArweave }, second);
      await reportId(second);
      onChain('confirmed', { recipient: serviceWallets.formerArweave }, second);
      bench.outside.now += hours(1);
      assert.match((await reportId(second)).text, /Transaction credited/);
      assert.equal(await owned(payer), 2n * 766_000_000_000n);
    });

    it('counts a transaction once whatever token of its chain it is reported as, with all digits', async () => {
      const quantity = 123_456_789_012_345_678_901n;
      const found: ChainTransaction = {
        state: 'confirmed',
        transfer: { sender: evmPayer, recipient: serviceWallets.ethereum, quantity, blockHeight: 5 },
      };
      bench.outside.transactions.set(`polygon ${hash}`, found);
      const first = await report(
        `{"tx_id":"${hash.toUpperCase().replace('X', 'x')}"}`,
        '/v1/account/balance/matic',
      );
      assert.equal(first.status, 200);
      assert.match(first.text, /"transactionQuantity":123456789012345678901,/);
      const balance = await owned(evmPayer);
      assert.equal((await report(`{"tx_id":"${hash}"}`, '/v1/account/balance/pol')).status, 200);
      assert.equal(await owned(evmPayer), balance);
    });

    it('says what is missing, unknown or out of reach', async () => {
      const cases: [string | undefined, string, number, string][] = [
        ['{}', 'arweave', 400, 'Missing tx_id in request body'],
        ['', 'arweave', 400, 'Missing tx_id in request body'],
        [undefined, 'arweave', 400, 'Missing tx_id in request body'],
        ['{"tx_id":5}', 'arweave', 400, 'Missing tx_id in request body'],
        ['{"tx_id":', 'arweave', 400, 'Missing tx_id in request body'],
        [`{"tx_id":"${id}"}`, 'dogecoin', 400, 'Token not supported'],
        [`{"tx_id":"${id}"}`, 'solana', 400, 'Token not supported'],
        ['{"tx_id":"short"}', 'arweave', 404, 'Transaction ID not found!'],
        [`{"tx_id":"${id}"}`, 'arweave', 404, 'Transaction ID not found!'],
      ];
      for (const [body, token, status, text] of cases) {
        const answer = await bench.post(`/v1/account/balance/${token}`, body);
        assert.deepEqual([answer.status, answer.json], [status, text], body);
      }
      assert.equal(bench.outside.lookups, 3, 'an unknown id is looked for a few times');
      bench.outside.transactions.set(`arweave ${id}`, { state: 'unreadable' });
      assert.equal((await report()).json, `Transaction with id '${id}' has not been mined yet!`);

      const unavailable = async () => {
        const answer = await report();
        assert.deepEqual([answer.status, answer.json], [503, 'Error while processing transaction!']);
        assert.match(String(answer.headers['retry-after']), /^[1-9]/);
      };
      bench.outside.chainDown = true;
      await unavailable();
      bench.outside.chainDown = false;
      onChain('confirmed');
      bench.outside.ratesDown = true;
      await unavailable();
      bench.outside.ratesDown = false;
      bench.outside.databaseDown = true;
      await unavailable();
      bench.outside.databaseDown = false;
      bench.outside.now += 60_000;
      assert.equal((await report()).status, 200, 'nothing was lost on the way');
    });

    const unknown = (n: number) => `${String(n).padStart(42, 'u')}A`;
    type Reported = ReturnType<typeof report>;
    /** Those that were answered already. */
    async function answered(reports: readonly Reported[], count: number): Promise<Awaited<Reported>[]> {
      const early: Awaited<Reported>[] = [];
      for (const one of reports) void one.then((answer) => early.push(answer));
      await eventually(`${count} are answered`, async () => early.length >= count);
      return early;
    }

    it('tells a network that floods it with unknown ids to stop, and serves the others', async () => {
      onChain('confirmed');
      const wait = Promise.withResolvers<void>();
      bench.outside.pause = wait.promise;
      const flood = Array.from({ length: 70 }, (_, n) => reportId(unknown(n), '203.0.113.1'));
      for (const { status, headers, json } of await answered(flood, 62)) {
        assert.deepEqual(
          [status, headers['retry-after'], json],
          [429, '1', 'Too many unknown transactions were reported from your network'],
        );
      }
      assert.equal((await reportId(id, '203.0.113.2')).status, 200, 'found at the first look');
      assert.equal((await reportId(id, '203.0.113.1')).status, 200, 'stored by now');
      const patient = reportId(unknown(100), '203.0.113.2');
      // The very id that somebody else is waiting for holds nobody up either.
      const same = reportId(unknown(0), '203.0.113.3');
      wait.resolve();
      assert.deepEqual([(await patient).status, (await same).status], [404, 404]);
      assert.equal((await Promise.all(flood)).filter(({ status }) => status === 404).length, 8);
      bench.outside.pause = undefined;
      assert.equal((await reportId(unknown(200), '203.0.113.1')).status, 404, 'places are given back');
    });

    it('looks for a bounded number of unknown ids at once, whoever reports them', async () => {
      const wait = Promise.withResolvers<void>();
      bench.outside.pause = wait.promise;
      const many = Array.from({ length: 70 }, (_, n) => reportId(unknown(n), `2001:db8:0:${n >> 3}::${n}`));
      for (const { status, headers } of await answered(many, 6)) {
        assert.deepEqual([status, headers['retry-after']], [503, '1']);
      }
      onChain('confirmed');
      assert.equal((await reportId(id, '2001:db8:1::1')).status, 200, 'found at the first look');
      wait.resolve();
      assert.equal((await Promise.all(many)).filter(({ status }) => status === 404).length, 64);
    });

    it('counts what is not found by the minute and the network, and what is found for nothing', async () => {
      for (let n = 0; n < 130; n += 1) {
        onChain('confirmed', {}, unknown(n));
        assert.equal((await reportId(unknown(n), '203.0.113.1')).status, 200);
      }
      for (let n = 200; n < 320; n += 1) {
        assert.equal((await reportId(unknown(n), '203.0.113.1')).status, 404);
      }
      const asked = bench.outside.lookups;
      const refused = await reportId(unknown(400), '203.0.113.1');
      assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '1']);
      assert.equal(bench.outside.lookups, asked, 'no chain was asked');
      assert.equal((await reportId(unknown(400), '203.0.113.2')).status, 404);
      assert.equal((await reportId(unknown(0), '203.0.113.1')).status, 200, 'what is stored is answered');
      bench.outside.now += 1_000;
      assert.equal((await reportId(unknown(400), '203.0.113.1')).status, 404);
    });

    it('refuses a body that is too large', async () => {
      const answer = await bench.post('/v1/account/balance/arweave', 'x'.repeat(70_000));
      assert.equal(answer.status, 413);
    });
  }),
);
