/** PostgreSQL over a server that says what the test has it say: lost commits, poolers, and where the reads of a scope go. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { eventually } from '../../../../test/support/eventually.ts';
import { probePostgres } from '../probe.ts';
import { inReadScope } from '../read-scope.ts';
import { DatabaseUnavailable, OutcomeUnknown } from '../sql.ts';
import { type ConnectionOptions, isPooled, localSettings, parseTimeline, timelineOf } from './connection.ts';
import { PostgresDatabase } from './database.ts';
import { Primary } from './primary.ts';
import { Standby, Standbys } from './standbys.ts';
import { Statements } from './statements.ts';
import { ScriptedPostgres } from './testing.ts';

const maxStalenessMs = 60_000;
const pooler = 8;
const options: ConnectionOptions = {
  ...{ schema: 'facts', poolSize: 2, statementTimeoutMs: 1_000, answerTimeoutMs: 1_000, byIndexOnly: false },
  log: undefined,
};

async function open(t: TestContext, says: Partial<ScriptedPostgres> = {}, standbyCount = 0) {
  const server = await ScriptedPostgres.start(t, says);
  const standbys: ScriptedPostgres[] = [];
  for (let n = 0; n < standbyCount; n += 1)
    standbys.push(await ScriptedPostgres.start(t, { isStandby: true }));
  const primary = new Primary([server.url], options);
  const watched =
    standbyCount === 0
      ? undefined
      : new Standbys({
          ...{ ...options, urls: standbys.map(({ url }) => url), maxStalenessMs },
          primary: new Primary([server.url], { ...options, poolSize: 1 }),
        });
  const sql = new PostgresDatabase({
    ...{ primary, statements: new Statements('facts'), standbys: watched },
    localSettings: localSettings(options),
  });
  t.after(() => sql.close());
  return { server, standbys, sql, primary, watched };
}

const write = (sql: PostgresDatabase) =>
  sql.transaction(async (tx) => {
    await tx.run('UPDATE things SET n = 1');
    return 'written';
  });
const withoutSettings = (server: ScriptedPostgres) =>
  server.asked.filter((text) => !/^SET|pg_backend_pid/.test(text));

test('a transaction begins, does its work and commits', async (t) => {
  const { server, sql } = await open(t);
  assert.equal(await sql.run('UPDATE things SET n = 0'), 3, 'how many rows it changed');
  assert.equal(await sql.transaction((tx) => tx.run('UPDATE things SET n = 0')), 3);
  server.asked.length = 0;
  assert.equal(await write(sql), 'written');
  assert.deepEqual(withoutSettings(server), [
    'BEGIN; SELECT CAST(pg_current_xact_id() AS text) AS xid',
    'UPDATE "facts".things SET n = 1',
    'COMMIT',
  ]);
});

test('a statement that failed fails its transaction, also where the work carries on', async (t) => {
  const { server, sql } = await open(t);
  const carriesOn = sql.transaction(async (tx) => {
    await tx.get('SELECT 1 AS broken').catch(() => {});
    return 'as if nothing had happened';
  });
  await assert.rejects(carriesOn, { code: '22012' });
  const again = sql.transaction(async (tx) => {
    await tx.get('SELECT 1 AS broken').catch(() => {});
    await tx.run('UPDATE things SET n = 2');
  });
  await assert.rejects(again, { code: '22012' });
  assert.ok(!server.asked.some((text) => /COMMIT|n = 2/.test(text)), 'nothing more is asked of it');
  assert.equal(server.asked.filter((text) => text === 'ROLLBACK').length, 2);
  await assert.rejects(
    sql.transaction(async () => {
      throw new Error('of the work');
    }),
    /of the work/,
  );
});

test('a commit whose answer was lost is asked for: it is told what became of it, and not known only where nobody can', async (t) => {
  const { server, sql } = await open(t);
  const lost = () => {
    server.breaksAt = ['COMMIT'];
    return write(sql);
  };
  assert.equal(await lost(), 'written');
  assert.match(
    server.asked.at(-1) ?? '',
    /pg_xact_status\(CAST\(CAST\(\$1 AS text\) AS xid8\)\) AS status, substr/,
  );
  server.outcome = 'aborted';
  await assert.rejects(lost(), (error) => {
    assert.ok(error instanceof DatabaseUnavailable && !(error instanceof OutcomeUnknown));
    return /lost before a commit/.test(error.message);
  });
  // A number that this server never gave.
  server.outcome = '22023';
  await assert.rejects(lost(), /lost before a commit/);
  server.outcome = '42501';
  await assert.rejects(lost(), { code: '42501' }, 'an answer that says nothing is told as it is');
  // The server is gone when it is asked, and comes back.
  server.outcome = 'committed';
  server.breaksAt = ['COMMIT', 'pg_xact_status'];
  assert.equal(await write(sql), 'written');
  // Not decided yet: it is asked again.
  server.outcome = 'in progress';
  const deciding = lost();
  const questions = () => server.asked.filter((text) => text.includes('pg_xact_status')).length;
  const before = questions();
  await eventually('a second question', () => questions() > before + 1);
  server.outcome = 'committed';
  assert.equal(await deciding, 'written');
  // After a failover the same number may be another transaction's.
  server.outcome = 'in progress';
  const failedOver = lost();
  const first = questions();
  await eventually('it is asked for', () => questions() > first);
  server.timeline = '00000002';
  server.outcome = 'committed';
  await assert.rejects(failedOver, OutcomeUnknown);
});

test('a server without a timeline is asked for the outcome alone', async (t) => {
  const { server, sql } = await open(t, { refusal: '42883', breaksAt: ['COMMIT'] });
  assert.equal(await write(sql), 'written');
  assert.match(server.asked.at(-1) ?? '', /AS status$/);
});

test('a connection knows the timeline that it was made in, and whether a pooler hands it around', async (t) => {
  const [own, pooled, bare] = [
    await open(t, { timeline: '0000000A' }),
    await open(t, { pid: pooler }),
    await open(t, { refusal: '42883' }),
  ];
  const clientOf = async ({ primary }: { primary: Primary }) => {
    const client = await primary.connect();
    client.release();
    return client;
  };
  const client = await clientOf(own);
  assert.deepEqual([timelineOf(client), isPooled(client)], [10, false]);
  assert.equal(timelineOf(await clientOf(bare)), undefined);
  assert.equal(isPooled(await clientOf(pooled)), true);
  assert.deepEqual(
    [parseTimeline('0000001F'), parseTimeline(null), parseTimeline(undefined)],
    [31, undefined, undefined],
  );
  // A pooled one keeps no settings and no statements: each transaction says its own.
  await pooled.sql.get('SELECT n FROM things WHERE n = ?', 1);
  await own.sql.get('SELECT n FROM things WHERE n = ?', 1);
  assert.deepEqual([pooled.server.named, own.server.named], [[], ['turnpike_0']]);
  assert.ok(!pooled.server.asked.some((text) => text.startsWith('SET')));
  await write(pooled.sql);
  assert.ok(
    pooled.server.asked.includes(
      'BEGIN; SET LOCAL statement_timeout = 1000; SET LOCAL idle_in_transaction_session_timeout = 60000; SELECT CAST(pg_current_xact_id() AS text) AS xid',
    ),
  );
});

test('the reads of a scope go to one standby, and to the primary after a write', async (t) => {
  const { server, standbys, sql, watched } = await open(t, {}, 3);
  await eventually('all standbys', () => {
    const names = Array.from({ length: 6 }, () => watched?.choose()?.name);
    return new Set(names).size === 3 && !names.includes(undefined);
  });
  const isOurs = (text: string) => text.startsWith('SELECT n FROM');
  const countAt = (one: ScriptedPostgres) => one.asked.filter(isOurs).length;
  const read = () => sql.get('SELECT n FROM things');
  for (let scope = 1; scope <= 3; scope += 1) {
    const before = standbys.map(countAt);
    await inReadScope(async () => {
      for (let turn = 0; turn < 4; turn += 1) await read();
    });
    assert.deepEqual(
      standbys.map((one, at) => countAt(one) - (before[at] ?? 0)).sort(),
      [0, 0, 4],
      'one standby answered all of them',
    );
  }
  assert.ok(
    standbys.every((one) => countAt(one) === 4),
    'they take turns',
  );
  assert.equal(countAt(server), 0);
  await read();
  assert.equal(countAt(server), 1, 'outside of a scope the primary is asked');
  await inReadScope(async () => {
    await sql.run('UPDATE things SET n = 1');
    await read();
    await sql.all('SELECT n FROM things');
  });
  assert.equal(countAt(server), 3);
  await inReadScope(async () => {
    await sql.transaction(async () => {});
    await read();
  });
  assert.equal(countAt(server), 4);
  await inReadScope(async () => {
    await sql.all('UPDATE things SET n = 1 RETURNING n');
    await read();
  });
  assert.equal(countAt(server), 5, 'what is no read is a write');
  // What a standby refuses the primary is asked, which answers from then on.
  await inReadScope(async () => {
    await assert.rejects(sql.get('SELECT 1 AS broken'), { code: '22012' });
    await read();
  });
  assert.equal(countAt(server), 6);
  assert.ok(server.asked.includes('SELECT 1 AS broken'));
  await sql.close();
  await assert.rejects(inReadScope(read), DatabaseUnavailable);
});

test('closed, it lets go of every connection', async (t) => {
  const { server, standbys, sql, watched } = await open(t, {}, 1);
  await eventually('the standby', () => watched?.choose());
  await inReadScope(() => sql.get('SELECT n FROM things'));
  await write(sql);
  const all = [server, ...standbys];
  assert.ok(all.every(({ connections }) => connections > 0));
  await sql.close();
  await eventually('none is left', () => all.every(({ connections }) => connections === 0));
});

async function standbyOf(t: TestContext, says: Partial<ScriptedPostgres> = {}) {
  const server = await ScriptedPostgres.start(t);
  const at = await ScriptedPostgres.start(t, { isStandby: true, ...says });
  const warnings: object[] = [];
  const primary = new Primary([server.url], options);
  const standby = new Standby(at.url, {
    ...{ ...options, urls: [at.url], maxStalenessMs, primary },
    log: { warn: (details: object) => void warnings.push(details) },
  });
  t.after(() => Promise.all([standby.close(), primary.end()]));
  /** Whether it answered. */
  const look = async (...samples: { at: number; written: bigint }[]) => {
    await standby.look(samples);
    return standby.answers;
  };
  return { server, at, standby, primary, warnings, look };
}

