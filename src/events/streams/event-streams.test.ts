import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { it, type TestContext } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import type { HttpServer } from '../../kernel/http/server.ts';
import { silentLog, testServer } from '../../kernel/testing.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { appendEvents, type NewEvent } from '../event-log.ts';
import { LiveFeed } from '../live-feed.ts';
import { eventMigrations } from '../migrations.ts';
import { testRow, testSource } from '../testing.ts';
import { EventStreams } from './event-streams.ts';
import { ReaderLimits } from './reader-limits.ts';

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

interface Served {
  readonly server: HttpServer;
  readonly limits: ReaderLimits;
  /** Answers that were begun. */
  readonly answers: ServerResponse[];
  append(...rows: NewEvent[]): Promise<void>;
  drain(): Promise<boolean>;
}

/** A server with a stream of everything at `/events`. */
async function serve(sql: Sql, max = 100, maxPerNetwork = 100): Promise<Served> {
  const feed = new LiveFeed({ sql, source: testSource(), log: silentLog, retentionMs: 3_600_000 });
  const limits = new ReaderLimits({ max, maxPerNetwork, proxies: 1 });
  const streams = new EventStreams({ feed, limits });
  const server = testServer();
  const answers: ServerResponse[] = [];
  server.app.get<{ Querystring: { after?: string; type?: string } }>('/events', async (request, reply) => {
    const { after, type } = request.query;
    answers.push(reply.raw);
    await streams.send(request, reply, { after, query: type === undefined ? {} : { types: [type] } });
    return reply;
  });
  await feed.part.start?.();
  await server.listen();
  for (const job of feed.part.jobs ?? []) job.start();
  const stop = async () => {
    await feed.part.stop?.();
    await server.close();
    await Promise.all((feed.part.jobs ?? []).map((job) => job.stop()));
    await streams.part.stop?.();
  };
  ends.push(stop);
  return {
    server,
    limits,
    answers,
    async append(...rows) {
      await sql.transaction((tx) => appendEvents(tx, rows, Date.now()));
      feed.wake();
    },
    async drain() {
      const [drained] = await Promise.all([server.drain(10_000), feed.part.drain?.(10_000)]);
      return drained;
    },
  };
}

class Reader {
  text = '';
  readonly answer: IncomingMessage;

  constructor(answer: IncomingMessage) {
    this.answer = answer;
    answer.setEncoding('utf8').on('data', (piece: string) => {
      this.text += piece;
    });
    answer.on('error', () => {});
  }

  static async open(url: string, headers: Record<string, string> = {}): Promise<Reader> {
    const [answer] = await once(get(url, { headers, agent: false }), 'response');
    return new Reader(answer);
  }

  /** Ids, types and data of what was told. */
  get told(): [string, string, unknown][] {
    return (
      this.text
        .split('\n\n')
        // The last one may still be on its way.
        .slice(0, -1)
        .filter((block) => block.includes('event: '))
        .map((block) => {
          const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1] ?? '';
          return [field('id'), field('event'), JSON.parse(field('data'))];
        })
    );
  }
}

forEachEngine((engine, open) => {
  test('tells events with their ids, and goes on after the last that was seen', async () => {
    const { server, append } = await serve(await open(eventMigrations));
    const first = await Reader.open(`${server.url}/events`);
    assert.equal(first.answer.headers['content-type'], 'text/event-stream; charset=utf-8');
    await eventually('the head', async () => first.text === 'retry: 2000\nid: 0\n\n');
    await append(testRow('a', [1, 2]), testRow('b', [3]));
    await eventually('three events', async () => first.told.length === 3);
    assert.deepEqual(
      first.told.map(([id, type, json]) => [id, type, Reflect.get(Object(json), 'id')]),
      [
        ['1-1', 'a', '1-1'],
        ['1-2', 'a', '1-2'],
        ['2-1', 'b', '2-1'],
      ],
    );
    first.answer.destroy();
    await append(testRow('a', [4]));
    const again = await Reader.open(`${server.url}/events?after=0`, { 'last-event-id': '1-1' });
    await eventually('the rest', async () => again.told.length === 3);
    assert.deepEqual(
      again.told.map(([id]) => id),
      ['1-2', '2-1', '3-1'],
    );
    const chosen = await Reader.open(`${server.url}/events?after=0&type=b`);
    await eventually('the one', async () => chosen.told.length === 1);
    for (const reader of [again, chosen]) reader.answer.destroy();
  });

  test('refuses what is no cursor, and more readers than it serves, and forgets those that left', async (t) => {
    if (engine !== 'sqlite') return t.skip('the same on both');
    const { server, limits } = await serve(await open(eventMigrations), 3, 2);
    const refused = await fetch(`${server.url}/events?after=x`);
    assert.deepEqual([refused.status, limits.count], [400, 0]);
    const from = (address: string) => ({ 'x-forwarded-for': address });
    const one = await Reader.open(`${server.url}/events`, from('192.0.2.1'));
    const two = await Reader.open(`${server.url}/events`, from('192.0.2.1'));
    const three = await fetch(`${server.url}/events`, { headers: from('192.0.2.1') });
    assert.deepEqual([three.status, three.headers.get('retry-after')], [429, '30']);
    const other = await Reader.open(`${server.url}/events`, from('192.0.2.2'));
    assert.equal((await fetch(`${server.url}/events`, { headers: from('192.0.2.3') })).status, 503);
    one.answer.destroy();
    await eventually('the reader to be forgotten', async () => limits.count === 2);
    const next = await Reader.open(`${server.url}/events`, from('192.0.2.1'));
    for (const { answer } of [two, other, next]) answer.destroy();
    await eventually('all to be forgotten', async () => limits.count === 0);
  });

  test('ends whole when the server drains', async (t) => {
    if (engine !== 'sqlite') return t.skip('the same on both');
    const { server, append, drain } = await serve(await open(eventMigrations));
    const reader = await Reader.open(`${server.url}/events`);
    await append(testRow('a', [1]));
    await eventually('the event', async () => reader.told.length === 1);
    const ended = once(reader.answer, 'end');
    assert.equal(await drain(), true);
    await ended;
    assert.equal(reader.answer.complete, true);
  });

  test('a reader that takes nothing holds no events in memory, and gets all of them once it reads', async (t) => {
    if (engine !== 'sqlite') return t.skip('the same on both');
    const { server, append, answers } = await serve(await open(eventMigrations));
    const socket = connect(server.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.pause();
    socket.write('GET /events?after=0 HTTP/1.1\r\nHost: x\r\n\r\n');
    const text = 'x'.repeat(2_000);
    const rows = 40;
    for (let row = 0; row < rows; row += 1) {
      const events = Array.from({ length: 100 }, (_, n) => ({ type: 'a', data: { n: row * 100 + n, text } }));
      await append({ topic: 'test', subject: '', body: Buffer.from(JSON.stringify(events)) });
    }
    const other = await Reader.open(`${server.url}/events?after=0`);
    await eventually('the other to have all', async () => other.told.length === rows * 100);
    assert.ok((answers[0]?.writableLength ?? 0) < 128 * 1024);
    let received = '';
    socket.setEncoding('latin1').on('data', (piece: string) => {
      received += piece;
    });
    socket.resume();
    const seen = () => [...received.matchAll(/^id: [0-9]+-[0-9]+$/gm)].map(([line]) => line);
    await eventually('it to have all', async () => seen().length >= rows * 100);
    assert.equal(new Set(seen()).size, rows * 100);
    socket.destroy();
    other.answer.destroy();
  });
});
