import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { testDatabaseUrl } from '../../config/testing.ts';
import { openDatabase } from './open.ts';
import { probePostgres, probeSqlite } from './probe.ts';

it('a database is looked at without making it', async (t) => {
  const databaseUrl = testDatabaseUrl();
  const dataDir = mkdtempSync(join(tmpdir(), 'turnpike-probe-'));
  t.after(() => rmSync(dataDir, { recursive: true, force: true }));
  const place = { databaseUrl, dataDir, name: `probe_${process.pid}` };
  const probe = async () =>
    databaseUrl === undefined ? probeSqlite(dataDir, place.name) : probePostgres(databaseUrl, place.name);
  const before = await probe();
  assert.equal(before?.migrations, undefined);
  if (databaseUrl === undefined) assert.equal(before, undefined);
  const migrations = ['one', 'two'].map((id) => ({ id, up: `CREATE TABLE ${id} (n BIGINT)` }));
  const sql = await openDatabase({ ...place, migrations });
  try {
    const probed = await probe();
    assert.match(
      probed?.engine ?? '',
      databaseUrl === undefined ? /^SQLite 3\.\d/ : /^PostgreSQL \d+(\.\d+)?$/,
    );
    assert.deepEqual([...(probed?.migrations ?? [])].sort(), ['one', 'two']);
    assert.equal(probed?.readOnly, false);
  } finally {
    if (databaseUrl !== undefined) await sql.run(`DROP SCHEMA "${place.name}" CASCADE`);
    await sql.close();
  }
});
