import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { it, type TestContext } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { HttpError } from '../../kernel/errors.ts';
import { silentLog } from '../../kernel/testing.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { appendEvents, type NewEvent } from '../event-log.ts';
import { LiveFeed } from '../live-feed.ts';
import { eventMigrations } from '../migrations.ts';
import { testRow, testSource } from '../testing.ts';
import { type HookLimits, Hooks } from './hooks.ts';

/** What a test began; ended before its database is closed. */
const ends: (() => Promise<unknown>)[] = [];
const test = (name: string, run: (t: TestContext) => Promise<void>) =>
  it(name, async (t) => {
    try {
      await run(t);
    } finally {
      for (const end of ends.splice(0).toReversed()) await end();
    }
  });

interface Received {
  readonly id: string;
  readonly signatures: readonly string[];
  readonly timestamp: string;
  readonly text: string;
  readonly events: readonly { id: string; type: string; data: { n?: number } }[];
  readonly gap?: unknown;
}

/** A webhook's other side: keeps what it gets, and answers what it is told to. */
class Receiver {
  readonly received: Received[] = [];
  status = 204;
  headers: Record<string, string> = {};
  /** Called before an answer; may keep it waiting. */
  before: () => Promise<void> | void = () => {};
  readonly server: Server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    const text = Buffer.concat(parts).toString();
    const header = (name: string) => String(request.headers[name] ?? '');
    this.received.push({
      id: header('webhook-id'),
      timestamp: header('webhook-timestamp'),
      signatures: header('webhook-signature').split(' '),
      text,
      ...JSON.parse(text),
    });
    await this.before();
    response.writeHead(this.status, this.headers).end();
  });

  static async start(): Promise<Receiver> {
    const receiver = new Receiver();
    receiver.server.listen(0, '127.0.0.1');
    await once(receiver.server, 'listening');
    ends.push(async () => {
      receiver.server.closeAllConnections();
      receiver.server.close();
    });
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/hook`;
  }

  /** Numbers of the events, pings left out. */
  get numbers(): (number | undefined)[] {
    return this.received
      .flatMap(({ events }) => events)
      .flatMap(({ type, data }) => (type === 'ping' ? [] : [data.n]));
  }
}

const hour = 3_600_000;
const limits: HookLimits = {
  ...{ maxHooks: 5, maxPerOwner: 2, timeoutMs: 5_000, allowPrivate: true, giveUpMs: 24 * hour },
  ...{ endAfterMs: 7 * 24 * hour, maxDeadLetters: 2, keepDeadLettersMs: 30 * 24 * hour },
};
const noMetrics = { delivered: { inc() {} }, failed: { inc() {} }, dead: { inc() {} } };

/** A process with a feed and hooks, on a clock of its own. */
async function startHooks(sql: Sql, changed: Partial<HookLimits> = {}) {
  const clock = { now: Date.now() };
  const now = () => clock.now;
  const source = testSource();
  const feed = new LiveFeed({ sql, source, log: silentLog, now, retentionMs: 72 * hour });
  const hooks = new Hooks({
    ...{ sql, feed, source, log: silentLog, metrics: noMetrics, now, limits: { ...limits, ...changed } },
  });
  const parts = [feed.part, hooks.part];
  for (const part of parts) await part.start?.();
  for (const job of parts.flatMap(({ jobs = [] }) => jobs)) job.start();
  let isStopped = false;
  const stop = async () => {
    if (isStopped) return;
    isStopped = true;
    for (const part of parts.toReversed()) {
      await Promise.all((part.jobs ?? []).map((job) => job.stop()));
      await part.stop?.();
    }
  };
  ends.push(stop);
  return {
    clock,
    feed,
    hooks,
    stop,
    async append(...rows: NewEvent[]) {
      await sql.transaction((tx) => appendEvents(tx, rows, clock.now));
      feed.wake();
    },
    /** Sets the clock forward. */
    later(ms: number) {
      clock.now += ms;
      hooks.deliverer.wake();
    },
  };
}

function isSigned({ id, timestamp, signatures, text }: Received, secret: string): boolean {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${text}`).digest('base64');
  return signatures.includes(`v1,${signature}`);
}

