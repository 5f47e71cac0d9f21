import assert from 'node:assert/strict';
import { it } from 'node:test';
import { guardWrites } from './guard-writes.ts';
import { DatabaseUnavailable } from './sql.ts';
import { forEachEngine } from './testing.ts';

forEachEngine((_engine, open) => {
  it('a database that must not be written is read all the same, and written again afterwards', async () => {
    const sql = await open([{ id: 'one', up: 'CREATE TABLE facts (n BIGINT)' }]);
    let trouble: string | undefined;
    const guarded = guardWrites(sql, () => trouble);
    const insert = 'INSERT INTO facts (n) VALUES (1)';
    const writes: readonly (() => Promise<unknown>)[] = [
      () => guarded.run(insert),
      () => guarded.all(`${insert} RETURNING n`),
      () => guarded.get(`${insert} RETURNING n`),
      () => guarded.transaction((tx) => tx.run(insert)),
    ];
    for (const write of writes) await write();
    trouble = 'a page is damaged';
    const refused = (error: unknown) =>
      error instanceof DatabaseUnavailable && error.message === 'a page is damaged';
    for (const write of writes) await assert.rejects(write, refused);
    assert.deepEqual(await guarded.get('SELECT COUNT(*) AS n FROM facts'), { n: 4 });
    assert.equal((await guarded.all('SELECT n FROM facts')).length, 4);
    const rows: unknown[] = [];
    for await (const row of guarded.stream('SELECT n FROM facts')) rows.push(row);
    assert.equal(rows.length, 4);
    trouble = undefined;
    await guarded.run(insert);
    assert.deepEqual(await guarded.get('SELECT COUNT(*) AS n FROM facts'), { n: 5 });
  });
});
