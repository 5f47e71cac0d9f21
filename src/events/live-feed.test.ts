import assert from 'node:assert/strict';
import { it } from 'node:test';
import { eventually } from '../../test/support/eventually.ts';
import { createLogger } from '../kernel/log.ts';
import type { Sql } from '../storage/sql/sql.ts';
import { forEachEngine } from '../storage/sql/testing.ts';
import { appendEvents, EventLog, type NewEvent } from './event-log.ts';
import { cursorText, type FeedEvent, type Gap, type Told } from './feed.ts';
import { LiveFeed } from './live-feed.ts';
import { eventMigrations } from './migrations.ts';
import { testRow, testSource } from './testing.ts';

const log = createLogger({ level: 'silent', format: 'json', name: 'events' });
const append = (sql: Sql, ...rows: NewEvent[]) => sql.transaction((tx) => appendEvents(tx, rows, Date.now()));
const numberOf = ({ event }: Told<FeedEvent>) => event.data.n;

/** Takes what it is told, as much as it has room for. */
class Taker {
  readonly told: Told<FeedEvent>[] = [];
  readonly gaps: Gap[] = [];
  room = Number.POSITIVE_INFINITY;
  isOver = false;

  take(told: Told<FeedEvent>): boolean {
    this.told.push(told);
    this.room -= 1;
    return this.room > 0;
  }
  gap(gap: Gap): void {
    this.gaps.push(gap);
  }
  end(): void {
    this.isOver = true;
  }
  get numbers(): unknown[] {
    return this.told.map(numberOf);
  }
}

async function startFeed(sql: Sql, retentionMs = 3_600_000) {
  const source = testSource();
  const feed = new LiveFeed({ sql, source, log, retentionMs });
  await feed.part.start?.();
  for (const job of feed.part.jobs ?? []) job.start();
  return {
    feed,
    source,
    async stop() {
      await feed.part.stop?.();
      await Promise.all((feed.part.jobs ?? []).map((job) => job.stop()));
    },
  };
}

