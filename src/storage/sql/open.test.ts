import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { StartupError } from '../../kernel/errors.ts';
import { databaseSettings, openDatabase } from './open.ts';

describe('opening a database', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'turnpike-open-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const open = (name: string, databaseUrl?: string) =>
    openDatabase({ databaseUrl, dataDir: folder, name, migrations: [] });

  it('makes a file in a folder that it makes too', async () => {
    const sql = await openDatabase({
      databaseUrl: undefined,
      dataDir: join(folder, 'a', 'b'),
      name: 'ledger',
      migrations: [],
    });
    assert.deepEqual(await sql.get('SELECT 1 AS one'), { one: 1 });
    await sql.close();
  });

  it('says in one line what a person can do something about', async () => {
    writeFileSync(
      join(folder, 'ledger.db'),
      'this is no database, and far too long to be an empty one '.repeat(100),
    );
    await assert.rejects(open('ledger'), StartupError);
    writeFileSync(join(folder, 'file'), '');
    await assert.rejects(
      openDatabase({ databaseUrl: undefined, dataDir: join(folder, 'file'), name: 'ledger', migrations: [] }),
      StartupError,
    );
    await assert.rejects(open('ledger', 'postgres://user:secret@127.0.0.1:1/none'), (error) => {
      assert.ok(error instanceof StartupError);
      assert.match(error.message, /^DATABASE_URL: /);
      assert.doesNotMatch(error.message, /secret/);
      return true;
    });
    await assert.rejects(open('ledger', 'postgres://127.0.0.1/none?pool_size=0'), StartupError);
  });

  it('takes no name that could be a path or a statement', async () => {
    for (const name of ['', '../x', 'a"b', 'A', 'a/b', '-a', 'a'.repeat(60)]) {
      await assert.rejects(open(name), /cannot name a database/);
    }
  });
});

describe('where a database is', () => {
  const config = { DATABASE_URL: 'postgres://all', DATABASE_URL_LEDGER: 'postgres://ledger' };
  const reading = { DATABASE_READ_URLS: ['postgres://standby'], DATABASE_READ_MAX_STALENESS_MS: 500 };

  it('is a server of its own where one is named, else the one of all', () => {
    assert.deepEqual(databaseSettings(config, 'ledger'), {
      ...{ databaseUrl: 'postgres://ledger', urlVariable: 'DATABASE_URL_LEDGER' },
    });
    assert.deepEqual(databaseSettings(config, 'router'), {
      ...{ databaseUrl: 'postgres://all', urlVariable: 'DATABASE_URL' },
    });
    assert.equal(databaseSettings({ DATABASE_URL: undefined }, 'ledger').databaseUrl, undefined);
  });

  it('has standbys for the index alone: whoever decides about money reads what is so now', () => {
    const settings = (name: 'ledger' | 'gateway' | 'router') =>
      databaseSettings({ ...config, ...reading }, name);
    assert.deepEqual(settings('gateway'), {
      ...{ databaseUrl: 'postgres://all', urlVariable: 'DATABASE_URL' },
      ...{ readUrls: ['postgres://standby'], maxStalenessMs: 500 },
    });
    for (const name of ['ledger', 'router'] as const)
      assert.deepEqual(Object.keys(settings(name)), ['databaseUrl', 'urlVariable']);
    assert.deepEqual(Object.keys(databaseSettings(config, 'gateway')), ['databaseUrl', 'urlVariable']);
  });
});
