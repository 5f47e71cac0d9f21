import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { AccountReads } from './account-reads.ts';
import { give, lend, openTestLedger } from './testing.ts';

forEachEngine((_engine, open) => {
  describe('accounts that are asked for together', () => {
    it('are read by one statement, and each is given its own', async (t) => {
      const { sql, credits, clock } = await openTestLedger(open);
      for (const name of ['alice', 'bob', 'carol']) await give(credits, name, 100n);
      await lend(credits, 'alice', 'bob', 10n, 'never expires');
      clock.now += 1;
      await lend(credits, 'alice', 'bob', 20n, 'expires later', 60);
      await lend(credits, 'alice', 'carol', 5n, 'expires first', 30);
      const all = t.mock.method(sql, 'all');
      const reads = new AccountReads(sql);
      const names = ['alice', 'bob', 'carol', 'nobody', 'alice'];
      const read = await Promise.all(names.map((name) => reads.read(name)));
      assert.equal(all.mock.callCount(), 1);
      assert.deepEqual(
        read.map(({ own, approvals }) => [own, approvals.map(({ id }) => id)]),
        [
          [65n, ['expires first', 'expires later', 'never expires']],
          [100n, ['expires later', 'never expires']],
          [100n, ['expires first']],
          [undefined, []],
          [65n, ['expires first', 'expires later', 'never expires']],
        ],
      );
      assert.equal((await reads.read('bob')).own, 100n);
      assert.equal(all.mock.callCount(), 2, 'later is another turn');
    });

    it('see what was committed before they were asked for', async () => {
      const { sql, credits } = await openTestLedger(open);
      const reads = new AccountReads(sql);
      const before = reads.read('dora');
      await give(credits, 'dora', 7n);
      assert.equal((await reads.read('dora')).own, 7n);
      await before;
    });

    it('are any number', async () => {
      const { sql, credits } = await openTestLedger(open);
      const names = Array.from({ length: 70 }, (_, at) => `wallet ${at}`);
      for (const [at, name] of names.entries()) await give(credits, name, BigInt(at + 1));
      const reads = new AccountReads(sql);
      const read = await Promise.all(names.map((name) => reads.read(name)));
      assert.deepEqual(
        read.map(({ own }) => own),
        names.map((_, at) => BigInt(at + 1)),
      );
    });

    it('fail alone where one has a broken row, and together where they cannot be read', async () => {
      const { sql, credits } = await openTestLedger(open);
      for (const name of ['erin', 'frank']) await give(credits, name, 9n);
      await lend(credits, 'erin', 'somebody', 1n, 'broken');
      const broken = {
        engine: sql.engine,
        get: sql.get.bind(sql),
        all: async <T>(...asked: Parameters<typeof sql.all>): Promise<T[]> => {
          const rows = await sql.all<T & { id: unknown }>(...asked);
          return rows.map((row) => (row.id === 'broken' ? { ...row, amount: 'much' } : row));
        },
      };
      const reads = new AccountReads(broken);
      const [erin, frank] = await Promise.allSettled([reads.read('erin'), reads.read('frank')]);
      assert.match(String(erin.status === 'rejected' && erin.reason), /an approval has another shape/);
      assert.equal(frank.status === 'fulfilled' && frank.value.own, 9n);
      await sql.close();
      const gone = new AccountReads(sql);
      for (const { status } of await Promise.allSettled([gone.read('erin'), gone.read('frank')])) {
        assert.equal(status, 'rejected');
      }
    });
  });
});
