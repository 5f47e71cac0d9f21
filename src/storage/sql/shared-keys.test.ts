import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SharedKeys, sharedKeysMigrations } from './shared-keys.ts';
import { forEachEngine } from './testing.ts';

const keys = (wallet: string, secret: string) =>
  new Map([
    ['SERVICE_WALLET_FILE', wallet],
    ['JWT_SECRET', secret],
  ]);

describe('keys that processes share', () => {
  forEachEngine((_engine, open) => {
    it('are refused where others that run have them otherwise, and then change nothing', async () => {
      const sql = await open(sharedKeysMigrations);
      const [one, two, three] = [new SharedKeys(sql), new SharedKeys(sql), new SharedKeys(sql)];
      assert.deepEqual(await one.claim(keys('wallet', 'secret')), []);
      assert.deepEqual(await two.claim(keys('wallet', 'secret')), []);
      const before = await sql.all('SELECT * FROM shared_keys ORDER BY process, name');
      assert.deepEqual(await three.claim(keys('wallet', 'another')), ['JWT_SECRET']);
      assert.deepEqual(await three.claim(keys('other', 'another')), ['JWT_SECRET', 'SERVICE_WALLET_FILE']);
      assert.deepEqual(await sql.all('SELECT * FROM shared_keys ORDER BY process, name'), before);
      assert.deepEqual(await three.claim(new Map([['ADMIN_TOKEN', 'only here']])), []);
      const stored = JSON.stringify(await sql.all('SELECT * FROM shared_keys'));
      for (const key of ['wallet', 'secret', 'only here']) assert.ok(!stored.includes(`"${key}"`));
    });

    it("are each process's own: changed where no other has them, and given up alone", async () => {
      const sql = await open(sharedKeysMigrations);
      const [one, two] = [new SharedKeys(sql), new SharedKeys(sql)];
      assert.deepEqual(await one.claim(keys('wallet', 'old')), []);
      assert.deepEqual(await one.claim(keys('wallet', 'new')), [], 'nobody else has the old ones');
      assert.deepEqual(await two.claim(keys('wallet', 'new')), []);
      await two.release();
      assert.deepEqual(
        await two.claim(keys('wallet', 'other')),
        ['JWT_SECRET'],
        'those of the first are there',
      );
      assert.deepEqual(await one.renew(), []);
      const lives = await sql.all<{ until: number }>('SELECT DISTINCT until FROM shared_keys');
      assert.equal(lives.length, 1, 'renewed together');
      // Renewing is for the own keys alone.
      assert.deepEqual(await two.claim(new Map([['ADMIN_TOKEN', 'token']])), []);
      await sql.run("UPDATE shared_keys SET until = 1 WHERE name = 'ADMIN_TOKEN'");
      assert.deepEqual(await one.renew(), []);
      assert.deepEqual(await sql.all("SELECT until FROM shared_keys WHERE name = 'ADMIN_TOKEN'"), [
        { until: 1 },
      ]);
    });

    it('may be changed once nobody runs with the old ones, also where they died with a clock that was ahead', async () => {
      const sql = await open(sharedKeysMigrations);
      const [one, two, three, four] = Array.from({ length: 4 }, () => new SharedKeys(sql));
      assert.deepEqual(await one?.claim(keys('w', 'old')), []);
      assert.deepEqual(await two?.claim(keys('w', 'new')), ['JWT_SECRET']);
      await one?.release();
      assert.deepEqual(await two?.claim(keys('w', 'new')), []);
      // It died, and its clock was two hours ahead.
      await sql.run('UPDATE shared_keys SET until = until + 7200000');
      assert.deepEqual(await three?.claim(keys('w', 'newer')), []);
      assert.deepEqual(await two?.renew(), ['JWT_SECRET'], 'one that only slept is told');
      assert.deepEqual(await three?.renew(), []);
      await sql.run('UPDATE shared_keys SET until = 0');
      assert.deepEqual(await four?.claim(keys('w', 'newest')), []);
    });
  });
});
