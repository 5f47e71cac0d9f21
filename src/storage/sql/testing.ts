/**
 * Runs a suite on SQLite, and says by a skipped test that it was not on PostgreSQL; on PostgreSQL alone where
 * TEST_DATABASE_URL names one. `npm test` does the first, `npm run test:servers` the second.
 *
 *     forEachEngine((engine, open) => {
 *       it('keeps accounts', async () => {
 *         const sql = await open(migrations);   // fresh and empty; closed and removed after the test
 *         …
 */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, it } from 'node:test';
import { testDatabaseUrl } from '../../config/testing.ts';
import { type DatabaseOptions, openDatabase } from './open.ts';
import { connected, dropSchema, TestSchemas } from './postgres/testing-schemas.ts';
import { DatabaseUnavailable, type Migration, type Sql } from './sql.ts';

/** Opens a fresh database. The same `name` within one test opens the same database again. */
export type OpenForTest = (migrations: readonly Migration[], name?: string) => Promise<Sql>;

type EngineSuite = (engine: Sql['engine'], open: OpenForTest) => void;

export function forEachEngine(suite: EngineSuite): void {
  const databaseUrl = testDatabaseUrl();
  if (databaseUrl === undefined) {
    onSqlite(suite);
    it('on PostgreSQL', {
      skip: 'SKIPPED: needs TEST_DATABASE_URL; `npm run test:servers` runs it',
    }, () => {});
    return;
  }
  describe('on PostgreSQL', () => {
    const schemas = new TestSchemas(databaseUrl);
    const named = new Map<string, string>();
    const opened: Sql[] = [];
    afterEach(async () => {
      for (const sql of opened.splice(0)) await sql.close();
      await schemas.giveBack();
      named.clear();
    });
    after(() => schemas.drop());
    suite('postgres', async (migrations, name = `db${randomBytes(4).toString('hex')}`) => {
      const known = named.get(name);
      const schema = known ?? schemas.take(migrations);
      named.set(name, schema);
      const sql = await openDatabase({ databaseUrl, dataDir: '', name: schema, migrations });
      opened.push(sql);
      if (known === undefined) await schemas.remember(schema, migrations);
      return sql;
    });
  });
}

/**
 * A test on whichever engine `forEachEngine` would take, for processes that are killed and open the same database again
 * and again: `name` in `folder`, or the schema `name` at `databaseUrl`.
 */
export function itOnEngine(
  title: string,
  test: (databaseUrl: string | undefined, folder: string, name: string) => Promise<void>,
): void {
  const databaseUrl = testDatabaseUrl();
  it(`${title}, on ${databaseUrl === undefined ? 'SQLite' : 'PostgreSQL'}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'turnpike-sql-'));
    const name = `crash_${process.pid}_${randomBytes(4).toString('hex')}`;
    try {
      await test(databaseUrl, folder, name);
    } finally {
      rmSync(folder, { recursive: true, force: true });
      if (databaseUrl !== undefined) await connected(databaseUrl, (client) => dropSchema(client, name));
    }
  });
}

function onSqlite(suite: EngineSuite): void {
  describe('on SQLite', () => {
    let folder: string | undefined;
    const opened: Sql[] = [];
    afterEach(async () => {
      for (const sql of opened.splice(0)) await sql.close();
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
      folder = undefined;
    });
    suite('sqlite', async (migrations, name = `db${randomBytes(4).toString('hex')}`) => {
      folder ??= mkdtempSync(join(tmpdir(), 'turnpike-sqlite-'));
      const sql = await openSqliteQuickly({ databaseUrl: undefined, dataDir: folder, name, migrations });
      opened.push(sql);
      return sql;
    });
  });
}

/** Files as migrations make them. To make one takes several times as long as to write it again. */
const made = new WeakMap<readonly Migration[], Buffer>();

async function openSqliteQuickly(settings: DatabaseOptions): Promise<Sql> {
  const path = join(settings.dataDir, `${settings.name}.db`);
  if (existsSync(path)) return openDatabase(settings);
  const known = made.get(settings.migrations);
  if (known === undefined) {
    await (await openDatabase(settings)).close();
    made.set(settings.migrations, readFileSync(path));
  } else writeFileSync(path, known, { mode: 0o600 });
  return openDatabase(settings);
}

/** A database that is away for what `isLost` says of a statement and its values; a transaction is the statement ''. */
export function losing(sql: Sql, isLost: (statement: string, values: readonly unknown[]) => boolean): Sql {
  return new Proxy(sql, {
    get(target, name) {
      const member = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...given: unknown[]) =>
        isLost(typeof given[0] === 'string' ? given[0] : '', given.slice(1))
          ? Promise.reject(new DatabaseUnavailable('away'))
          : member.apply(target, given);
    },
  });
}
