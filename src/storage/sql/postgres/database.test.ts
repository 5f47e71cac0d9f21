import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { connect, createServer, type Socket } from 'node:net';
import { after, afterEach, before, describe, it } from 'node:test';
import pg from 'pg';
import { eventually } from '../../../../test/support/eventually.ts';
import { StartupError } from '../../../kernel/errors.ts';
import { DatabaseUnavailable, type SqlExecutor, UniqueViolation, UnstorableText } from '../sql.ts';
import type { PostgresDatabase } from './database.ts';
import { openPostgres, type PostgresOptions } from './open.ts';

const url = process.env.TEST_DATABASE_URL;
const migrations = [
  { id: 'test-001', up: 'CREATE TABLE rows (n BIGINT PRIMARY KEY, value BIGINT NOT NULL DEFAULT 0);' },
];

it('says that a PostgreSQL which nobody serves is unavailable', async () => {
  const opening = openPostgres({ url: 'postgres://u@127.0.0.1:1/d', schema: 's', migrations });
  await assert.rejects(opening, DatabaseUnavailable);
});

describe('PostgreSQL', {
  skip: url === undefined && 'SKIPPED: needs TEST_DATABASE_URL; `npm run test:servers` runs it',
}, () => {
  const schema = `test_${randomBytes(6).toString('hex')}`;
  let administrator: pg.Client;
  const opened: PostgresDatabase[] = [];
  const open = async (options: Partial<PostgresOptions> = {}): Promise<PostgresDatabase> => {
    const sql = await openPostgres({ url: url ?? '', schema, migrations, ...options });
    opened.push(sql);
    return sql;
  };
  before(async () => {
    administrator = new pg.Client({ connectionString: url });
    await administrator.connect();
  });
  it('tells text that it cannot hold from a failure of its own', async () => {
    const sql = await open();
    await assert.rejects(sql.get('SELECT 1 AS one WHERE ? = ?', 'a\u0000', 'b'), UnstorableText);
    assert.deepEqual(await sql.get('SELECT 1 AS one WHERE ? = ?', 'a', 'a'), { one: 1 });
  });

  afterEach(async () => {
    // What a failed test left locked would hold up the next.
    await administrator.query('ROLLBACK');
    for (const sql of opened.splice(0)) await sql.close();
    await administrator.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
  });
  after(() => administrator.end());

  it('waits for another process that migrates, says for whom, and gives up in the end', async () => {
    await open();
    const further = [...migrations, { id: 'test-002', up: 'ALTER TABLE rows ADD COLUMN more BIGINT;' }];
    await administrator.query(`BEGIN; LOCK TABLE "${schema}".rows IN ACCESS EXCLUSIVE MODE`);
    const hanging = open({ migrations: further });
    await eventually('the first opener hangs in its migration', async () => {
      // Within a transaction what others do is seen once and kept.
      await administrator.query('SELECT pg_stat_clear_snapshot()');
      const { rowCount } = await administrator.query(
        "SELECT 1 FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'",
        [`turnpike ${schema}`],
      );
      return rowCount === 1;
    });
    const warnings: { details: object; message: string }[] = [];
    const log = { warn: (details: object, message: string) => void warnings.push({ details, message }) };
    await assert.rejects(open({ migrations: further, migrationWaitMs: 50, log }), (error: Error) => {
      assert.ok(error instanceof StartupError);
      assert.match(
        error.message,
        new RegExp(
          `^PostgreSQL schema "${schema}": another process .* 0.05 s \\("turnpike ${schema}" at .*, backend \\d+`,
        ),
      );
      return true;
    });
    assert.equal(warnings.length, 1);
    assert.equal(warnings[0]?.message, 'another process migrates this PostgreSQL schema; waiting for it');
    await administrator.query('ROLLBACK');
    const sql = await hanging;
    await sql.run('INSERT INTO rows (n, more) VALUES (1, 2)');
    assert.deepEqual(await (await open({ migrations: further })).all('SELECT more FROM rows'), [{ more: 2 }]);
  });

  it('gives up a migration whose table somebody else keeps locked, and leaves nothing of it', async () => {
    await open();
    const further = [...migrations, { id: 'test-002', up: 'ALTER TABLE rows ADD COLUMN more BIGINT;' }];
    await administrator.query(`BEGIN; LOCK TABLE "${schema}".rows IN ACCESS EXCLUSIVE MODE`);
    await assert.rejects(open({ migrations: further, migrationWaitMs: 50 }), (error: Error) => {
      assert.ok(error instanceof StartupError);
      assert.match(error.message, /waited 0.05 s for a table that another session has locked/);
      return true;
    });
    await administrator.query('ROLLBACK');
    const { rows } = await administrator.query(`SELECT id FROM "${schema}".schema_migrations`);
    assert.deepEqual(rows, [{ id: 'test-001' }]);
    await open({ migrations: further });
  });

  it('makes an index anew whose making failed half-way', async () => {
    const sql = await open();
    await sql.run('INSERT INTO rows (n, value) VALUES (1, 7), (2, 7)');
    const up = 'CREATE UNIQUE INDEX CONCURRENTLY rows_value ON rows (value);';
    const further = [...migrations, { id: 'test-002', up }];
    await assert.rejects(open({ migrations: further }), UniqueViolation);
    await sql.run('UPDATE rows SET value = n');
    await open({ migrations: further });
    await assert.rejects(sql.run('INSERT INTO rows (n, value) VALUES (3, 2)'), UniqueViolation);
  });

  it('runs the victim of a deadlock again', async () => {
    const sql = await open();
    await sql.run('INSERT INTO rows (n) VALUES (1), (2)');
    let runs = 0;
    const both = barrier(2);
    const addTo = (first: number, second: number) => async (tx: SqlExecutor) => {
      runs += 1;
      await tx.run('UPDATE rows SET value = value + 1 WHERE n = ?', first);
      if (runs <= 2) await both();
      await tx.run('UPDATE rows SET value = value + 1 WHERE n = ?', second);
    };
    await Promise.all([sql.transaction(addTo(1, 2)), sql.transaction(addTo(2, 1))]);
    assert.ok(runs >= 3, 'one was the victim at least once');
    assert.deepEqual(await sql.all('SELECT n, value FROM rows ORDER BY n'), [
      { n: 1, value: 2 },
      { n: 2, value: 2 },
    ]);
  });

  it('reads no table from end to end where it is told to go by index', async () => {
    const list = Array.from({ length: 128 }, (_, n) => n);
    const many = `SELECT value FROM rows WHERE n IN (${list.join(', ')})`;
    for (const byIndexOnly of [false, true]) {
      const sql = await open({ byIndexOnly });
      await sql.run('INSERT INTO rows (n) SELECT generate_series(1, 500) ON CONFLICT DO NOTHING');
      const plan = JSON.stringify(await sql.all(`EXPLAIN ${many}`));
      assert.match(plan, byIndexOnly ? /Index/ : /Seq Scan/);
      const read = JSON.stringify(await sql.all('EXPLAIN ANALYZE SELECT value FROM rows WHERE value = 1'));
      assert.match(read, /Seq Scan/);
      assert.doesNotMatch(read, /JIT/, 'compiling it takes longer than reading it');
    }
  });

  it('takes rows in the order of an index instead of sorting all that fit, also before it has counted them', async () => {
    const listed = {
      id: 'test-002',
      up: 'CREATE TABLE listed (list BIGINT, place BIGINT, PRIMARY KEY (list, place));',
    };
    const sql = await open({ byIndexOnly: true, migrations: [...migrations, listed] });
    await sql.run('INSERT INTO listed (list, place) SELECT 1, generate_series(1, 50000)');
    const plan = JSON.stringify(
      await sql.all('EXPLAIN SELECT place FROM listed WHERE list = 1 ORDER BY place DESC LIMIT 1000'),
    );
    assert.match(plan, /Index/);
    assert.doesNotMatch(plan, /Sort/);
  });

  it('lets works of other queues pass while the row of one is locked by somebody else', async () => {
    const sql = await open({ statementTimeoutMs: 20_000 });
    await sql.run('INSERT INTO rows (n) SELECT generate_series(1, 9)');
    await administrator.query(`BEGIN; SELECT 1 FROM "${schema}".rows WHERE n IN (1, 2) FOR UPDATE`);
    const add = (n: number) =>
      sql.transaction(async (tx) => {
        await tx.get('SELECT value FROM rows WHERE n = ? FOR UPDATE', n);
        await tx.run('UPDATE rows SET value = value + 1 WHERE n = ?', n);
      }, `row ${n}`);
    const locked = [1, 2, 1].map(add);
    for (let round = 0; round < 3; round += 1) await Promise.all([3, 4, 5, 6, 7, 8, 9].map(add));
    await administrator.query('COMMIT');
    await Promise.all(locked);
    const rows = await sql.all<{ value: number }>('SELECT value FROM rows ORDER BY n');
    assert.deepEqual(
      rows.map(({ value }) => value),
      [2, 1, 3, 3, 3, 3, 3, 3, 3],
    );
  });

  it('sends the statements of a transaction in the order in which they were made', async () => {
    const sql = await open();
    await sql.run('INSERT INTO rows (n, value) VALUES (1, 0)');
    const add = () =>
      sql.transaction(async (tx, letNext) => {
        const row = await tx.get<{ value: number }>('SELECT value FROM rows WHERE n = 1 FOR UPDATE');
        const adding = tx.run('UPDATE rows SET value = ? WHERE n = 1', (row?.value ?? 0) + 1);
        letNext?.();
        await adding;
      }, 'row 1');
    await Promise.all(Array.from({ length: 200 }, add));
    assert.deepEqual(await sql.all('SELECT value FROM rows'), [{ value: 200 }]);
    const seen = await sql.transaction(async (tx) => {
      const writing = tx.run('UPDATE rows SET value = 7 WHERE n = 1');
      const [rows] = await Promise.all([tx.all('SELECT value FROM rows'), writing]);
      return rows;
    });
    assert.deepEqual(seen, [{ value: 7 }], 'also where they come before the answer to BEGIN');
  });

  it('leaves errors of the work itself as they are', async () => {
    const sql = await open();
    class Refused extends Error {}
    const refused = sql.transaction(async (tx) => {
      await tx.run('INSERT INTO rows (n) VALUES (1)');
      throw new Refused('connection timeout of some other service');
    });
    await assert.rejects(refused, Refused);
    assert.deepEqual(await sql.all('SELECT n FROM rows'), []);
  });

  it('fails a transaction whose failed statement nobody awaited', async () => {
    const sql = await open();
    const careless = sql.transaction(async (tx) => {
      await tx.run('INSERT INTO rows (n) VALUES (1)');
      tx.run('INSERT INTO rows (n) VALUES (1)').catch(() => {});
    });
    await assert.rejects(careless);
    assert.deepEqual(await sql.all('SELECT n FROM rows'), []);
  });

  it('says that it is unavailable when its connections are cut, and recovers', async () => {
    const warnings: string[] = [];
    // One connection: others could be handed out before it is known that they are cut too.
    const sql = await open({
      url: `${url}?pool_size=1`,
      log: { warn: (_details, message) => warnings.push(message) },
    });
    const cut = sql.transaction(async (tx) => {
      await tx.run('INSERT INTO rows (n) VALUES (1)');
      await administrator.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1',
        [`turnpike ${schema}`],
      );
      await tx.run('INSERT INTO rows (n) VALUES (2)');
    });
    await assert.rejects(cut, DatabaseUnavailable);
    assert.deepEqual(await sql.all('SELECT n FROM rows'), []);
    assert.equal(await sql.run('INSERT INTO rows (n) VALUES (3)'), 1);
  });

  it('cancels a statement that takes too long', async () => {
    const sql = await open({ statementTimeoutMs: 500 });
    await assert.rejects(sql.get('SELECT pg_sleep(600)'), DatabaseUnavailable);
    assert.deepEqual(await inTime(() => sql.get('SELECT 1 AS one')), { one: 1 });
  });

  it('gives up on a server that does not answer any more, and goes on with one that does', async () => {
    const server = new URL(url ?? '');
    let isGone = false;
    const sockets = new Set<Socket>();
    const network = createServer((near) => {
      const far = connect(Number(server.port || 5432), server.hostname);
      for (const socket of [near, far]) sockets.add(socket.on('error', () => {}));
      near.on('data', (bytes) => isGone || far.write(bytes)).on('close', () => far.destroy());
      far.on('data', (bytes) => isGone || near.write(bytes)).on('close', () => near.destroy());
    });
    await new Promise<void>((done) => network.listen(0, '127.0.0.1', done));
    const address = network.address();
    assert.ok(address !== null && typeof address === 'object');
    const through = new URL(server);
    through.host = `127.0.0.1:${address.port}`;
    const sql = await open({ url: `${through}?pool_size=1`, answerTimeoutMs: 1_000 });
    const uses: (() => Promise<unknown>)[] = [
      () => sql.get('SELECT 2 AS two'),
      () =>
        sql.transaction(async (tx) => {
          await tx.run('INSERT INTO rows (n) VALUES (1)');
          isGone = true;
          await tx.run('INSERT INTO rows (n) VALUES (2)').catch((cause: unknown) => {
            throw new Error('in words of its own', { cause });
          });
        }),
      async () => {
        for await (const row of sql.stream<{ n: number }>('SELECT n FROM generate_series(1, 1000) AS n')) {
          if (row.n === 1) isGone = true;
        }
      },
    ];
    for (const [n, use] of uses.entries()) {
      await inTime(() => sql.get('SELECT 1 AS one'));
      isGone = n === 0;
      await assert.rejects(use(), DatabaseUnavailable);
      isGone = false;
      const rows = await inTime(() => sql.all('SELECT n FROM rows'));
      assert.deepEqual(rows, [], 'over another connection');
    }
    await sql.close();
    for (const socket of sockets) socket.destroy();
    await new Promise((done) => network.close(done));
  });

  it('gives the connection of a stream back, however the stream ends', async () => {
    const sql = await open({ url: `${url}?pool_size=1` });
    const statement = 'SELECT n FROM generate_series(1, ?) AS n';
    for (let round = 0; round < 3; round += 1) {
      for await (const row of sql.stream<{ n: number }>(statement, 1_000)) if (row.n === 300) break;
      await assert.rejects(async () => {
        for await (const row of sql.stream<{ n: number }>(
          'SELECT 10 / (5 - n) AS n FROM generate_series(1, 10) AS n',
        )) {
          assert.ok(row.n <= 10);
        }
      }, /division by zero/);
    }
    assert.deepEqual(await sql.get('SELECT 1 AS one'), { one: 1 });
  });

  it('reads comparisons and counts as numbers, like SQLite', async () => {
    const sql = await open();
    assert.deepEqual(await sql.get('SELECT 1 = 1 AS yes, 1 = 2 AS no, count(*) AS n FROM rows'), {
      yes: 1,
      no: 0,
      n: 0,
    });
  });
});

/** What is asked of a server that may be too busy for the little time it is given: then once more. */
async function inTime<T>(ask: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable) || attempt === 20) throw error;
    }
  }
}

/** Resolves for all when `parties` have arrived. */
function barrier(parties: number): () => Promise<void> {
  let arrived = 0;
  let release: () => void = () => {};
  const open = new Promise<void>((resolve) => {
    release = resolve;
  });
  return () => {
    arrived += 1;
    if (arrived === parties) release();
    return open;
  };
}