test('a standby has what it was seen to have replayed, and nothing once it is beyond the log of its primary', async (t) => {
  const { at, standby, look } = await standbyOf(t);
  assert.equal(standby.answers, false);
  const now = performance.now();
  assert.equal(
    await look({ at: now - 20, written: 99n }, { at: now - 10, written: 100n }, { at: now, written: 101n }),
    true,
  );
  assert.equal(standby.completeUpTo, now - 10);
  await look({ at: now - 30, written: 100n });
  assert.equal(standby.completeUpTo, now - 10, 'it does not know less than before');
  standby.compare({ at: performance.now() + 1, written: 100n });
  assert.equal(standby.completeUpTo, now - 10, 'the same log');
  standby.compare({ at: now - 1_000, written: 50n });
  assert.equal(standby.completeUpTo, now - 10, 'said before it was looked at');
  standby.compare({ at: performance.now() + 1, written: 99n });
  assert.equal(standby.completeUpTo, Number.NEGATIVE_INFINITY);
  const later = performance.now();
  await look({ at: later, written: 100n });
  assert.equal(standby.completeUpTo, Number.NEGATIVE_INFINITY, 'not before the log is longer than that');
  at.replayed = 101n;
  await look({ at: later, written: 101n });
  assert.equal(standby.completeUpTo, later);
  standby.doubt();
  assert.equal(standby.completeUpTo, Number.NEGATIVE_INFINITY);
  // One question at a time.
  const questions = () => at.asked.filter((text) => text.includes('AS replayed')).length;
  const before = questions();
  for (let turn = 0; turn < 3; turn += 1) void standby.look([]);
  await look();
  assert.equal(questions(), before + 1);
});

test('a standby that was made a primary, or has nothing to replay, is none', async (t) => {
  const { at, standby, look, warnings } = await standbyOf(t);
  assert.equal(await look(), true);
  // It still tells how far it once replayed.
  at.isStandby = false;
  assert.equal(await look(), false);
  assert.equal(warnings.length, 1);
  at.isStandby = true;
  assert.equal(await look(), true);
  at.replayed = null;
  assert.equal(await look(), false);
  assert.equal(warnings.length, 2, 'each time it is said once');
  assert.equal(standby.answers, false);
});

test('a server that breaks off while it is looked at ends nothing but the look', async (t) => {
  const server = await ScriptedPostgres.start(t, { isSilent: true });
  const looking = probePostgres(server.url, 'facts');
  const failed = assert.rejects(looking);
  await eventually('it is asked', () => server.asked.length > 0);
  server.cut();
  await failed;
});
