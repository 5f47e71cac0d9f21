import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { sinceDays } from './account-use.ts';
import { give, lend, openTestLedger, upload } from './testing.ts';

const day = 86_400_000;

forEachEngine((_engine, open) => {
  describe('what a wallet has used', () => {
    it('is told by day, with what others used of it, and nothing that is older', async () => {
      const { credits, clock } = await openTestLedger(open);
      const first = clock.now;
      await give(credits, 'alice', 1_000n);
      await give(credits, 'carol', 1_000n);
      await lend(credits, 'alice', 'bob', 100n, 'a');
      await lend(credits, 'carol', 'bob', 100n, 'c');
      await credits.spend(upload('alice', 1n, 'old'));
      clock.now = first + day;
      await credits.spend(upload('alice', 10n, 'one'));
      await credits.spend({ ...upload('alice', 5n, 'name'), reason: 'arns_action' });
      clock.now = first + 2 * day;
      await credits.spend(upload('alice', 20n, 'two'));
      await credits.refund('upload', 'two');
      await credits.spend(upload('alice', 3n, 'three'));
      await credits.spend({ ...upload('alice', 2n, 'back'), reason: 'payment_return' });
      await credits.spend(upload('bob', 7n, 'four', { paidBy: ['alice'] }));
      await credits.spend(upload('bob', 50n, 'five', { paidBy: ['carol'] }));
      const { days, complete } = await credits.spendingByDay('alice', 2);
      assert.equal(complete, true);
      assert.deepEqual(days, [
        { date: '2026-01-03', winc: 10n, uploads: 3n, names: 0n, byOthers: 7n },
        { date: '2026-01-02', winc: 15n, uploads: 10n, names: 5n, byOthers: 0n },
      ]);
      assert.equal((await credits.spendingByDay('alice', 3)).days.length, 3);
      assert.deepEqual((await credits.spendingByDay('bob', 3)).days, []);
    });

    it('is read to its end, however many entries there are', async () => {
      const { sql, credits, clock } = await openTestLedger(open);
      await give(credits, 'alice', 1n);
      const rows = Array.from(
        { length: 5_001 },
        (_, n) => `('alice', '-1', 'upload', 'i${n}', 0, ${clock.now})`,
      );
      await sql.run(
        `INSERT INTO credits_entries (account, amount, reason, change_id, line, created_at) VALUES ${rows.join(', ')}`,
      );
      const { days, complete } = await credits.spendingByDay('alice', 1);
      assert.deepEqual([days[0]?.uploads, complete], [5_001n, true]);
    });

    it('holds what is reserved, the newest first, and says how many there are', async () => {
      const { credits, clock } = await openTestLedger(open);
      await give(credits, 'alice', 100n);
      await give(credits, 'bob', 100n);
      await credits.reserve(upload('bob', 9n, 'theirs'));
      await credits.spend(upload('alice', 1n, 'spent'));
      for (const n of [1, 2, 3]) {
        clock.now += 1_000;
        await credits.reserve(upload('alice', BigInt(n), `held ${n}`));
      }
      const { holds, count } = await credits.holds('alice', 2);
      assert.equal(count, 3);
      assert.deepEqual(
        holds.map(({ id, amount }) => [id, amount]),
        [
          ['held 3', 3n],
          ['held 2', 2n],
        ],
      );
    });
  });
});

it('so many days end today', () => {
  const noon = Date.UTC(2026, 0, 3, 12);
  assert.equal(sinceDays(1, noon), Date.UTC(2026, 0, 3));
  assert.equal(sinceDays(3, noon), Date.UTC(2026, 0, 1));
});
