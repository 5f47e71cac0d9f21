import assert from 'node:assert/strict';
import { it } from 'node:test';
import { forEachEngine } from '../storage/sql/testing.ts';
import { appendEvents, EventLog } from './event-log.ts';
import { cursorText, parseCursor } from './feed.ts';
import { forgetEvents } from './forget-events.ts';
import { eventMigrations } from './migrations.ts';

const event = (subject: string, text: string) => ({ topic: 'test', subject, body: Buffer.from(text) });

forEachEngine((engine, open) => {
  it('rows are read by number, of all or of one wallet, once they were committed and numbered', async () => {
    const sql = await open(eventMigrations);
    const log = new EventLog(sql);
    await sql.transaction((tx) => appendEvents(tx, [event('a', '1'), event('b', '2'), event('', '3')], 10));
    assert.deepEqual(await log.read(0), []);
    assert.equal(await log.number(), 3);
    assert.deepEqual(
      (await log.read(1)).map(({ seq, subject, body, madeAt }) => [seq, subject, body.toString(), madeAt]),
      [
        [2, 'b', '2', 10],
        [3, '', '3', 10],
      ],
    );
    assert.deepEqual(
      (await log.read(0, { subject: 'b' })).map(({ seq }) => seq),
      [2],
    );
  });

  it('numbers go on where they were after everything was pruned', async () => {
    const sql = await open(eventMigrations);
    const log = new EventLog(sql);
    await sql.transaction((tx) => appendEvents(tx, [event('', '1'), event('', '2')], 10));
    await log.number();
    assert.deepEqual([await log.prune(10), await log.prune(11), await log.pruned()], [0, 2, 2]);
    await sql.transaction((tx) => appendEvents(tx, [event('', '3')], 20));
    assert.deepEqual([await log.number(), await log.newest(), (await log.read(0)).length], [3, 3, 1]);
  });

  it('a process that only appends keeps the log within its bounds', async () => {
    const sql = await open(eventMigrations);
    const log = new EventLog(sql);
    const config = { EVENTS_RETENTION_HOURS: 1, EVENTS_MAX_ROWS: 2 };
    await forgetEvents(log, config, 0);
    const append = (at: number, ...texts: string[]) =>
      sql.transaction((tx) =>
        appendEvents(
          tx,
          texts.map((text) => event('', text)),
          at,
        ),
      );
    await append(0, 'old');
    await append(3_600_000, '1', '2', '3');
    await forgetEvents(log, config, 3_600_001);
    assert.deepEqual(
      (await log.read(0)).map(({ body }) => body.toString()),
      ['2', '3'],
    );
  });

  it('a row that commits late is told after those that were numbered before it, and never passed over', async (t) => {
    if (engine === 'sqlite') return t.skip('SQLite commits in the order of writing');
    const sql = await open(eventMigrations);
    const log = new EventLog(sql);
    let written = () => {};
    let finish = () => {};
    const isWritten = new Promise<void>((resolve) => {
      written = resolve;
    });
    const mayFinish = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const late = sql.transaction(async (tx) => {
      await appendEvents(tx, [event('', 'late')], 10);
      written();
      await mayFinish;
    });
    await isWritten;
    await sql.transaction((tx) => appendEvents(tx, [event('', 'early')], 10));
    assert.equal(await log.number(), 1);
    finish();
    await late;
    assert.equal(await log.number(), 2);
    assert.deepEqual(
      (await log.read(0)).map(({ body }) => body.toString()),
      ['early', 'late'],
    );
  });
});

it('a cursor is read as it was written, and nothing else is one', () => {
  for (const cursor of [{ seq: 0 }, { seq: 12 }, { seq: 12, told: 3 }]) {
    assert.deepEqual(parseCursor(cursorText(cursor)), cursor);
  }
  for (const text of ['', '-1', '1-', '01', '1-2-3', '1e3', '9'.repeat(16)]) {
    assert.equal(parseCursor(text), undefined, text);
  }
});