forEachEngine((_engine, open) => {
  it('a reader gets what is in the log, then what comes, each once and in order', async () => {
    const sql = await open(eventMigrations);
    await append(sql, testRow('a', [1, 2, 3]), testRow('b', [4]));
    const { feed, stop } = await startFeed(sql);
    const all = new Taker();
    const onlyA = new Taker();
    const fromNow = new Taker();
    feed.subscribe({ seq: 0 }, {}, all);
    feed.subscribe({ seq: 1, told: 1 }, { types: ['a'] }, onlyA);
    feed.subscribe(await feed.newest(), {}, fromNow);
    await eventually('the log to be told', async () => all.told.length === 4);
    await append(sql, testRow('a', [5, 6]), testRow('b', [7]));
    feed.wake();
    await eventually('the news to be told', async () => all.told.length === 7);
    assert.deepEqual(all.numbers, [1, 2, 3, 4, 5, 6, 7]);
    assert.deepEqual(onlyA.numbers, [2, 3, 5, 6]);
    assert.deepEqual(fromNow.numbers, [5, 6, 7]);
    assert.deepEqual(
      all.told.map(({ cursor }) => cursorText(cursor)),
      ['1-1', '1-2', '1-3', '2-1', '3-1', '3-2', '4-1'],
    );
    await stop();
    assert.ok(all.isOver);
  });

  it('a wallet gets its own events only', async () => {
    const sql = await open(eventMigrations);
    const { feed, stop } = await startFeed(sql);
    const late = new Taker();
    const live = new Taker();
    feed.subscribe({ seq: 0 }, { subject: 'me' }, live);
    await append(sql, testRow('a', [1], 'me'), testRow('a', [2], 'other'), testRow('a', [3]));
    await append(sql, testRow('a', [4], 'me'));
    feed.wake();
    await eventually('the wallet to be told', async () => live.told.length === 2);
    feed.subscribe({ seq: 0 }, { subject: 'me' }, late);
    await eventually('the late reader to be told', async () => late.told.length === 2);
    assert.deepEqual(
      [live.numbers, late.numbers],
      [
        [1, 4],
        [1, 4],
      ],
    );
    await stop();
  });

  it('a slow reader is told the rest from the log, and others do not wait for it', async () => {
    const sql = await open(eventMigrations);
    const { feed, stop } = await startFeed(sql);
    const slow = new Taker();
    const fast = new Taker();
    slow.room = 3;
    const subscription = feed.subscribe({ seq: 0 }, {}, slow);
    feed.subscribe({ seq: 0 }, {}, fast);
    const numbers = Array.from({ length: 500 }, (_, n) => n);
    for (let at = 0; at < 500; at += 100) {
      await append(sql, testRow('a', numbers.slice(at, at + 100)));
      feed.wake();
    }
    await eventually('the fast reader to have all', async () => fast.told.length === 500);
    assert.equal(slow.told.length, 3);
    slow.room = 200;
    subscription.resume();
    await eventually('the slow reader to be full again', async () => slow.told.length === 203);
    slow.room = Number.POSITIVE_INFINITY;
    subscription.resume();
    await eventually('the slow reader to have all', async () => slow.told.length === 500);
    await append(sql, testRow('a', [500]));
    feed.wake();
    await eventually('it to be live again', async () => slow.told.length === 501);
    assert.deepEqual(slow.numbers, [...numbers, 500]);
    await stop();
  });

  it('what another process appends is told too, in one order for all', async () => {
    const sql = await open(eventMigrations, 'shared');
    const [one, two] = [await startFeed(sql), await startFeed(await open(eventMigrations, 'shared'))];
    const [first, second] = [new Taker(), new Taker()];
    one.feed.subscribe({ seq: 0 }, {}, first);
    two.feed.subscribe({ seq: 0 }, {}, second);
    for (let n = 0; n < 20; n += 1) {
      await append(sql, testRow('a', [n]));
      (n % 2 === 0 ? one : two).feed.wake();
    }
    await eventually('both to have all', async () => first.told.length === 20 && second.told.length === 20);
    assert.deepEqual(first.numbers, second.numbers);
    await one.stop();
    await two.stop();
  });

  it('a reader whose place was pruned, or is of another log, is told of the gap and goes on', async () => {
    const sql = await open(eventMigrations);
    const { feed, stop } = await startFeed(sql, 0);
    await append(sql, testRow('a', [1]), testRow('a', [2]));
    feed.wake();
    await eventually('the rows to be numbered', async () => feed.tail === 2);
    await eventually('the rows to be pruned', async () => {
      await feed.prune();
      return (await new EventLog(sql).pruned()) === 2;
    });
    const [behind, foreign] = [new Taker(), new Taker()];
    feed.subscribe({ seq: 1 }, {}, behind);
    feed.subscribe({ seq: 900, told: 2 }, {}, foreign);
    await append(sql, testRow('a', [3]));
    feed.wake();
    await eventually('both to be told', async () => behind.told.length === 1 && foreign.told.length === 1);
    assert.deepEqual(behind.gaps, [{ from: { seq: 1 }, to: { seq: 2 } }]);
    assert.deepEqual(foreign.gaps, [{ from: { seq: 900, told: 2 }, to: { seq: 2 } }]);
    await stop();
  });

  it('nothing is expanded where nobody listens, and once for all that do', async () => {
    const sql = await open(eventMigrations);
    const { feed, source, stop } = await startFeed(sql);
    await append(sql, testRow('a', [1]));
    feed.wake();
    await eventually('the row to be passed', async () => feed.tail === 1);
    assert.equal(source.expanded, 0);
    const takers = Array.from({ length: 100 }, () => new Taker());
    for (const taker of takers) feed.subscribe(await feed.newest(), { key: 'all' }, taker);
    await append(sql, testRow('a', [2]));
    feed.wake();
    await eventually('all to be told', async () => takers.every(({ told }) => told.length === 1));
    assert.equal(source.expanded, 1);
    await stop();
  });

  it('can be iterated over, and ends with the signal', async () => {
    const sql = await open(eventMigrations);
    const { feed, stop } = await startFeed(sql);
    await append(
      sql,
      testRow(
        'a',
        Array.from({ length: 300 }, (_, n) => n),
      ),
    );
    feed.wake();
    const ending = new AbortController();
    const seen: unknown[] = [];
    for await (const told of feed.follow({ seq: 0 }, {}, ending.signal)) {
      if ('gap' in told) continue;
      seen.push(numberOf(told));
      if (seen.length === 300) ending.abort();
    }
    assert.deepEqual(
      seen,
      Array.from({ length: 300 }, (_, n) => n),
    );
    assert.equal(feed.readers, 0);
    await stop();
  });
});
