import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { eventually } from '../../../../test/support/eventually.ts';
import { DatabaseUnavailable } from '../sql.ts';
import type { ConnectionOptions } from './connection.ts';
import { hostName } from './host-name.ts';
import { Primary } from './primary.ts';
import { Standbys } from './standbys.ts';
import { ScriptedPostgres } from './testing.ts';

const maxStalenessMs = 200;

function optionsOf(warnings: object[] = []): ConnectionOptions {
  return {
    ...{
      schema: 'facts',
      poolSize: 2,
      statementTimeoutMs: 1_000,
      answerTimeoutMs: 1_000,
      byIndexOnly: false,
    },
    log: { warn: (details: object, message: string) => void warnings.push({ ...details, message }) },
  };
}

function primaryOf(t: TestContext, ...servers: readonly ScriptedPostgres[]): Primary {
  const primary = new Primary(
    servers.map(({ url }) => url),
    optionsOf(),
  );
  t.after(() => primary.end());
  return primary;
}

/** The port of the server that answers. */
async function chosen(primary: Primary): Promise<string> {
  const client = await primary.connect();
  client.release();
  return 'port' in client ? String(client.port) : '';
}
const portOf = ({ url }: ScriptedPostgres) => new URL(url).port;

test('of several hosts the primary of the newest timeline is written to', async (t) => {
  const old = await ScriptedPostgres.start(t, { timeline: '00000002' });
  const current = await ScriptedPostgres.start(t, { timeline: '0000000A', system: 'two' });
  const standby = await ScriptedPostgres.start(t, { isStandby: true });
  const primary = primaryOf(t, standby, old, current);
  assert.equal(primary.system, undefined);
  assert.equal(await chosen(primary), portOf(current));
  assert.equal(primary.system, 'two');
  // It is gone, and the one from before the failover must not take its place.
  current.stop();
  const refusal = () =>
    chosen(primary).then(
      (port) => assert.equal(port, portOf(current), 'the old one is never taken'),
      (error: unknown) => String(error),
    );
  // By the connection that was there before the failover, and by one that is made now.
  const isOld = async () => /was the primary before a failover/.test((await refusal()) ?? '');
  await eventually('the old one is refused', isOld);
  old.cut();
  await eventually('the old one is refused again', isOld);
  const told = (await refusal()) ?? '';
  assert.match(told, /^DatabaseUnavailable: none of the hosts is a primary that answers \(/);
  assert.match(told, /is a standby, which takes no writes/);
  standby.isStandby = false;
  standby.timeline = '0000000B';
  standby.cut();
  await eventually(
    'a standby that was made the primary',
    async () => (await chosen(primary).catch(() => '')) === portOf(standby),
  );
});

test('a primary that turned into a standby is looked for among the others', async (t) => {
  const [one, other] = [
    await ScriptedPostgres.start(t),
    await ScriptedPostgres.start(t, { isStandby: true }),
  ];
  const primary = primaryOf(t, one, other);
  assert.equal(await chosen(primary), portOf(one));
  primary.failed(new Error('a bug'));
  primary.failed(new DatabaseUnavailable('full', { cause: undefined }));
  one.isStandby = true;
  other.isStandby = false;
  one.cut();
  other.cut();
  assert.equal(
    await eventually('the other one', () => chosen(primary).catch(() => undefined)),
    portOf(other),
  );
});

test('one host is asked itself, and what it is not is said', async (t) => {
  const server = await ScriptedPostgres.start(t, { isStandby: true });
  const primary = primaryOf(t, server);
  await assert.rejects(
    chosen(primary),
    /^DatabaseUnavailable: 127\.0\.0\.1:\d+ is a standby, which takes no writes$/,
  );
  server.isStandby = false;
  assert.equal(await chosen(primary), portOf(server));
});

test('a server that only speaks like PostgreSQL has no timeline, and is taken', async (t) => {
  const server = await ScriptedPostgres.start(t, { refusal: '42883' });
  assert.equal(await chosen(primaryOf(t, server)), portOf(server));
  const broken = await ScriptedPostgres.start(t, { refusal: '22012' });
  await assert.rejects(chosen(primaryOf(t, broken)));
});

test('settings of a connection are those that are asked for', async (t) => {
  const server = await ScriptedPostgres.start(t);
  const primary = new Primary([server.url], { ...optionsOf(), byIndexOnly: true });
  t.after(() => primary.end());
  await chosen(primary);
  assert.deepEqual(
    server.asked.filter((text) => text.startsWith('SET')),
    [
      'SET statement_timeout = 1000; SET idle_in_transaction_session_timeout = 60000; SET jit = off; SET enable_seqscan = off; SET enable_bitmapscan = off',
    ],
  );
});

test('a host is called by its name and port', () => {
  assert.equal(hostName('postgres://user@db.test:6000/facts'), 'db.test:6000');
  assert.equal(hostName('postgres://user@db.test/facts'), 'db.test:5432');
  assert.equal(hostName('postgres:///facts?host=/run/sock&port=6001'), '/run/sock:6001');
  assert.equal(hostName('postgres:///facts'), 'localhost:5432');
});

async function cluster(t: TestContext, count = 1) {
  const server = await ScriptedPostgres.start(t);
  const standbys: ScriptedPostgres[] = [];
  for (let n = 0; n < count; n += 1) standbys.push(await ScriptedPostgres.start(t, { isStandby: true }));
  const warnings: { standby?: string; reason?: string; message?: string }[] = [];
  const options = optionsOf(warnings);
  const primary = new Primary([server.url], options);
  const watched = new Standbys({ ...options, urls: standbys.map(({ url }) => url), maxStalenessMs, primary });
  t.after(() => watched.close());
  const [first, second] = standbys;
  assert.ok(first !== undefined);
  return {
    ...{ server, first, second: second ?? first, watched, warnings },
    read: () => eventually('a standby is read from', () => watched.choose()),
    unread: () => eventually('no standby is read from', () => watched.choose() === undefined),
    named: (standby: ScriptedPostgres) => `127.0.0.1:${portOf(standby)}`,
  };
}

test('a standby is read from while it lacks nothing that is too old', async (t) => {
  const { server, first, watched, read, unread } = await cluster(t);
  assert.equal(watched.choose(), undefined, 'nothing is known of it yet');
  const standby = await read();
  assert.equal(await standby.use(async (client) => (await client.query('SELECT 1 AS one')).rows[0]?.one), 1);
  server.written = 200n;
  await unread();
  assert.equal(standby.answers, true);
  first.replayed = 199n;
  await eventually('another look', () => standby.replayed === 199n);
  assert.equal(watched.choose(), undefined);
  first.replayed = 200n;
  assert.equal(await read(), standby);
});

test('what is committed is visible when the standbys have it, or are not read from any more', async (t) => {
  const { server, first, watched, read } = await cluster(t);
  await read();
  await watched.visible();
  server.written = 300n;
  const from = performance.now();
  await watched.visible();
  assert.ok(
    performance.now() - from >= maxStalenessMs - 5,
    'so long the standby may be read from without it',
  );
  let isVisible = false;
  const visible = watched.visible().then(() => {
    isVisible = true;
  });
  assert.equal(isVisible, false);
  first.replayed = 300n;
  await visible;
  assert.equal((await read()).replayed, 300n);
});

test('while the primary is away the standby that has most answers, if it had all a moment before', async (t) => {
  const { server, first, second, watched, read, warnings, named } = await cluster(t, 2);
  await read();
  await eventually('both', () => new Set(Array.from({ length: 4 }, () => watched.choose()?.name)).size === 2);
  second.replayed = 99n;
  server.isSilent = true;
  server.cut();
  await eventually('it is said', () =>
    warnings.some(({ message }) => message?.startsWith('the primary does not')),
  );
  await eventually('the one that has less is not asked', () =>
    Array.from({ length: 4 }, () => watched.choose()?.name).every((name) => name === named(first)),
  );
  first.stop();
  await eventually('the other one', () => watched.choose()?.name === named(second));
  assert.equal(warnings.filter(({ message }) => message?.startsWith('the primary')).length, 1, 'once');
});

test('a standby with more of a log than the primary wrote does not follow it, until it is beyond that', async (t) => {
  const { server, first, watched, read, unread } = await cluster(t);
  await read();
  first.replayed = 150n;
  await unread();
  server.written = 150n;
  const standby = await eventually('a look', () => (watched.choose() === undefined ? true : undefined));
  assert.ok(standby);
  server.written = 160n;
  first.replayed = 160n;
  await read();
});

test('after a failover everything is compared anew', async (t) => {
  const { server, first, read, unread } = await cluster(t);
  await read();
  server.timeline = '00000002';
  server.written = 500n;
  await unread();
  first.replayed = 500n;
  await read();
});

test('what is no standby, of another server or not the one that was asked is not read from', async (t) => {
  const { first, second, watched, warnings, named } = await cluster(t, 2);
  await eventually('both', () => new Set(Array.from({ length: 4 }, () => watched.choose()?.name)).size === 2);
  first.isStandby = false;
  second.system = 'another';
  first.cut();
  second.cut();
  await eventually('neither', () => watched.choose() === undefined);
  const reasons = (standby: ScriptedPostgres) =>
    warnings.filter(({ standby: name }) => name === named(standby)).map(({ reason }) => reason ?? '');
  await eventually('both reasons', () => reasons(first).length > 0 && reasons(second).length > 0);
  first.isStandby = true;
  second.system = 'one';
  second.replayed = null;
  await eventually('the first again', () => watched.choose()?.name === named(first));
  const standby = watched.choose();
  assert.ok(standby !== undefined);
  await standby.use(async () => 1);
  // Another server behind the same address, for connections of readers.
  first.started = 'yesterday';
  await assert.rejects(
    Promise.all([
      standby.use((client) => client.query('SELECT 1')),
      standby.use((client) => client.query('SELECT 1')),
    ]),
    /is not the one standby that was asked/,
  );
});

test('a read is given up when its standby stops to answer, and its error is told as it is', async (t) => {
  const { first, read } = await cluster(t);
  const standby = await read();
  await assert.rejects(
    standby.use(async () => {
      throw new Error('of the reader');
    }),
    /of the reader/,
  );
  const { promise: began, resolve } = Promise.withResolvers<void>();
  const reading = standby.use(async (client) => {
    first.isSilent = true;
    resolve();
    await client.query('SELECT 1');
  });
  await began;
  await assert.rejects(reading, /does not answer/);
  assert.equal(standby.answers, false);
  first.isSilent = false;
  await read();
});
