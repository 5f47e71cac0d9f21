/**
 * The index with its stable items in a real ClickHouse: the same answers as from SQL alone, page by page, wherever the
 * border is and whatever moves meanwhile; and nothing lost or doubled by crashes of either side.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { tellFinal } from '../../src/gateway/chain-index/finality.ts';
import { migrations } from '../../src/gateway/chain-index/migrations.ts';
import { SqlGatewayIndex } from '../../src/gateway/chain-index/sql-index.ts';
import { digest } from '../../src/gateway/chain-index/testing.ts';
import { GraphqlService } from '../../src/gateway/graphql/execute.ts';
import { RandomWorld } from '../../src/gateway/graphql/testing.ts';
import { ClickHouse } from '../../src/gateway/history/clickhouse.ts';
import { ClickHouseHistory } from '../../src/gateway/history/clickhouse-history.ts';
import { readExtent } from '../../src/gateway/history/extent.ts';
import { HistoryDamaged, Mover, type MoverOptions } from '../../src/gateway/history/mover.ts';
import { createStatements } from '../../src/gateway/history/tables.ts';
import { createLogger } from '../../src/kernel/log.ts';
import { Lease } from '../../src/storage/sql/lease.ts';
import { openDatabase } from '../../src/storage/sql/open.ts';
import type { Sql } from '../../src/storage/sql/sql.ts';
import { forEachEngine } from '../../src/storage/sql/testing.ts';
import { makeItem, postBundle, startAdminGateway } from '../support/admin-gateway.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { text } from '../support/local-gateway.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { type ClickHouseServer, clickHouseMissing, startClickHouse } from '../support/servers/clickhouse.ts';

const log = createLogger({ name: 'test', level: 'silent', format: 'json' });
const missing = clickHouseMissing();

describe('the history', { skip: missing }, () => {
  let server: ClickHouseServer;
  let databases = 0;
  const nextName = () => {
    databases += 1;
    return `history_${process.pid}_${databases}`;
  };
  const clients: ClickHouse[] = [];

  before(async () => {
    server = await startClickHouse();
  });
  after(async () => {
    for (const client of clients) await client.close();
    await server.stop();
  });

  async function connect(database?: string): Promise<ClickHouse> {
    const name = database ?? nextName();
    await server.ask(`CREATE DATABASE IF NOT EXISTS ${name}`);
    const client = new ClickHouse({ url: `${server.url}/${name}`, password: undefined, timeoutMs: 5_000 });
    clients.push(client);
    return client;
  }

  async function createWorld(sql: Sql, seed: number, options: Partial<MoverOptions> = {}) {
    const clickhouse = options.server ?? (await connect());
    const history = new ClickHouseHistory({ sql, server: clickhouse, cluster: options.placement?.cluster });
    let made: { index: SqlGatewayIndex; service: GraphqlService } | undefined;
    const world = new RandomWorld((now) => {
      const index = new SqlGatewayIndex(sql, now, undefined, history);
      made = { index, service: new GraphqlService(index, log) };
      return made;
    }, seededRandom(seed).fraction);
    if (made === undefined) throw new Error('no index was made');
    // Every page is several questions to a server.
    world.pages = [4, 11, 60, 1000];
    const lease = new Lease(sql, { table: 'leases', name: 'history', leaseMs: 30_000 });
    const mover = new Mover({
      ...{ sql, log, lease, server: clickhouse, afterSeconds: 0, batchItems: 24, pruneItems: 5 },
      placement: { cluster: undefined, replicaPath: undefined },
      now: () => world.now,
      ...options,
    });
    return { ...made, world, mover, lease, clickhouse };
  }

  it('is a part of a gateway, which goes on without it', async () => {
    const name = `history_${process.pid}_gateway`;
    await server.ask(`CREATE DATABASE ${name}`);
    const databaseUrl = process.env.TEST_DATABASE_URL;
    const gateway = await startAdminGateway({
      ...(databaseUrl !== undefined && { postgres: databaseUrl }),
      overrides: {
        INDEX_HISTORY_URL: `${server.url}/${name}`,
        INDEX_HISTORY_AFTER_SECONDS: '0',
        INDEX_HISTORY_TIMEOUT_MS: '2000',
      },
    });
    try {
      const data = Buffer.from('bytes of an item that moves');
      const tags = [{ name: 'Content-Type', value: 'text/plain' }];
      const items = [await makeItem({ data, tags }), await makeItem({ data: Buffer.from('another'), tags })];
      const bundle = await postBundle(gateway.stack, items);
      await text(`${gateway.stack.node.url}/mine/40`);
      const id = items[0]?.id ?? '';
      const { sql } = gateway.inside.index;
      await eventually('the bundle is indexed', async () => (await inSql(sql, [bundle])) === 1);
      await eventually(
        'the items are moved',
        async () => (await readExtent(sql)).items === 2 && (await inSql(sql, [id])) === 0,
      );

      const ask = async (query: string) => {
        const answer = await fetch(`${gateway.url}/graphql`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ query }),
        });
        return { status: answer.status, body: JSON.parse(await answer.text()) };
      };
      const found = `{ transaction(id: "${id}") { id signature tags { name value } bundledIn { id } } }`;
      const { transaction } = (await ask(found)).body.data;
      assert.equal(transaction.bundledIn.id, bundle);
      assert.notEqual(transaction.signature, '<not-found>');
      const read = await gateway.get(`/raw/${id}`);
      assert.equal(read.body, data.toString());
      assert.match(read.headers.get('content-type') ?? '', /^text\/plain/);
      const described = JSON.parse((await gateway.get(`/tx/${id}`)).body);
      assert.equal(described.signature, transaction.signature);

      await server.kill();
      assert.equal((await gateway.get(`/raw/${id}`)).body, data.toString());
      assert.equal(JSON.parse((await gateway.get(`/tx/${id}`)).body).signature, transaction.signature);
      const list = `{ transactions(sort: HEIGHT_ASC, bundledIn: ["${bundle}"]) { edges { node { id } } } }`;
      const refused = await ask(list);
      assert.equal(refused.status, 503);
      assert.equal(refused.body.errors[0].message, 'The history of the index does not answer.');
      const isTold = async () =>
        (await gateway.get('/gw/healthcheck')).body.includes('The history of the index');
      await eventually('its silence is told', isTold);
      await server.start();
      await eventually('it answers again', async () => !(await isTold()));
      assert.equal((await ask(list)).body.data.transactions.edges.length, 2);
    } finally {
      await gateway.stop();
    }
  });

  it('is spread over the shards of a cluster', async () => {
    const ports = [await freePort(), await freePort()];
    const shards = await Promise.all(
      ports.map(async (tcp) => startClickHouse({ shards: ports, ports: { http: await freePort(), tcp } })),
    );
    const folder = mkdtempSync(join(tmpdir(), 'turnpike-history-'));
    const sql = await openDatabase({ databaseUrl: undefined, dataDir: folder, name: 'shards', migrations });
    try {
      const placement = { cluster: 'shards', replicaPath: undefined };
      for (const shard of shards)
        for (const made of createStatements(18_016, placement)) await shard.ask(made);
      const [first, second] = shards;
      assert.ok(first && second);
      const client = new ClickHouse({ url: first.url, password: undefined, timeoutMs: 5_000 });
      clients.push(client);
      const { world, index, mover } = await createWorld(sql, 11, { server: client, placement });
      await world.fill();
      await makeStable(sql, index, 9);
      while (await mover.step());
      for (let round = 0; round < 40; round += 1) await world.check(world.ask());
      for (const shard of shards) {
        assert.ok(Number(await shard.ask('SELECT count() FROM turnpike_postings_local')) > 0);
      }
      await second.kill();
      await assert.rejects(world.check({ sort: 'HEIGHT_ASC' }));
      await second.start();
      await world.check({ sort: 'HEIGHT_ASC' });
    } finally {
      await sql.close();
      for (const shard of shards) await shard.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  forEachEngine((_engine, open) => {
    for (const seed of [1, 2]) {
      it(`answers as SQL alone does while items move, world ${seed}`, async () => {
        const sql = await open(migrations);
        const { world, mover, index } = await createWorld(sql, seed);
        await world.fill();
        const questions = async (count: number) => {
          for (let round = 0; round < count; round += 1) await world.check(world.ask());
        };
        let ties = 0;
        for (const border of [4, 8]) {
          await makeStable(sql, index, border);
          // A day later everything is looked at again.
          world.now += 86_400;
          // Looked at when nothing, a part, and everything of a batch is out of SQL.
          for (let steps = 0, isMore = true; isMore; steps += 1) {
            let asked = 0;
            const stopAfter = 2 + (steps % 4);
            isMore = await mover.step(() => {
              asked += 1;
              return asked > stopAfter;
            });
            await questions(2);
          }
          await questions(12);
          const moved = world.models.filter(({ isItem, height }) => isItem && (height ?? 99) <= border);
          // But for the one below, whose place another one has.
          const left = await inSql(
            sql,
            moved.map(({ id }) => id),
          );
          assert.equal(left, ties, 'everything stable is out of SQL');

          // Bundles that are read late add items below the border; known items are met again, elsewhere.
          const low = world.bundles.filter(({ height }) => height <= border);
          for (let late = 0; late < 5; late += 1) {
            await world.addItems(world.pick(low), 3, `late ${border}/${late}`);
            await world.repeat(world.pick(moved).id, world.pick(world.bundles));
          }
          await questions(8);
          // The first 48 bits of an id may be those of another one at the same place.
          const beside = world.pick(moved);
          const bundle = world.bundles.find(({ id }) => digest(id).toString('base64url') === beside.bundle);
          assert.ok(bundle);
          await world.addTie(bundle, beside.id);
          ties += 1;
          await questions(8);
        }
        await world.fork(9);
        await questions(12);
      });
    }

    it('finds moved items by id, with signature and place, also while ClickHouse is away', async () => {
      const sql = await open(migrations);
      const { world, mover, index, service } = await createWorld(sql, 5);
      await world.fill();
      await makeStable(sql, index, 11);
      while (await mover.step());
      const moved = world.models.find(({ isItem, height }) => isItem && height !== null);
      assert.ok(moved);
      const located = await index.locate(moved.id);
      assert.equal(located?.isPruned, undefined);
      assert.equal(located?.ownerAddress, moved.owner);
      assert.equal(located?.placement?.parent, moved.bundle);
      assert.equal(
        (await index.proof(moved.id))?.owner,
        Buffer.from(ownerOf(moved.owner)).toString('base64url'),
      );

      await server.kill();
      const away = await index.locate(moved.id);
      assert.equal(away?.isPruned, true);
      assert.deepEqual(away?.placement, located?.placement);
      const ask = (text: string) =>
        service.answer({ query: text, variables: undefined, operationName: undefined });
      const refused = await ask('{ transactions(sort: HEIGHT_ASC) { edges { node { id } } } }');
      assert.equal(refused.status, 503);
      assert.equal(JSON.parse(refused.body).errors[0].extensions.code, 'HISTORY_UNAVAILABLE');
      // What is newer than the history is answered without it.
      const newest = await ask('{ transactions(first: 3, sort: HEIGHT_DESC) { edges { node { id } } } }');
      assert.equal(newest.status, 200);
      await assert.rejects(world.addItems(world.bundles[0]!, 1, 'while it is away'));
      world.models.pop();
      await server.start();
      await world.check({ sort: 'HEIGHT_ASC' });
    });

    it('goes on after ClickHouse was killed in a batch', async () => {
      const sql = await open(migrations);
      const { world, mover, index, clickhouse } = await createWorld(sql, 6);
      await world.fill();
      await makeStable(sql, index, 11);
      await mover.step();
      const insert = clickhouse.insert.bind(clickhouse);
      let inserts = 0;
      clickhouse.insert = async (...given) => {
        inserts += 1;
        if (inserts === 3) await server.kill();
        await insert(...given);
      };
      await assert.rejects(mover.step(), { name: 'HistoryUnavailable' });
      await server.start();
      while (await mover.step());
      for (let round = 0; round < 20; round += 1) await world.check(world.ask());
    });

    it('moves every item once, however often its process is killed', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'turnpike-history-'));
      const databaseUrl = process.env.TEST_DATABASE_URL;
      const name = `history_${process.pid}_killed`;
      const sql = await openDatabase({ databaseUrl, dataDir: folder, name, migrations });
      try {
        const database = `history_${process.pid}_killed`;
        const { world, index } = await createWorld(sql, 10, { server: await connect(database) });
        await world.fill();
        await makeStable(sql, index, 11);
        const args = [`${server.url}/${database}`, folder, name, databaseUrl ?? '', String(world.now)];
        let kills = 0;
        // Each one comes a little further than the one before.
        for (let steps = 7; !(await killedAt(steps, args)); steps += 2) {
          kills += 1;
          if (kills % 3 === 0) await world.check(world.ask());
        }
        assert.ok(kills > 5, `killed ${kills} times`);
        const items = world.models.filter(({ isItem, height }) => isItem && height !== null);
        assert.equal(
          await inSql(
            sql,
            items.map(({ id }) => id),
          ),
          0,
        );
        const left = await sql.all("SELECT batch FROM history_batches WHERE state <> 'moved'");
        assert.deepEqual(left, []);
        for (let round = 0; round < 30; round += 1) await world.check(world.ask());
      } finally {
        if (databaseUrl !== undefined) await sql.run(`DROP SCHEMA "${name}" CASCADE`);
        await sql.close();
        rmSync(folder, { recursive: true, force: true });
      }
    });

    it('takes out what a lost course of events wrote, and refuses the history of another index', async () => {
      const sql = await open(migrations);
      const { world, mover, index, clickhouse, lease } = await createWorld(sql, 7);
      await world.fill();
      await makeStable(sql, index, 11);
      while (await mover.step());
      // As after a failover that lost a batch: the server has it, the ledger does not.
      await clickhouse.run(
        'INSERT INTO turnpike_records SELECT 4000000000 AS batch, pos, tie, record + 1000000, indexed_at, item, signature FROM turnpike_records',
      );
      const { mover: next } = await createWorld(sql, 8, { server: clickhouse, lease });
      await next.step();
      for (let tries = 0; tries < 100; tries += 1) {
        const rows = await clickhouse.select('SELECT count() FROM turnpike_records WHERE batch = 4000000000');
        if (rows.readUInt32LE() === 0) break;
      }
      const other = await open(migrations);
      const stranger = await createWorld(other, 9, { server: clickhouse });
      await stranger.world.fill();
      await assert.rejects(stranger.mover.step(), HistoryDamaged);
    });
  });
});

/** Runs the mover as a process that kills itself after so many steps; answers whether it ended before. */
async function killedAt(steps: number, args: readonly string[]): Promise<boolean> {
  const script = join(import.meta.dirname, '../support/history-process.ts');
  const child = spawn(process.execPath, [script, ...args, String(steps)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code] = await once(child, 'exit');
  assert.ok(code === 0 || child.signalCode === 'SIGKILL', 'the mover failed');
  return code === 0;
}

async function makeStable(sql: Sql, index: SqlGatewayIndex, height: number): Promise<void> {
  await sql.run(
    `INSERT INTO chain_state (name, value) VALUES ('stable_height', ?)
     ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    height,
  );
  while (await tellFinal(sql, index.writer));
  await index.refresh();
}

async function inSql(sql: Sql, ids: readonly string[]): Promise<number> {
  let found = 0;
  for (const id of ids) {
    const row = await sql.get('SELECT 1 AS one FROM records WHERE id = ?', Buffer.from(id, 'base64url'));
    if (row !== undefined) found += 1;
  }
  return found;
}

const ownerOf = (address: string): string =>
  ['ann', 'bob', 'eve'].find((name) => digest(name).toString('base64url') === address) ?? '';
