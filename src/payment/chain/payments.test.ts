import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { type PaymentBench, paymentBench, paymentBenchMigrations, serviceWallets } from '../testing.ts';
import type { ChainTransaction, Transfer } from './chain.ts';

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
    const report = (body = `{"tx_id":"${id}"}`, path = '/v1/account/balance/arweave') =>
      bench.post(path, body);
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
      onChain('confirmed');
      assert.equal((await report()).status, 400, 'what has failed stays failed');
      assert.equal(await owned(payer), undefined);
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

    it('credits nothing for one that pays something else when it is final than when it was reported', async () => {
      onChain('pending', { quantity: 10n ** 15n });
      await report();
      onChain('confirmed', { quantity: 5n });
      bench.outside.now += 2_000;
      const answer = await report();
      assert.match(answer.text, /"failureReason":"changed"/);
      assert.equal(await owned(payer), undefined);
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

    it('looks for a bounded number of unknown ids at once, and answers known ones meanwhile', async () => {
      onChain('confirmed');
      await report();
      const wait = Promise.withResolvers<void>();
      bench.outside.slow = wait.promise;
      const unknown = Array.from({ length: 70 }, (_, n) =>
        report(`{"tx_id":"${String(n).padStart(42, 'u')}A"}`),
      );
      const refused: Awaited<ReturnType<typeof report>>[] = [];
      for (const answer of unknown) void answer.then((early) => refused.push(early));
      while (refused.length < 6) await new Promise((resolve) => setTimeout(resolve, 5));
      for (const { status, headers } of refused)
        assert.deepEqual([status, headers['retry-after']], [503, '1']);
      assert.equal((await report()).status, 200);
      wait.resolve();
      const statuses = (await Promise.all(unknown)).map(({ status }) => status);
      assert.equal(statuses.filter((status) => status === 404).length, 64);
    });

    it('refuses a body that is too large', async () => {
      const answer = await bench.post('/v1/account/balance/arweave', 'x'.repeat(70_000));
      assert.equal(answer.status, 413);
    });
  }),
);
