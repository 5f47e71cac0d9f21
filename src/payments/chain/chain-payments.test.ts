/** What becomes of a reported payment, look by look: what is stored, when it is looked at again, what is credited. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createCredits } from '../../credits/ledger/ledger.ts';
import { creditsMigrations } from '../../credits/migrations.ts';
import { paymentMigrations } from '../../payment/migrations.ts';
import { AmountTooSmall, winc } from '../../pricing/pricing.ts';
import { forEachEngine, type OpenForTest } from '../../storage/sql/testing.ts';
import type { ChainTransaction, Transfer } from './chain.ts';
import { ChainPayments } from './chain-payments.ts';
import { ChainPaymentRefused, ChainUnavailable } from './errors.ts';
import { insertRow, readRow } from './store.ts';
import { aChainPayment, type FakeChains, fakeTokens, serviceWallets } from './testing.ts';

const id = 'T'.repeat(43);
const payer = 'P'.repeat(43);
const other = 'O'.repeat(43);
const client = { client: '192.0.2.1' };
const minute = 60_000;
const paid: Transfer = { sender: payer, recipient: serviceWallets.arweave, quantity: 100n, blockHeight: 7 };

async function setUp(open: OpenForTest, { attempts = 1, lookUpsPerMinute = 100 } = {}) {
  const sql = await open([...creditsMigrations, ...paymentMigrations]);
  const time = { now: 1_000_000_000 };
  const now = () => time.now;
  const credits = createCredits({ sql, now });
  const outside: FakeChains = { chainDown: false, transactions: new Map(), slow: undefined, lookups: 0 };
  const rate = { wincPerUnit: 3n };
  const told: string[] = [];
  const pauses: number[] = [];
  const tokens = fakeTokens(outside);
  const payments = new ChainPayments({
    ...{ sql, credits, tokens, attempts, lookUpsPerMinute, now },
    excludedSenders: new Set([other]),
    pricing: {
      quoteToken: async (amount, token) => {
        const worth = winc(amount * rate.wincPerUnit);
        return { token, winc: worth, equivalentWinc: worth, fees: [], usdEquivalent: '1.000000' };
      },
    },
    ...{
      firstPauseMs: 10,
      maxPauseMs: 25,
      forgetAfterMs: 60 * minute,
      recheckMs: 2_000,
      rateMs: 10 * minute,
    },
    sleep: async (ms) => void pauses.push(ms),
    onCredited: ({ winc: credited }) => void told.push(`credited ${credited}`),
    onFailed: (_row, reason) => void told.push(`failed ${reason}`),
  });
  const says = (transaction: ChainTransaction) => outside.transactions.set(`arweave ${id}`, transaction);
  return {
    ...{ sql, time, credits, outside, rate, told, pauses, payments, says, tokens },
    report: () => payments.report('arweave', id, client),
    row: async () => (await readRow(sql, 'arweave', id)) ?? assert.fail('nothing is stored'),
    balance: async (address = payer) => (await credits.balance(address))?.winc ?? 0n,
    /** Another look, when it is due. */
    async check() {
      time.now = Math.max(time.now, (await readRow(sql, 'arweave', id))?.next_check_at ?? 0);
      return payments.checkPending();
    },
  };
}

const refused = (kind: string) => (error: unknown) =>
  error instanceof ChainPaymentRefused && error.refusal.kind === kind;