const refusal = (status: number, words: RegExp) => (error: unknown) =>
  error instanceof HttpError && error.status === status && words.test(String(error.body));

forEachEngine((engine, open) => {
  test('a ping, then every event that matches, in order, signed, over a restart', async () => {
    const sql = await open(eventMigrations);
    const receiver = await Receiver.start();
    const first = await startHooks(sql);
    await first.append(testRow('a', [0]));
    await eventually('the row to be passed', async () => first.feed.tail === 1);
    const { id, secret } = await first.hooks.add('', { url: receiver.url, query: { types: ['a'] } });
    await first.append(
      testRow('a', [1, 2]),
      testRow('b', [3]),
      testRow(
        'a',
        Array.from({ length: 150 }, (_, n) => n + 4),
      ),
    );
    const expected = [1, 2, ...Array.from({ length: 150 }, (_, n) => n + 4)];
    await eventually('all to be taken', async () => receiver.numbers.length === expected.length);
    assert.deepEqual(receiver.numbers, expected);
    assert.equal(receiver.received[0]?.events[0]?.type, 'ping');
    assert.ok(receiver.received.every((message) => isSigned(message, secret)));
    assert.ok(receiver.received.every(({ events }) => events.length <= 100));
    assert.equal(new Set(receiver.received.map((message) => message.id)).size, receiver.received.length);
    await eventually('it to be written down', async () => (await first.hooks.get('', id)).delivered === 152);
    await first.stop();
    await sql.transaction((tx) => appendEvents(tx, [testRow('a', [500])], Date.now()));
    await startHooks(sql);
    await eventually('the rest to be taken', async () => receiver.numbers.length === expected.length + 1);
    assert.deepEqual(receiver.numbers, [...expected, 500]);
  });

  test('a receiver that is down for a minute gets everything in order, the same message until it is taken', async () => {
    const receiver = await Receiver.start();
    const { hooks, append, later } = await startHooks(await open(eventMigrations));
    const { id } = await hooks.add('', { url: receiver.url });
    await eventually('the ping', async () => receiver.received.length === 1);
    receiver.status = 503;
    await append(testRow('a', [1, 2]));
    for (let failures = 1; failures <= 6; failures += 1) {
      await eventually('another try', async () => (await hooks.get('', id)).failures === failures);
      // What comes meanwhile is in the next message.
      await append(testRow('a', [2 + failures]));
      const { state, nextTryAt } = await hooks.get('', id);
      assert.equal(state, 'failing');
      assert.ok(nextTryAt !== null);
      if (failures === 6) receiver.status = 200;
      later(10_000 * failures);
    }
    await eventually('all to be taken', async () => (await hooks.get('', id)).delivered === 8);
    const tried = receiver.received.slice(1);
    assert.deepEqual(new Set(tried.slice(0, 7).map((message) => message.id)).size, 1);
    assert.deepEqual(new Set(tried.slice(0, 7).map(({ text }) => text)).size, 1);
    assert.deepEqual(receiver.numbers.slice(12), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert.equal((await hooks.get('', id)).state, 'active');
  });

  test('what is not taken for a day becomes a dead letter that can be read, sent again and dropped', async () => {
    const receiver = await Receiver.start();
    const { hooks, append, later } = await startHooks(await open(eventMigrations));
    const { id } = await hooks.add('', { url: receiver.url });
    await eventually('the ping', async () => receiver.received.length === 1);
    receiver.status = 500;
    for (let n = 1; n <= 3; n += 1) {
      await append(testRow('a', [n]));
      await eventually(
        'a try',
        async () => (await hooks.get('', id)).failures > 0 && receiver.numbers.at(-1) === n,
      );
      await eventually('it to be given up', async () => {
        later(hour);
        const letters = await hooks.letters('', id);
        return letters.length === Math.min(n, 2) &&
          (await hooks.letter('', id, letters[0]?.id ?? '')).events === 1
          ? JSON.stringify((await hooks.letter('', id, letters[0]?.id ?? '')).body).includes(`"n":${n}`)
          : false;
      });
    }
    const [newest, older] = await hooks.letters('', id);
    assert.ok(newest !== undefined && older !== undefined);
    assert.deepEqual([newest.status, newest.error], [500, 'it answered 500']);
    assert.equal((await hooks.resend('', id, older.id)).taken, false);
    assert.equal((await hooks.letters('', id)).length, 2);
    receiver.status = 200;
    assert.equal((await hooks.resend('', id, older.id)).taken, true);
    assert.deepEqual([receiver.received.at(-1)?.id, receiver.numbers.at(-1)], [older.id, 2]);
    await hooks.dropLetter('', id, newest.id);
    assert.deepEqual(await hooks.letters('', id), []);
    await append(testRow('a', [9]));
    later(hour);
    await eventually('the hook to go on', async () => receiver.numbers.at(-1) === 9);
  });

  test('an answer that was lost is followed by the same message, and two processes send nothing twice', async () => {
    const sql = await open(eventMigrations, 'shared');
    const receiver = await Receiver.start();
    const one = await startHooks(sql, { leaseMs: 600 });
    const two = await startHooks(await open(eventMigrations, 'shared'), { leaseMs: 600 });
    await one.hooks.add('', { url: receiver.url });
    const numbers = Array.from({ length: 60 }, (_, n) => n);
    for (const n of numbers) await (n % 2 === 0 ? one : two).append(testRow('a', [n]));
    await eventually('all to be taken', async () => receiver.numbers.length >= numbers.length);
    assert.deepEqual(
      receiver.numbers.toSorted((a = 0, b = 0) => a - b),
      numbers,
    );
    await one.stop();
    await two.append(testRow('a', [60]));
    await eventually('the other process to take over', async () => receiver.numbers.at(-1) === 60);
    receiver.before = () => {
      receiver.before = () => {};
      receiver.server.closeAllConnections();
    };
    await two.append(testRow('a', [61]));
    await eventually('it to be sent', async () => receiver.numbers.at(-1) === 61);
    await eventually('it to be sent again', async () => {
      two.later(1_000);
      return receiver.numbers.filter((n) => n === 61).length === 2;
    });
    const [first, second] = receiver.received.slice(-2);
    assert.deepEqual([first?.id, first?.text], [second?.id, second?.text]);
  });

  test('both secrets sign for a day after a change; a pause keeps what happens for later', async () => {
    const receiver = await Receiver.start();
    const { hooks, append, later } = await startHooks(await open(eventMigrations));
    const { id, secret } = await hooks.add('', { url: receiver.url });
    await eventually('the ping', async () => receiver.received.length === 1);
    const rotated = await hooks.rotate('', id);
    assert.notEqual(rotated.secret, secret);
    await append(testRow('a', [1]));
    await eventually('an event', async () => receiver.numbers.length === 1);
    const [, both] = receiver.received;
    assert.ok(both !== undefined && isSigned(both, secret) && isSigned(both, rotated.secret));
    await eventually('it to be written down', async () => (await hooks.get('', id)).delivered === 1);
    assert.equal((await hooks.pause('', id)).state, 'paused');
    await append(testRow('a', [2]));
    later(25 * hour);
    await hooks.resume('', id);
    await eventually('the event of the pause', async () => receiver.numbers.length === 2);
    const last = receiver.received.at(-1);
    assert.ok(last !== undefined && !isSigned(last, secret) && isSigned(last, rotated.secret));
    assert.ok(!JSON.stringify(await hooks.list('')).includes(rotated.secret));
  });

  test("a wallet has hooks for its own events only, so many and no more, and sees no other's", async () => {
    const receiver = await Receiver.start();
    const { hooks, append } = await startHooks(await open(eventMigrations), { maxHooks: 3 });
    const mine = await hooks.add('me', { url: receiver.url, query: { subject: 'you' } });
    await append(testRow('a', [1], 'you'), testRow('a', [2], 'me'), testRow('a', [3]));
    await eventually('the event', async () => receiver.numbers.length === 1);
    assert.deepEqual(receiver.numbers, [2]);
    await hooks.add('me', { url: receiver.url });
    await assert.rejects(hooks.add('me', { url: receiver.url }), refusal(409, /there may be 2/));
    await hooks.add('you', { url: receiver.url });
    await assert.rejects(hooks.add('other', { url: receiver.url }), refusal(503, /No room/));
    for (const attempt of [
      () => hooks.get('you', mine.id),
      () => hooks.remove('you', mine.id),
      () => hooks.pause('you', mine.id),
      () => hooks.rotate('', mine.id),
      () => hooks.letters('you', mine.id),
    ]) {
      await assert.rejects(attempt(), refusal(404, /No such hook/));
    }
    assert.equal((await hooks.list('me')).length, 2);
    await hooks.remove('me', mine.id);
    assert.equal((await hooks.list('me')).length, 1);
  });

  test('a receiver that says it is gone ends its hook, which can be resumed where it was', async () => {
    const receiver = await Receiver.start();
    const { hooks, append } = await startHooks(await open(eventMigrations));
    const { id } = await hooks.add('', { url: receiver.url });
    await eventually('the ping', async () => receiver.received.length === 1);
    receiver.status = 410;
    await append(testRow('a', [1]));
    await eventually('the end', async () => (await hooks.get('', id)).state === 'ended');
    await append(testRow('a', [2]));
    receiver.status = 200;
    await hooks.resume('', id);
    await eventually('both', async () => receiver.numbers.at(-1) === 2);
    assert.deepEqual(receiver.numbers, [1, 1, 2]);
  });

  test('addresses of our own network and others that messages may not go to are refused, and nothing is stored', async (t) => {
    if (engine !== 'sqlite') return t.skip('the same on both');
    const { hooks } = await startHooks(await open(eventMigrations), { allowPrivate: false });
    for (const url of [
      'http://example.com/',
      'https://127.0.0.1/',
      'https://2130706433/',
      'https://[::1]/',
      'https://[::ffff:10.0.0.1]/',
      'https://169.254.169.254/latest/meta-data',
      'https://localhost/',
      'https://service.internal/',
      'https://user:pass@example.com/',
      'ftp://example.com/',
      'javascript:1',
      'no url',
      `https://example.com/${'x'.repeat(2_048)}`,
    ]) {
      await assert.rejects(hooks.add('', { url }), refusal(400, /^Invalid hook - url/), url);
    }
    await assert.rejects(hooks.add('', {}), refusal(400, /url is missing/));
    await assert.rejects(
      hooks.add('', { url: 'https://example.com/', query: { types: 'a' } }),
      refusal(400, /types must be a list/),
    );
    assert.deepEqual(await hooks.list(''), []);
  });

  test('redirects are not followed, and a wish for rest is granted', async (t) => {
    if (engine !== 'sqlite') return t.skip('the same on both');
    const receiver = await Receiver.start();
    const { hooks, append, clock, later } = await startHooks(await open(eventMigrations));
    const { id } = await hooks.add('', { url: receiver.url });
    await eventually('the ping', async () => receiver.received.length === 1);
    receiver.status = 302;
    receiver.headers = { location: receiver.url };
    await append(testRow('a', [1]));
    await eventually('a failure', async () => (await hooks.get('', id)).lastStatus === 302);
    assert.equal(receiver.received.length, 2);
    receiver.status = 429;
    receiver.headers = { 'retry-after': '600' };
    later(2_000);
    await eventually('another', async () => (await hooks.get('', id)).lastStatus === 429);
    const { nextTryAt } = await hooks.get('', id);
    assert.ok(nextTryAt !== null && nextTryAt - clock.now >= 400_000);
  });
});
