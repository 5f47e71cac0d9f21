import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { DatabaseUnavailable, UniqueViolation } from '../sql.ts';
import { isBusy, translated } from './connection.ts';
import { isQuery } from './statement.ts';
import { type Datasync, WalSync } from './wal-sync.ts';

function start(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-wal-'));
  const path = join(folder, 'test.db');
  writeFileSync(`${path}-wal`, '');
  const held: { descriptor: number; done: (error: Error | null) => void }[] = [];
  const datasync: Datasync = (descriptor, done) => void held.push({ descriptor, done });
  const sync = new WalSync(path, datasync);
  t.after(() => {
    sync.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const answers: string[] = [];
  const flush = (name: string) =>
    sync.flushed().then(
      () => answers.push(name),
      (error: unknown) => answers.push(`${name} ${error instanceof DatabaseUnavailable ? 'refused' : error}`),
    );
  return { path, sync, held, answers, flush };
}
const turn = () => new Promise(setImmediate);

test('a sync covers what was committed when it began, and nothing later', async (t) => {
  const { sync, held, answers, flush } = start(t);
  assert.equal(sync.pending, false);
  await flush('nothing');
  sync.committed();
  assert.equal(sync.pending, true);
  void flush('one');
  sync.committed();
  void flush('two');
  void flush('also two');
  assert.equal(held.length, 1, 'one at a time');
  held[0]?.done(null);
  await turn();
  assert.deepEqual(answers, ['nothing', 'one']);
  assert.deepEqual([held.length, sync.pending], [2, true]);
  held[1]?.done(null);
  await turn();
  assert.deepEqual(answers, ['nothing', 'one', 'two', 'also two']);
  assert.deepEqual([held.length, sync.pending], [2, false]);
});

test('a sync that fails, or cannot begin, refuses everything from then on', async (t) => {
  const { sync, held, answers, flush } = start(t);
  sync.committed();
  void flush('one');
  sync.committed();
  void flush('two');
  sync.assertSound();
  held[0]?.done(new Error('EIO'));
  await turn();
  await flush('three');
  assert.deepEqual(answers, ['one refused', 'two refused', 'three refused']);
  assert.deepEqual([held.length, sync.pending], [1, true]);
  assert.throws(() => sync.assertSound(), /the log could not be synced: EIO/);

  const other = start(t);
  unlinkSync(`${other.path}-wal`);
  other.sync.committed();
  await other.flush('one');
  assert.deepEqual([other.answers, other.held.length], [['one refused'], 0]);
});

test('a log that was made anew is opened anew, and one that was not is kept', async (t) => {
  const { path, sync, held, flush } = start(t);
  for (let n = 0; n < 3; n += 1) {
    sync.committed();
    void flush(`${n}`);
    if (n === 1) {
      unlinkSync(`${path}-wal`);
      writeFileSync(`${path}-wal`, 'anew');
    }
    held[n]?.done(null);
    await turn();
  }
  assert.equal(held[0]?.descriptor, held[1]?.descriptor);
  assert.equal(held.length, 3);
  sync.close();
  sync.close();
});

test('an error of the engine is known by its code', () => {
  const coded = (errcode: unknown) => Object.assign(new Error('said'), { errcode });
  for (const code of [1555, 2067, 2579]) assert.ok(translated(coded(code)) instanceof UniqueViolation);
  for (const code of [5, 6, 8, 10, 11, 13, 14, 26, 10 | (3 << 8)])
    assert.ok(translated(coded(code)) instanceof DatabaseUnavailable, String(code));
  for (const error of [coded(1), coded(19), coded('5'), new Error('no code'), 'no error'])
    assert.equal(translated(error), error);
  for (const code of [5, 6, 5 | (2 << 8)]) {
    assert.ok(isBusy(coded(code)));
    assert.ok(isBusy(translated(coded(code))));
  }
  for (const error of [coded(10), new Error('no code'), new DatabaseUnavailable('away')])
    assert.ok(!isBusy(error));
});

test('only what surely changes nothing is a query', () => {
  for (const text of ['SELECT 1', '\n  select 1', 'WITH a AS (SELECT 1) SELECT * FROM a'])
    assert.ok(isQuery(text));
  for (const text of [
    'UPDATE t SET a = 1',
    'SELECTED',
    'PRAGMA x',
    'WITH a AS (SELECT 1) UPDATE t SET a = 1',
    'WITH a AS (SELECT 1) insert INTO t SELECT * FROM a',
    'WITHOUT',
  ])
    assert.ok(!isQuery(text), text);
});
