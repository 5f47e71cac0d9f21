import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { Metrics } from '../../../kernel/metrics.ts';
import { integrityProblems } from './integrity.ts';
import { logBytes, unwatchLog, watchLog } from './log-size.ts';
import { openSqlite } from './open.ts';

test('a file that is sound has no problems, one with a damaged page has, and so has none at all', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-integrity-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'facts.db');
  const database = new DatabaseSync(path);
  database.exec('CREATE TABLE facts (n INTEGER PRIMARY KEY, word TEXT)');
  const insert = database.prepare('INSERT INTO facts (word) VALUES (?)');
  database.exec('BEGIN');
  for (let n = 0; n < 2_000; n += 1) insert.run('x'.repeat(20));
  database.exec('COMMIT');
  database.close();
  assert.deepEqual(await integrityProblems(path), []);
  const sound = readFileSync(path);
  const damaged = Buffer.from(sound);
  damaged.fill(0xff, 4_096, 3 * 4_096);
  writeFileSync(path, damaged);
  const problems = await integrityProblems(path);
  assert.ok(problems.length > 0 && problems.length <= 10, problems.join('\n'));
  assert.ok(problems.every((problem) => problem !== 'ok'));
  assert.equal((await integrityProblems(join(folder, 'none.db'))).length, 1);
});

test('the log of a database is told of for as long as it is open anywhere in the process', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-log-size-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'watched.db');
  assert.equal(logBytes(path), 0);
  const sql = openSqlite(path, [{ id: 'one', up: 'CREATE TABLE facts (n BIGINT)' }]);
  assert.ok(logBytes(path) > 0);
  const shown = async () =>
    /^database_log_bytes\{database="watched"\} (\d+)$/m.exec(await new Metrics().text())?.[1];
  assert.equal(Number(await shown()), logBytes(path));
  watchLog(path);
  const lines = (await new Metrics().text()).split('\n');
  assert.equal(lines.filter((line) => line.startsWith('database_log_bytes{database="watched"}')).length, 1);
  await sql.close();
  assert.equal(await shown(), '0', 'it is open once more');
  unwatchLog(path);
  assert.equal(await shown(), undefined);
});
