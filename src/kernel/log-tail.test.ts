import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogger } from './log.ts';
import { LogTail, processLogTail, type TailEvent, type TailQuery } from './log-tail.ts';

const line = (level: string, msg: string) =>
  `${JSON.stringify({ level, time: '2026-01-01T00:00:00.000Z', name: 'test', msg })}\n`;

function following(tail: LogTail, query: Partial<TailQuery> = {}) {
  const ending = new AbortController();
  const events = tail.follow({ level: 'info', limit: 10, beatMs: 60_000, signal: ending.signal, ...query });
  const next = async (): Promise<TailEvent | undefined> => (await events.next()).value ?? undefined;
  return { next, end: () => ending.abort() };
}

const told = (event: TailEvent | undefined): unknown =>
  event?.kind === 'line' ? JSON.parse(event.text).msg : event;

test('the newest lines of a level come first, then those that are written', async () => {
  const tail = new LogTail();
  for (const [level, msg] of [
    ['info', 'one'],
    ['debug', 'two'],
    ['warn', 'three'],
    ['error', 'four'],
  ] as const) {
    tail.push(line(level, msg));
  }
  const { next, end } = following(tail, { limit: 2 });
  assert.deepEqual([told(await next()), told(await next())], ['three', 'four']);
  const waiting = next();
  tail.push(line('debug', 'five'));
  tail.push(line('info', 'six'));
  assert.equal(told(await waiting), 'six');
  const last = next();
  end();
  assert.equal(await last, undefined, 'it ends when nobody reads any more');
});

test('a reader that falls behind is told how many lines it lost and goes on with what is kept', async () => {
  const tail = new LogTail({ lines: 3, size: 10_000, lineSize: 1_000 });
  tail.push(line('info', 'first'));
  const { next } = following(tail);
  assert.equal(told(await next()), 'first');
  for (let count = 1; count <= 5; count += 1) tail.push(line('info', `later ${count}`));
  assert.deepEqual(await next(), { kind: 'lost', count: 2 });
  assert.deepEqual(
    [told(await next()), told(await next()), told(await next())],
    ['later 3', 'later 4', 'later 5'],
  );
});

test('all lines together are bounded, and one that is too long is named in place of itself', async () => {
  const tail = new LogTail({ lines: 100, size: 400, lineSize: 300 });
  for (let count = 1; count <= 10; count += 1) tail.push(line('info', `line ${count} ${'x'.repeat(100)}`));
  const kept = following(tail, { limit: 100 });
  assert.match(String(told(await kept.next())), /^line 9 /);
  const other = new LogTail({ lines: 100, size: 100_000, lineSize: 300 });
  other.push(line('error', 'y'.repeat(5_000)));
  const { next } = following(other, { level: 'error' });
  const event = await next();
  assert.equal(told(event), 'a line of 5075 characters is left out here');
});

test('a reader goes on after the last line that it saw, and a number from elsewhere is no such line', async () => {
  const tail = new LogTail();
  for (const msg of ['one', 'two', 'three']) tail.push(line('info', msg));
  assert.equal(told(await following(tail, { after: 2 }).next()), 'three');
  assert.equal(told(await following(tail, { after: 900, limit: 1 }).next()), 'three');
});

test('while nothing is written a reader gets a sign of life', async () => {
  assert.deepEqual(await following(new LogTail(), { beatMs: 1 }).next(), { kind: 'beat' });
});

test('loggers write here what they write elsewhere, without secrets', async () => {
  const log = createLogger({
    name: 'tail',
    level: 'info',
    format: 'pretty',
    write: () => {},
    redact: (text) => text.replaceAll('only-we-know', '(hidden)'),
  });
  log.info({ password: 'sesame', place: 'https://me:open@host/' }, 'only-we-know');
  const event = await following(processLogTail, { limit: 1 }).next();
  assert.ok(event?.kind === 'line');
  assert.doesNotMatch(event.text, /sesame|open@|only-we-know/);
  assert.equal(told(event), '(hidden)');
});
