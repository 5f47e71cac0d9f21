/** Turns of the bundler: how much is worked on at once, what is done how often, and what is left when it stops. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { createCredits } from '../../credits/ledger/ledger.ts';
import { Metrics } from '../../kernel/metrics.ts';
import { rememberingLog } from '../../kernel/testing.ts';
import { ArweaveNodes } from '../../outside/arweave/nodes.ts';
import { DiskBlobStore } from '../../storage/blobs/disk/store.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { forEachEngine, type OpenForTest } from '../../storage/sql/testing.ts';
import { testArweaveKey } from '../../wallets/testing/keys.ts';
import { PayloadHashes } from '../hashing/payload-hash.ts';
import { createUploadMetrics } from '../metrics.ts';
import { testMigrations } from '../testing.ts';
import { Bundler } from './bundler.ts';
import { storeItems, watchedSql } from './testing.ts';

const hashes = new PayloadHashes(1);

/** Nodes that know no price, as soon as they are let answer. */
class SilentNodes extends ArweaveNodes {
  heights = 0;
  asked = 0;
  most = 0;
  #now = 0;
  answer: Promise<void> = Promise.resolve();

  constructor() {
    super([]);
  }
  override async height(): Promise<number> {
    this.heights += 1;
    return 2_000_000;
  }
  override async price(): Promise<bigint> {
    this.asked += 1;
    this.#now += 1;
    this.most = Math.max(this.most, this.#now);
    await this.answer;
    this.#now -= 1;
    throw new Error('no price');
  }
  override async balance(): Promise<bigint> {
    return 0n;
  }
  override async anchor() {
    return { anchor: Buffer.alloc(48), height: 1 };
  }
}

interface Made {
  readonly items?: number;
  readonly maxWaitMs?: number;
  readonly maxItems?: number;
  readonly pollMs?: number;
  /** The database as the bundler sees it. */
  readonly seen?: (sql: Sql) => Sql;
}

/** Items that wait, each for a bundle of its own, and a bundler that does nothing by itself. */
async function waiting(t: TestContext, open: OpenForTest, made: Made = {}) {
  const sql = await open(testMigrations);
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-turns-'));
  const blobs = await DiskBlobStore.open({ folder });
  t.after(async () => {
    await blobs.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const payloads = Array.from({ length: made.items ?? 1 }, (_, n) => Buffer.from(`item ${n}`));
  await storeItems({ sql, blobs }, payloads);
  const nodes = new SilentNodes();
  const registry = new Metrics();
  const { log, lines } = rememberingLog('debug');
  const time = { now: 1_000_000 };
  const now = () => time.now;
  const metrics = createUploadMetrics(registry, { disk: { freeBytes: 1, reservedBytes: 0, isLow: false } });
  const make = () =>
    new Bundler({
      ...{
        sql: made.seen?.(sql) ?? sql,
        blobs,
        nodes,
        log,
        now,
        hashes,
        wallet: testArweaveKey,
        confirmations: 3,
      },
      ...{ pollMs: made.pollMs ?? 100, chunkConcurrency: 2, concurrency: 2, metrics },
      limits: { maxItems: made.maxItems ?? 1, targetBytes: 1e9, maxWaitMs: made.maxWaitMs ?? 0 },
      retentionMs: 50,
      credits: createCredits({ sql, now }),
    });
  return {
    ...{ sql, nodes, lines, time, make, bundler: make() },
    gauge: async (name: string) =>
      Number(new RegExp(`^${name} (.*)$`, 'm').exec(await registry.text())?.[1] ?? Number.NaN),
    attempts: async () =>
      (await sql.all<{ attempts: number }>('SELECT attempts FROM upload_bundles')).map((row) => row.attempts),
    holders: async () => (await sql.all('SELECT plan FROM upload_bundles WHERE holder IS NOT NULL')).length,
  };
}

describe('the bundler', () => {
  forEachEngine((_engine, open) => {
    it('works on so many bundles at once, on each that is due, and gives each back', async (t) => {
      const { bundler, nodes, attempts, holders, gauge } = await waiting(t, open, { items: 5 });
      const { promise, resolve } = Promise.withResolvers<void>();
      nodes.answer = promise;
      const turn = bundler.turn();
      await eventually('two to be asked for', () => nodes.asked === 2);
      const [report] = bundler.reports();
      assert.deepEqual([report?.state, report?.stuck], ['running', false]);
      assert.ok(Math.abs(Date.now() - (report?.lastStartedAt ?? 0)) < 60_000);
      assert.equal(await holders(), 2);
      resolve();
      await turn;
      assert.deepEqual([nodes.asked, nodes.most], [5, 2]);
      assert.deepEqual(await attempts(), [1, 1, 1, 1, 1]);
      assert.equal(await holders(), 0);
      assert.equal(bundler.reports()[0]?.state, 'waiting');
      assert.deepEqual([await gauge('upload_items_waiting'), await gauge('upload_bundles_waiting')], [5, 5]);
      await bundler.stop();
    });

    it('counts what waits once a second, and tidies once a minute', async (t) => {
      const { sql, bundler, nodes, time, gauge } = await waiting(t, open, {
        ...{ items: 3, maxItems: 9, maxWaitMs: 1e12 },
      });
      const held = async () => (await sql.all('SELECT id FROM upload_items WHERE held = 1')).length;
      const blobs = async () => (await sql.all('SELECT digest FROM upload_blobs')).length;
      const set = (columns: string) =>
        sql.run(
          `UPDATE upload_items SET ${columns} WHERE id = (SELECT MIN(id) FROM upload_items WHERE held = 1)`,
        );
      await bundler.turn();
      assert.deepEqual([await gauge('upload_items_waiting'), await gauge('upload_items_overdue')], [3, 3]);
      await set("state = 'permanent', permanent_at = 1");
      await sql.run(
        'INSERT INTO upload_blobs (digest, uses, notes, deleting, changed_at) VALUES (?, 0, 0, 0, 0)',
        'a'.repeat(64),
      );
      time.now += 999;
      await bundler.turn();
      assert.equal(await gauge('upload_items_waiting'), 3);
      time.now += 1;
      await bundler.turn();
      assert.equal(await gauge('upload_items_waiting'), 2);
      assert.deepEqual([await held(), await gauge('upload_items_overdue'), nodes.heights], [3, 3, 1]);
      time.now = 1_060_000 - 1;
      await bundler.turn();
      assert.deepEqual([await held(), await blobs(), nodes.heights], [3, 1, 1]);
      time.now += 1;
      await bundler.turn();
      assert.deepEqual([await held(), await gauge('upload_items_overdue'), nodes.heights], [2, 2, 2]);
      assert.equal(await blobs(), 0);
      await bundler.stop();
    });

    it('closes bundles in one process alone; in the others it works on what was closed', async (t) => {
      const { sql, make, nodes, attempts } = await waiting(t, open, { items: 2 });
      const [one, other] = [make(), make()];
      await sql.run("UPDATE upload_items SET state = 'failed' WHERE received_at = 1");
      await one.turn();
      await sql.run('UPDATE upload_bundles SET due_at = 1');
      await sql.run("UPDATE upload_items SET state = 'new' WHERE received_at = 1");
      await other.turn();
      assert.deepEqual(await attempts(), [2], 'it closes none');
      assert.equal(nodes.asked, 2);
      await one.stop();
      await other.turn();
      assert.deepEqual((await attempts()).sort(), [1, 2], 'the other has stopped');
      await other.stop();
    });

    it('says what fails a turn, but for a turn that went to another process', async (t) => {
      let fails = false;
      let looks = 0;
      const { bundler, sql, lines } = await waiting(t, open, {
        pollMs: 5,
        seen: (real) =>
          watchedSql(real, async (method) => {
            if (method !== 'all') return;
            looks += 1;
            if (fails) throw new Error('a full disk');
            await real.run("UPDATE upload_leases SET holder = 'another'");
          }),
      });
      const failures = () => lines.filter(({ msg }) => msg === 'the bundler failed a turn').length;
      bundler.start();
      await eventually('another turn', () => looks > 1);
      assert.deepEqual([failures(), await sql.all('SELECT plan FROM upload_bundles')], [0, []]);
      fails = true;
      await eventually('it to be said', () => failures() > 0);
      await bundler.stop();
    });

    it('goes on with what waits as soon as there is room, and not only at the next look', async (t) => {
      const { bundler, nodes, attempts } = await waiting(t, open, { items: 6, pollMs: 3_600_000 });
      const { promise, resolve } = Promise.withResolvers<void>();
      nodes.answer = promise;
      bundler.start();
      await eventually(
        'two to be asked for, and all to be closed',
        () => nodes.asked === 2 && nodes.heights === 1,
      );
      resolve();
      await eventually('all to be asked for', () => nodes.asked === 6);
      await bundler.stop();
      assert.equal(nodes.most, 2);
      assert.equal((await attempts()).length, 6);
    });

    it('keeps what it works on, and its place, for as long as it is at it', async (t) => {
      t.mock.timers.enable({ apis: ['setInterval'] });
      const { bundler, nodes, sql } = await waiting(t, open, { pollMs: 10_000 });
      const { promise, resolve } = Promise.withResolvers<void>();
      nodes.answer = promise;
      bundler.start();
      await eventually('it to be worked on', () => nodes.asked === 1 && nodes.heights === 1);
      const until = async () => {
        const [bundle, place] = [
          await sql.get<{ held_until: number }>('SELECT held_until FROM upload_bundles'),
          await sql.get<{ until: number }>("SELECT until FROM upload_leases WHERE name = 'bundler'"),
        ];
        return [bundle?.held_until ?? 0, place?.until ?? 0] as const;
      };
      await sql.run('UPDATE upload_bundles SET held_until = held_until - 5000');
      await sql.run('UPDATE upload_leases SET until = until - 5000');
      const [bundle, place] = await until();
      // Two times before nine seconds are over.
      t.mock.timers.tick(3_000);
      await eventually('both to be renewed', async () => {
        const [later, placeLater] = await until();
        return later >= bundle + 5_000 && placeLater >= place + 5_000;
      });
      resolve();
      await bundler.stop();
    });

    it('that stopped looks no more', async (t) => {
      let looks = 0;
      const { bundler } = await waiting(t, open, {
        ...{ pollMs: 5, maxItems: 9, maxWaitMs: 1e12 },
        seen: (real) =>
          watchedSql(real, async () => {
            looks += 1;
          }),
      });
      bundler.start();
      await eventually('a look', () => looks > 0);
      await bundler.stop();
      const before = looks;
      // Of two timers of one process the longer, set later, comes later.
      await new Promise((resolve) => setTimeout(resolve, 25));
      assert.equal(looks, before);
    });

    it('that stops ends what it is at, begins nothing and leaves its place to others', async (t) => {
      const { make, nodes, sql, attempts, holders } = await waiting(t, open, { items: 4 });
      const { promise, resolve } = Promise.withResolvers<void>();
      nodes.answer = promise;
      const bundler = make();
      bundler.start();
      await eventually(
        'two to be asked for, and all to be closed',
        () => nodes.asked === 2 && nodes.heights === 1,
      );
      let isStopped = false;
      const stopped = bundler.stop().then(() => {
        isStopped = true;
      });
      // What is written later than its place would have been left.
      for (let n = 0; n < 20; n += 1) await sql.run('UPDATE upload_leases SET until = until');
      assert.equal(isStopped, false);
      assert.equal(await holders(), 2);
      resolve();
      await stopped;
      assert.equal(nodes.asked, 2);
      assert.equal(await holders(), 0);
      assert.deepEqual(new Set(await attempts()), new Set([0]), 'what was called off is no failure');
      assert.deepEqual(await sql.all("SELECT name FROM upload_leases WHERE name = 'bundler'"), []);
    });

    it('is stuck where a bundle takes more than two hours', async (t) => {
      const { bundler, nodes } = await waiting(t, open);
      const { promise, resolve } = Promise.withResolvers<void>();
      nodes.answer = promise;
      t.mock.timers.enable({ apis: ['Date'], now: 1_700_000_000_000 });
      const turn = bundler.turn();
      await eventually('it to be worked on', () => nodes.asked === 1);
      const isStuck = () => bundler.reports()[0]?.stuck;
      t.mock.timers.tick(2 * 3_600_000);
      assert.equal(isStuck(), false);
      t.mock.timers.tick(1);
      assert.equal(isStuck(), true);
      resolve();
      await turn;
      assert.equal(isStuck(), false);
      await bundler.stop();
    });

    it('says at once what failed while a bundle was worked on', async (t) => {
      let fails = false;
      const { bundler, nodes, lines } = await waiting(t, open, {
        pollMs: 3_600_000,
        seen: (real) =>
          watchedSql(real, async (method) => {
            if (method === 'transaction' && fails) throw new Error('a full disk');
          }),
      });
      const { promise, resolve } = Promise.withResolvers<void>();
      nodes.answer = promise;
      bundler.start();
      await eventually('all else to be done', () => nodes.asked === 1 && nodes.heights === 1);
      fails = true;
      resolve();
      await eventually('it to be said', () => lines.some(({ msg }) => msg === 'the bundler failed a turn'));
      await bundler.stop();
    });

    it('tells a failure of the database while a bundle was worked on', async (t) => {
      let fails = false;
      const { bundler, holders, nodes } = await waiting(t, open, {
        seen: (real) =>
          watchedSql(real, async (method) => {
            if (method === 'transaction' && fails) throw new Error('a full disk');
          }),
      });
      const { promise, resolve } = Promise.withResolvers<void>();
      nodes.answer = promise;
      const turn = bundler.turn();
      await eventually('all else to be done', () => nodes.asked === 1 && nodes.heights === 1);
      fails = true;
      resolve();
      await assert.rejects(turn, /a full disk/);
      await bundler.stop();
      assert.equal(await holders(), 0, 'others may try it');
    });
  });
});
