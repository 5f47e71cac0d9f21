import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { namesLedgerMigrations } from '../../../test/support/names-bench.ts';
import { toldWallets } from '../../events/testing-wallets.ts';
import { silentLog } from '../../kernel/testing.ts';
import { wallet } from '../../localnet/solana/testing.ts';
import { ChainUnavailable } from '../../registry/errors.ts';
import { forEachEngine, type OpenForTest } from '../../storage/sql/testing.ts';
import { Locks } from '../locks.ts';
import { writeReceipt } from '../receipts.ts';
import { type LeaseDeps, tellLapsing, watchLease } from './leases.ts';

const day = 86_400_000;
const start = Date.UTC(2026, 0, 1);
const owner = wallet('lease owner').address;
const other = wallet('next owner').address;
const service = wallet('service').address;
const token = wallet('token').address;

/** A chain with one name, whose every word the test chooses, and a service that bought it a day before. */
async function bench(open: OpenForTest) {
  const sql = await open(namesLedgerMigrations);
  const lease = { ant: token, end: (start + 365 * day) / 1_000 };
  const state = { now: start, away: false, lease: lease as Partial<typeof lease> | undefined, owner };
  const registry = {
    name: async () => {
      if (state.away) throw new ChainUnavailable('away');
      return { record: state.lease, returned: undefined, reserved: undefined };
    },
    ant: async () => ({ owner: state.owner }),
  } as unknown as LeaseDeps['registry'];
  const process = () => ({
    ...{ sql, registry, service, log: silentLog, now: () => state.now },
    locks: new Locks(sql, { leaseMs: 60_000 }),
  });
  await sql.transaction((tx) => watchLease(tx, 'my-name', true, start));
  const deps = process();
  return {
    sql,
    state,
    lease,
    process,
    /** Looks on a day after the purchase, twice; answers all that was told by then. */
    async on(days: number) {
      state.now = start + days * day;
      await tellLapsing(deps);
      await tellLapsing(deps);
      return (await toldWallets(sql)).map(({ wallet: to, type, data }) => [to, type, data.daysLeft]);
    },
  };
}

forEachEngine((_engine, open) => {
  describe('leases that end', () => {
    it('are told 30, 7 and 1 days before, and after the days of grace, once each', async () => {
      const { on, sql } = await bench(open);
      assert.deepEqual(await on(2), []);
      assert.deepEqual(await on(334), []);
      const all = [
        [owner, 'name.lapsing', 30],
        [owner, 'name.lapsing', 7],
        [owner, 'name.lapsing', 1],
        [owner, 'name.lapsed', undefined],
      ];
      assert.deepEqual(await on(335), all.slice(0, 1));
      assert.deepEqual(await on(357), all.slice(0, 1));
      assert.deepEqual(await on(358), all.slice(0, 2));
      assert.deepEqual(await on(364), all.slice(0, 3));
      assert.deepEqual(await on(378), all.slice(0, 3), 'in grace');
      assert.deepEqual(await on(379), all);
      assert.deepEqual(await on(800), all);
      assert.deepEqual(await sql.all('SELECT name FROM arns_leases'), [], 'nobody looks any more');
    });

    it('that were extended begin anew, and days that nobody looked on are passed over', async () => {
      const { on, state, lease } = await bench(open);
      assert.deepEqual(await on(359), [[owner, 'name.lapsing', 6]]);
      state.lease = { ...lease, end: lease.end + (365 * day) / 1_000 };
      assert.equal((await on(364)).length, 1);
      assert.deepEqual((await on(730 - 30)).slice(1), [[owner, 'name.lapsing', 30]]);
    });

    it('are told to whom the name belongs now, of a kept token to its buyer', async () => {
      const { on, state, sql } = await bench(open);
      assert.equal((await on(335)).length, 1);
      state.owner = other;
      assert.deepEqual((await on(358)).at(-1), [other, 'name.lapsing', 7]);
      await sql.transaction((tx) =>
        writeReceipt(tx, {
          ...{ reference: 'r', name: 'my-name', antId: token, intent: 'Buy-Name', payer: 'the buyer' },
          ...{ custody: 'buyer', purchasedAt: start },
        }),
      );
      state.owner = service;
      assert.deepEqual((await on(364)).at(-1), ['the buyer', 'name.lapsing', 1]);
      state.lease = { ...state.lease, ant: wallet('another token').address };
      assert.deepEqual((await on(380)).at(-1), ['the buyer', 'name.lapsed', undefined]);
    });

    it('are not told of names that are permanent or gone, and wait for a chain that is away', async () => {
      const permanent = await bench(open);
      permanent.state.lease = { ant: token };
      assert.deepEqual(await permanent.on(2), []);
      assert.deepEqual(await permanent.sql.all('SELECT name FROM arns_leases'), []);
      const gone = await bench(open);
      assert.deepEqual(await gone.on(2), []);
      gone.state.lease = undefined;
      assert.deepEqual(await gone.on(336), []);
      const away = await bench(open);
      away.state.away = true;
      assert.deepEqual(await away.on(335), []);
      away.state.away = false;
      assert.deepEqual(await away.on(335.5), [[owner, 'name.lapsing', 30]]);
    });

    it('are told once by several processes that look at the same moment', async () => {
      const { state, sql, process } = await bench(open);
      state.now = start + 335 * day;
      const looks = await Promise.all(Array.from({ length: 6 }, () => tellLapsing(process())));
      assert.equal(
        looks.reduce((sum, told) => sum + told, 0),
        1,
      );
      assert.equal((await toldWallets(sql)).length, 1);
    });
  });
});
