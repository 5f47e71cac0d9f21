import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, it } from 'node:test';
import { SqliteStatement } from './statement.ts';

describe('a statement of SQLite', () => {
  const database = new DatabaseSync(':memory:');
  database.exec(
    'CREATE TABLE rows (n BIGINT PRIMARY KEY, due_at BIGINT); INSERT INTO rows VALUES (1, 30), (2, 20), (3, 10), (4, NULL)',
  );
  /** The engine asks whether it may read a column each time that it plans. */
  let planned = 0;
  const allow = () => {
    planned += 1;
    return 0;
  };
  Reflect.apply(Reflect.get(database, 'setAuthorizer'), database, [allow]);
  after(() => database.close());

  it('is planned once, however many rows it is asked for', () => {
    const statement = new SqliteStatement(
      database,
      'SELECT n FROM rows WHERE due_at <= ? ORDER BY due_at LIMIT ?',
    );
    const first = planned;
    assert.notEqual(first, 0);
    assert.deepEqual(statement.all([30, 2]), [{ n: 3 }, { n: 2 }]);
    assert.deepEqual(statement.all([30, 3]), [{ n: 3 }, { n: 2 }, { n: 1 }]);
    assert.deepEqual(statement.all([10, 3]), [{ n: 3 }]);
    assert.deepEqual(statement.all([30, 0]), []);
    assert.equal(planned, first);
  });
});
