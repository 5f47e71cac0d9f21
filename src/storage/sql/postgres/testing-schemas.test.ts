import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { testDatabaseUrl } from '../../../config/testing.ts';
import { openDatabase } from '../open.ts';
import type { Migration, Sql } from '../sql.ts';
import { TestSchemas } from './testing-schemas.ts';

// TEST_DATABASE_URL names the server.
const databaseUrl = testDatabaseUrl();
const migrations: Migration[] = [
  {
    id: 'facts',
    up: `CREATE TABLE facts (fact SERIAL_KEY, name TEXT NOT NULL, size BIGINT NOT NULL);
      INSERT INTO facts (name, size) VALUES ('it''s', 9007199254740993)`,
  },
];

describe('schemas for tests', {
  skip: databaseUrl === undefined && 'SKIPPED: needs TEST_DATABASE_URL',
}, () => {
  const schemas = new TestSchemas(databaseUrl ?? '');
  afterEach(() => schemas.drop());

  /** A test: takes a schema, does something with it, and gives it back. */
  async function use(work: (sql: Sql) => Promise<unknown>): Promise<string> {
    const schema = schemas.take(migrations);
    const sql = await openDatabase({ databaseUrl, dataDir: '', name: schema, migrations });
    try {
      await schemas.remember(schema, migrations);
      await work(sql);
    } finally {
      await sql.close();
      await schemas.giveBack();
    }
    return schema;
  }
  const facts = (sql: Sql) =>
    sql.all('SELECT fact, name, CAST(size AS TEXT) AS size FROM facts ORDER BY fact');
  const asMade = [{ fact: 1, name: "it's", size: '9007199254740993' }];
  const add = (sql: Sql) => sql.run("INSERT INTO facts (name, size) VALUES ('more', 1)");

  it('have the rows and the numbers that the migrations left, test after test', async () => {
    const first = await use(async (sql) => {
      assert.deepEqual(await facts(sql), asMade);
      await sql.run('DELETE FROM facts');
      await add(sql);
    });
    const second = await use(async (sql) => {
      assert.deepEqual(await facts(sql), asMade);
      await add(sql);
      assert.deepEqual(await facts(sql), [...asMade, { fact: 2, name: 'more', size: '1' }]);
    });
    assert.equal(second, first);
  });

  it('are made anew where a test changed more than rows', async () => {
    const first = await use((sql) => sql.run('ALTER TABLE facts ADD COLUMN extra TEXT'));
    const second = await use((sql) => assert.rejects(sql.all('SELECT extra FROM facts'), /extra/));
    assert.notEqual(second, first);
  });

  it('are two for who takes two', async () => {
    assert.notEqual(schemas.take(migrations), schemas.take(migrations));
    await schemas.giveBack();
  });
});
