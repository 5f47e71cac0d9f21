/** A database that is not to be trusted is read and not written, and a damaged file is seen as that. */
import assert from 'node:assert/strict';
import { closeSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext, test } from 'node:test';
import { collected } from '../../kernel/collected.ts';
import { isCorruption } from '../../storage/sql/corruption.ts';
import { guardWrites } from '../../storage/sql/guard-writes.ts';
import { openSqliteFile } from '../../storage/sql/open.ts';
import { DatabaseUnavailable } from '../../storage/sql/sql.ts';
import { integrityProblems } from '../../storage/sql/sqlite/integrity.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { LedgerSoundness } from './soundness.ts';

const migrations = [{ id: 'one', up: 'CREATE TABLE things (id BIGINT PRIMARY KEY, text TEXT NOT NULL)' }];

forEachEngine((_engine, open) => {
  it('is read, and takes no write by any way, while something is wrong', async () => {
    let trouble: string | undefined;
    const sql = guardWrites(await open(migrations), () => trouble);
    const insert = "INSERT INTO things (id, text) VALUES (?, 'x')";
    assert.equal(await sql.run(insert, 1), 1);
    trouble = 'it is damaged';
    const writes = [
      () => sql.run(insert, 2),
      () => sql.transaction((tx) => tx.run(insert, 2)),
      () => sql.all(`${insert} RETURNING id`, 2),
      () => sql.get(`${insert} RETURNING id`, 2),
    ];
    for (const write of writes) {
      await assert.rejects(
        write,
        (error) => error instanceof DatabaseUnavailable && /damaged/.test(error.message),
      );
    }
    assert.equal((await sql.all('SELECT id FROM things')).length, 1);
    assert.deepEqual(await collected(sql.stream('SELECT id FROM things')), [{ id: 1 }]);
    trouble = undefined;
    assert.equal(await sql.run(insert, 2), 1);
  });
});

/** A file of 500 rows of such a size in which pages are damaged. */
async function damagedFile(t: TestContext, bytes: number): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-damaged-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'things.db');
  const sql = await openSqliteFile(path, migrations);
  await sql.transaction(async (tx) => {
    for (let id = 0; id < 500; id += 1)
      await tx.run('INSERT INTO things VALUES (?, ?)', id, 'x'.repeat(bytes));
  });
  await sql.close();
  assert.deepEqual(await integrityProblems(path), []);
  const file = openSync(path, 'r+');
  // The first page has the schema; every other is made to look like nothing.
  for (let page = 2; page * 4_096 < statSync(path).size; page += 2)
    writeSync(file, Buffer.alloc(64, 0xee), 0, 64, page * 4_096);
  closeSync(file);
  return path;
}

test('a damaged file is found, be it small or read on a thread', async (t) => {
  for (const bytes of [500, 10_000]) {
    const problems = await integrityProblems(await damagedFile(t, bytes));
    assert.ok(problems.length > 0, `${bytes} bytes a row`);
  }
});

test('what reads a damaged file fails as damaged', async (t) => {
  const path = await damagedFile(t, 500);
  const damaged = await openSqliteFile(path, migrations);
  t.after(() => damaged.close());
  const failure = await damaged
    .all('SELECT COUNT(*) AS n, MAX(text) AS last FROM things')
    .catch((error: unknown) => error);
  assert.ok(failure instanceof DatabaseUnavailable);
  assert.ok(isCorruption(failure));
  assert.ok(!isCorruption(new DatabaseUnavailable('PostgreSQL cannot be reached')));

  const soundness = new LedgerSoundness();
  soundness.checkFailed(new DatabaseUnavailable('away'));
  assert.equal(soundness.trouble, undefined);
  assert.equal(soundness.unchecked, 'away');
  soundness.checkFailed(new DatabaseUnavailable('away'));
  soundness.checkFailed(new DatabaseUnavailable('away'));
  assert.match(soundness.trouble ?? '', /could not be checked: away/);
  soundness.checked();
  assert.deepEqual([soundness.trouble, soundness.unchecked], [undefined, undefined]);
  soundness.checkFailed(failure);
  soundness.checked();
  assert.match(soundness.trouble ?? '', /is damaged/);
});