forEachEngine((engine, open) => {
  describe('a reported payment', () => {
    it('is priced and credited when it is confirmed, with all that is known of it', async () => {
      const s = await setUp(open);
      s.says({ state: 'confirmed', transfer: paid, at: 50 });
      const row = await s.report();
      assert.deepEqual(
        [row.state, row.winc, row.quantity, row.sender, row.destination, row.destination_type],
        ['credited', '300', '100', payer, payer, 'arweave'],
      );
      assert.deepEqual(
        [row.block_height, row.seen_height, row.ended_at, row.created_at],
        [7, 50, s.time.now, s.time.now],
      );
      assert.equal(await s.balance(), 300n);
      assert.deepEqual(s.told, ['credited 300']);
      const { items } = await s.credits.payments(payer, { limit: 5 });
      assert.deepEqual(items[0]?.record, {
        ...{ type: 'crypto', tokenType: 'arweave', tokenQuantity: '100', usdEquivalent: '1.000000' },
        ...{ senderAddress: payer, transactionId: id, blockHeight: '7' },
      });
      s.time.now += 60 * minute;
      await s.report();
      assert.deepEqual([s.outside.lookups, await s.balance()], [1, 300n], 'its chain is not asked again');
      assert.deepEqual(s.payments.addresses.arweave, serviceWallets.arweave);
    });

    it('that is pending is looked at less and less often, and again when it is reported', async () => {
      const s = await setUp(open);
      s.says({ state: 'pending', transfer: { ...paid, blockHeight: undefined }, at: 50 });
      const first = await s.report();
      assert.deepEqual([first.state, first.checks, first.next_check_at - s.time.now], ['pending', 1, 2_000]);
      assert.deepEqual([first.block_height, first.ended_at], [null, null]);
      s.time.now += 1_999;
      await s.report();
      assert.equal(s.outside.lookups, 1, 'not before its time');
      s.says({ state: 'pending', transfer: paid, at: 40 });
      s.time.now += 1;
      const second = await s.report();
      assert.deepEqual([s.outside.lookups, second.checks, second.next_check_at - s.time.now], [2, 2, 4_000]);
      assert.equal(second.seen_height, 50, 'the highest counts');
      s.says({ state: 'unreadable', at: 60 });
      assert.equal(await s.check(), 0);
      assert.deepEqual([(await s.row()).checks, (await s.row()).seen_height], [3, 60]);
      s.says({ state: 'pending', transfer: paid });
      await s.check();
      assert.equal((await s.row()).seen_height, 60);
      await s.sql.run('UPDATE payment_chain_transactions SET checks = 40');
      await s.check();
      assert.equal((await s.row()).next_check_at - s.time.now, 600_000);
      s.says({ state: 'confirmed', transfer: paid });
      assert.equal(await s.check(), 1);
      assert.deepEqual([await s.balance(), s.told], [300n, ['credited 300']]);
      assert.deepEqual([(await s.row()).block_height, (await s.row()).ended_at], [7, s.time.now]);
    });

    it('is credited at the rate of its report for as long as is said, then at that of the moment', async () => {
      for (const [late, expected] of [
        [0, 300n],
        [1, 500n],
      ] as const) {
        const s = await setUp(open);
        s.says({ state: 'pending', transfer: paid });
        const { created_at } = await s.report();
        s.says({ state: 'confirmed', transfer: paid });
        s.rate.wincPerUnit = 5n;
        s.time.now = created_at + 10 * minute + late;
        await s.payments.checkPending();
        assert.equal(await s.balance(), expected);
      }
    });

    it('is credited for what it pays in the end, and not at all where that is nothing', async () => {
      for (const [transfer, failure, account] of [
        [{ quantity: 7n }, null, payer],
        [{ sender: 'S'.repeat(43) }, null, 'S'.repeat(43)],
        [{ recipient: payer }, 'not_paid', payer],
        [{ quantity: 0n }, 'not_paid', payer],
        [{ sender: other }, 'excluded_sender', payer],
      ] as const) {
        const s = await setUp(open);
        s.says({ state: 'pending', transfer: paid });
        await s.report();
        const final = { ...paid, ...transfer };
        s.says({ state: 'confirmed', transfer: final });
        assert.equal(await s.check(), 1);
        const row = await s.row();
        assert.deepEqual(
          [row.state, row.failure_reason],
          [failure === null ? 'credited' : 'failed', failure],
        );
        assert.equal(await s.balance(account), failure === null ? 3n * final.quantity : 0n);
        assert.equal(s.told.length, 1);
      }
      const s = await setUp(open);
      s.says({ state: 'pending', transfer: paid });
      await s.report();
      s.rate.wincPerUnit = 0n;
      s.says({ state: 'confirmed', transfer: { ...paid, quantity: 5n } });
      await s.check();
      assert.equal((await s.row()).failure_reason, 'too_small');
      assert.equal((await s.row()).next_check_at - s.time.now, 3_600_000);
    });

    it('that its chain forgets fails after its time, at heights that could know it, and comes back', async () => {
      const s = await setUp(open);
      s.says({ state: 'pending', transfer: paid, at: 50 });
      await s.report();
      s.says({ state: 'not-found', at: 50 });
      await s.check();
      assert.equal((await s.row()).missing_since, null, 'nobody could miss it at that height');
      s.says({ state: 'not-known', cause: new Error('away') });
      await s.check();
      s.says({ state: 'not-found', at: 51 });
      await s.check();
      const since = s.time.now;
      assert.equal((await s.row()).missing_since, since);
      s.time.now = since + 60 * minute;
      assert.equal(await s.payments.checkPending(), 0);
      assert.equal((await s.row()).state, 'pending');
      s.time.now += 1;
      await s.sql.run('UPDATE payment_chain_transactions SET next_check_at = 0');
      assert.equal(await s.payments.checkPending(), 1);
      const lost = await s.row();
      assert.deepEqual(
        [lost.state, lost.failure_reason, lost.ended_at, lost.block_height],
        ['failed', 'not_found', s.time.now, null],
      );
      await s.check();
      assert.equal((await s.row()).failure_reason, 'not_found', 'one that failed does not fail again');
      assert.deepEqual(s.told, ['failed not_found']);
      s.says({ state: 'pending', transfer: paid, at: 60 });
      assert.equal(await s.check(), 0);
      const seen = await s.row();
      assert.deepEqual(
        [seen.state, seen.failure_reason, seen.ended_at, seen.missing_since, seen.checks],
        ['pending', null, null, null, 1],
      );
      s.says({ state: 'reverted', transfer: { ...paid, blockHeight: 9 } });
      assert.equal(await s.check(), 1);
      assert.deepEqual([(await s.row()).failure_reason, (await s.row()).block_height], ['reverted', 9]);
      assert.equal(await s.balance(), 0n);
    });

    it('that was never seen at a height may be missed at any', async () => {
      const s = await setUp(open);
      s.says({ state: 'pending', transfer: paid });
      await s.report();
      s.says({ state: 'not-found', at: 1 });
      await s.check();
      assert.equal((await s.row()).missing_since, s.time.now);
      s.says({ state: 'pending', transfer: paid, at: 5 });
      await s.check();
      s.says({ state: 'not-found' });
      await s.check();
      assert.equal((await s.row()).missing_since, s.time.now);
    });

    it('is refused where it is not for us, of nothing, too small or of somebody who may not, and nothing is stored', async () => {
      const s = await setUp(open);
      await assert.rejects(s.payments.report('dogecoin', id, client), refused('token-not-supported'));
      await assert.rejects(s.payments.report('arweave', 'x', client), refused('not-found'));
      for (const [transfer, kind] of [
        [{ recipient: other }, 'wrong-target'],
        [{ quantity: 0n }, 'nothing-moved'],
        [{ sender: other }, 'excluded-sender'],
      ] as const) {
        s.says({ state: 'confirmed', transfer: { ...paid, ...transfer } });
        await assert.rejects(s.report(), refused(kind));
        assert.equal(await s.payments.takeIn('arweave', id), undefined);
      }
      s.rate.wincPerUnit = 0n;
      s.says({ state: 'confirmed', transfer: paid });
      await assert.rejects(s.report(), AmountTooSmall);
      assert.equal(await s.payments.takeIn('arweave', id), undefined);
      assert.equal(await readRow(s.sql, 'arweave', id), undefined);
      s.rate.wincPerUnit = 3n;
      s.says({ state: 'reverted', transfer: paid });
      assert.deepEqual([(await s.report()).failure_reason, s.told], ['reverted', ['failed reverted']]);
      assert.equal((await s.row()).ended_at, s.time.now);
    });

    it('that is just sent is waited for, longer each time', async () => {
      const s = await setUp(open, { attempts: 4 });
      await assert.rejects(s.report(), refused('not-found'));
      assert.deepEqual([s.outside.lookups, s.pauses], [4, [10, 20, 25]]);
      s.says({ state: 'unreadable' });
      await assert.rejects(s.report(), refused('not-mined'));
      s.outside.chainDown = true;
      await assert.rejects(s.report(), ChainUnavailable);
      s.outside.chainDown = false;
      s.says({ state: 'not-known', cause: new Error('away') });
      await assert.rejects(s.report(), ChainUnavailable);
      s.outside.lookups = 0;
      s.says({ state: 'confirmed', transfer: paid });
      await s.report();
      assert.equal(s.outside.lookups, 1);
    });

    it('is looked for once for all who ask at the same time, and again for who asks later', async () => {
      const s = await setUp(open);
      const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
      s.outside.slow = held;
      s.says({ state: 'pending', transfer: paid });
      const asking = [
        s.report(),
        s.report(),
        s.payments.report('arweave', id, { client: '198.51.100.7' }),
        s.payments.find(id, client),
        s.payments.takeIn('arweave', id),
      ];
      while (s.outside.lookups === 0) await new Promise(setImmediate);
      letGo();
      const found = await Promise.all(asking);
      assert.ok(found.every((row) => row?.state === 'pending'));
      assert.equal(s.outside.lookups, 1);
      // The same for one that is stored; over a network the second may ask when the first has its answer.
      s.time.now += 2_000;
      await Promise.all(engine === 'sqlite' ? [s.report(), s.report()] : [s.report()]);
      assert.equal(s.outside.lookups, 2);
      s.time.now += minute;
      await s.report();
      assert.equal(s.outside.lookups, 3);
    });

    it('that is found costs its reporter nothing of what may be unknown', async () => {
      const s = await setUp(open, { lookUpsPerMinute: 1 });
      s.says({ state: 'confirmed', transfer: paid });
      await s.report();
      const unknown = 'U'.repeat(43);
      await assert.rejects(s.payments.report('arweave', unknown, client), refused('not-found'));
      await assert.rejects(s.payments.report('arweave', unknown, client), refused('too-many-unknown'));
      await assert.rejects(s.payments.find(unknown, client), refused('too-many-unknown'));
      await assert.rejects(
        s.payments.report('arweave', unknown, { client: '198.51.100.7' }),
        refused('not-found'),
      );
      assert.equal((await s.payments.find(id, client)).state, 'credited', 'what is stored takes nothing');
    });

    it('that failed is looked for again by reports as often as an unknown one', async () => {
      const s = await setUp(open, { lookUpsPerMinute: 2 });
      await insertRow(s.sql, {
        ...{
          ...aChainPayment,
          transaction_id: id,
          state: 'failed',
          failure_reason: 'not_found',
          ended_at: 1,
        },
        ...{ checked_at: 0, next_check_at: s.time.now + 60 * minute },
      });
      for (const lookups of [1, 2, 2]) {
        assert.equal((await s.report()).state, 'failed');
        assert.equal(s.outside.lookups, lookups, 'as many as may be unknown');
        s.time.now += 2_001;
      }
      s.time.now += 2 * minute;
      s.says({ state: 'confirmed', transfer: paid });
      assert.equal((await s.report()).state, 'credited');
    });

    it('is taken in without a report, once', async () => {
      const s = await setUp(open);
      assert.equal(await s.payments.takeIn('dogecoin', id), undefined);
      assert.equal(await s.payments.takeIn('arweave', 'x'), undefined);
      assert.equal(await s.payments.takeIn('arweave', id), undefined);
      s.says({ state: 'confirmed', transfer: paid });
      assert.equal((await s.payments.takeIn('arweave', id))?.state, 'credited');
      assert.equal((await s.payments.takeIn('arweave', id))?.state, 'credited');
      assert.equal(await s.balance(), 300n);
      s.outside.chainDown = true;
      await assert.rejects(s.payments.takeIn('arweave', 'V'.repeat(43)), ChainUnavailable);
    });

    it('is found by its id alone on whichever chain it is, and the refusal that says most is told', async () => {
      const s = await setUp(open);
      const hash = `0x${'ab'.repeat(32)}`;
      await assert.rejects(s.payments.find('x', client), refused('not-found'));
      await assert.rejects(s.payments.find(hash, client), refused('not-found'));
      assert.equal(s.outside.lookups, 2, 'two names of one coin are one way to read it');
      for (const name of ['matic', 'pol']) {
        s.outside.lookups = 0;
        await assert.rejects(s.payments.find(hash, client, name), refused('not-found'));
        assert.equal(s.outside.lookups, 1, `it is looked for by the name ${name}`);
      }
      s.outside.lookups = 2;
      await assert.rejects(s.payments.find(hash, client, 'arweave'), refused('not-found'));
      assert.equal(s.outside.lookups, 2);
      const onPolygon = { ...paid, recipient: serviceWallets.ethereum, sender: serviceWallets.ethereum };
      const say = (chain: string, transaction: ChainTransaction) =>
        s.outside.transactions.set(`${chain} ${hash}`, transaction);
      say('polygon', { state: 'unreadable' });
      await assert.rejects(s.payments.find(hash, client), refused('not-mined'));
      say('polygon-usdc', { state: 'confirmed', transfer: { ...onPolygon, quantity: 0n } });
      await assert.rejects(s.payments.find(hash, client), refused('nothing-moved'));
      say('polygon', { state: 'confirmed', transfer: paid });
      await assert.rejects(s.payments.find(hash, client), refused('wrong-target'));
      say('polygon-usdc', { state: 'confirmed', transfer: { ...onPolygon, sender: other } });
      await assert.rejects(s.payments.find(hash, client), refused('excluded-sender'));
      s.outside.chainDown = 'polygon-usdc';
      await assert.rejects(s.payments.find(hash, client), refused('wrong-target'), 'that is certain');
      s.outside.chainDown = false;
      s.outside.transactions.delete(`polygon ${hash}`);
      s.outside.chainDown = 'polygon-usdc';
      await assert.rejects(s.payments.find(hash, client), ChainUnavailable, 'it may be there');
      s.outside.chainDown = false;
      say('polygon-usdc', {
        state: 'confirmed',
        transfer: { ...onPolygon, destination: serviceWallets.formerArweave },
      });
      const found = await s.payments.find(hash, client);
      assert.deepEqual(
        [found.token, found.chain, found.destination, found.destination_type],
        ['polygon-usdc', 'polygon', serviceWallets.formerArweave, 'arweave'],
      );
      assert.equal((await s.payments.find(hash, client)).state, 'credited');
    });

    it('on one chain is looked at while another is away, which is asked once in a run', async () => {
      const s = await setUp(open);
      const hashes = [1, 2, 3].map((n) => `0x${String(n).repeat(64)}`);
      const onPolygon = { ...paid, recipient: serviceWallets.ethereum, sender: serviceWallets.ethereum };
      for (const hash of hashes) {
        s.outside.transactions.set(`polygon ${hash}`, { state: 'pending', transfer: onPolygon });
        await s.payments.report('matic', hash, client);
        s.time.now += 1;
      }
      s.says({ state: 'pending', transfer: paid });
      await s.report();
      s.says({ state: 'confirmed', transfer: paid });
      s.outside.chainDown = 'polygon';
      s.outside.lookups = 0;
      await assert.rejects(s.check(), /^AggregateError: cannot ask polygon$/);
      assert.equal(await s.balance(), 300n);
      const rows = await Promise.all(hashes.map((hash) => readRow(s.sql, 'polygon', hash)));
      assert.ok(rows.every((row) => row?.checks === 2 && row.state === 'pending'));
      s.outside.chainDown = false;
      // A token that is not taken any more is read as another of its chain.
      s.tokens.delete('matic');
      for (const hash of hashes)
        s.outside.transactions.set(`polygon ${hash}`, { state: 'confirmed', transfer: onPolygon });
      s.time.now += 60 * minute;
      assert.equal(await s.payments.checkPending(), 3);
      assert.equal(await s.balance(serviceWallets.ethereum), 900n);
    });

    it('of a chain that is not read any more waits', async () => {
      const s = await setUp(open);
      s.says({ state: 'pending', transfer: paid });
      await s.report();
      s.tokens.clear();
      assert.equal(await s.check(), 0);
      assert.deepEqual([(await s.row()).state, (await s.row()).checks], ['pending', 2]);
    });
  });
});
