/** A schema of PostgreSQL copied and put back: every type, every row, and the numbers that were given. TEST_DATABASE_URL. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { testDatabaseUrl } from '../../config/testing.ts';
import { DiskBlobStore } from '../blobs/disk/store.ts';
import { openDatabase } from '../sql/open.ts';
import { forEachEngine } from '../sql/testing.ts';
import { copyPostgres, dropSchema, isSchemaUsed, restorePostgres } from './postgres-copy.ts';

const first = {
  id: 'one',
  up: `CREATE TABLE things (id SERIAL_KEY, text TEXT, amount AMOUNT, bytes BYTES, many BIGINT);
       CREATE TABLE start (only_row BIGINT PRIMARY KEY, value BIGINT NOT NULL);
       INSERT INTO start (only_row, value) VALUES (1, 0)`,
};
const second = { id: 'two', up: 'ALTER TABLE things ADD COLUMN later BIGINT NOT NULL DEFAULT 5' };

forEachEngine((engine, open) => {
  if (engine !== 'postgres') return;
  it('keeps every value exactly, and goes on counting where it was', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'turnpike-backup-'));
    const store = await DiskBlobStore.open({ folder });
    const url = testDatabaseUrl() ?? '';
    const sql = await open([first], 'source');
    const { place = '' } =
      (await sql.get<{ place: string }>('SELECT tableoid::regclass::text AS place FROM start')) ?? {};
    const schema = place.replace(/\.start$/, '').replaceAll('"', '');
    const target = { url, schema: `${schema}_restored` };
    t.after(async () => {
      await dropSchema(target);
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    });
    const huge = `${'9'.repeat(39)}`;
    const add = (text: string | null, amount: string | null, bytes: Buffer | null, many: number | null) =>
      sql.run(
        'INSERT INTO things (text, amount, bytes, many) VALUES (?, ?, ?, ?)',
        text,
        amount,
        bytes,
        many,
      );
    await add(
      'quote " back \\ slash \n line \u2028 ünï 🚏',
      huge,
      Buffer.from([0, 1, 255, 10]),
      Number.MAX_SAFE_INTEGER,
    );
    await add(null, `-${huge}`, Buffer.alloc(0), null);
    for (let count = 0; count < 2_500; count += 1) await add(`row ${count}`, String(count), null, -count);
    await sql.run('UPDATE start SET value = 42');
    // The number of a row that is gone is not given again.
    await sql.run('DELETE FROM things WHERE id = (SELECT MAX(id) FROM things)');

    let isCounted = false;
    const copy = await copyPostgres(store, { url, schema }, async (snapshot) => {
      const counted = await snapshot.get<{ n: number }>(
        'SELECT COUNT(*) AS n FROM things WHERE many <> ?',
        3,
      );
      isCounted = counted?.n === 2_500;
    });
    assert.ok(copy !== undefined && isCounted);
    assert.deepEqual(copy.rows, { schema_migrations: 1, start: 1, things: 2_501 });
    assert.equal(await isSchemaUsed(target), false);
    await restorePostgres(store, { name: 'source', ...copy }, target, [first, second]);
    assert.equal(await isSchemaUsed(target), true);

    const restored = await openDatabase({
      ...{ databaseUrl: url, dataDir: '', name: target.schema, migrations: [first, second] },
    });
    try {
      const rows = await sql.all('SELECT id, text, amount, bytes, many FROM things ORDER BY id');
      assert.deepEqual(
        await restored.all('SELECT id, text, amount, bytes, many FROM things ORDER BY id'),
        rows,
      );
      assert.deepEqual(await restored.get('SELECT value FROM start'), { value: 42 });
      const added = "INSERT INTO things (text) VALUES ('new') RETURNING id";
      assert.deepEqual(await restored.get(added), await sql.get(added));
    } finally {
      await restored.close();
    }
    await assert.rejects(
      restorePostgres(store, { name: 'source', ...copy, migrations: ['one', 'later'] }, target, [first]),
      /has had migration "later", which this version does not know/,
    );
  });
});
