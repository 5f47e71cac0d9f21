import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertStorable, countPlaceholders, numbered } from './placeholders.ts';
import { qualified, Statements } from './postgres/statements.ts';

describe('placeholders', () => {
  it('are numbered in order', () => {
    assert.equal(numbered('SELECT ? + ?, ?::text'), 'SELECT $1 + $2, $3::text');
  });

  it('are not looked for in quotes and comments', () => {
    assert.equal(
      numbered(`SELECT '?', 'it''s ?', "a?""?" -- ?\n, ? /* ? */ WHERE a = ?`),
      `SELECT '?', 'it''s ?', "a?""?" -- ?\n, $1 /* ? */ WHERE a = $2`,
    );
    assert.equal(countPlaceholders(`SELECT '?', ? -- ?\n, ?`), 2);
  });

  it('have a value each, which is stored as what it is', () => {
    assertStorable(['a', 1, 1.5, -0.25, 2n ** 80n, null, Buffer.alloc(1), Number.MAX_SAFE_INTEGER], 8);
    for (const count of [0, 2]) assert.throws(() => assertStorable([1], count), /was given 1 values/);
    for (const value of [2 ** 53, -(2 ** 60), Number.NaN, Number.POSITIVE_INFINITY])
      assert.throws(() => assertStorable([value], 1), /cannot be stored exactly/);
  });

  it('give the same statement the same name, within what a connection may keep', () => {
    const statements = new Statements('s');
    const { name } = statements.prepare('SELECT ?');
    assert.equal(statements.prepare('SELECT ?').name, name);
    assert.notEqual(statements.prepare('SELECT ?, 1').name, name);
    for (let index = 0; index < 3_000; index += 1) statements.prepare(`SELECT ${index}`);
    assert.equal(statements.prepare('SELECT 2999').name, undefined);
    assert.equal(statements.prepare('SELECT ?').name, name);
  });
});

describe('names of tables', () => {
  const cases: readonly [string, string][] = [
    [
      'SELECT r.a FROM records r JOIN records AS p ON p.x = r.x',
      'SELECT r.a FROM ~records r JOIN ~records AS p ON p.x = r.x',
    ],
    ['INSERT INTO leases (name) VALUES (?)', 'INSERT INTO ~leases (name) VALUES (?)'],
    [
      'INSERT INTO t (a) SELECT b FROM u ON CONFLICT (a) DO UPDATE SET n = t.n + excluded.n',
      'INSERT INTO ~t (a) SELECT b FROM ~u ON CONFLICT (a) DO UPDATE SET n = t.n + excluded.n',
    ],
    ['a IS DISTINCT FROM b', 'a IS DISTINCT FROM b'],
    ['UPDATE t SET a = 1 WHERE b IN (SELECT c FROM u)', 'UPDATE ~t SET a = 1 WHERE b IN (SELECT c FROM ~u)'],
    ['SELECT a FROM t FOR UPDATE SKIP LOCKED', 'SELECT a FROM ~t FOR UPDATE SKIP LOCKED'],
    ['SELECT n FROM generate_series(1, ?) AS n', 'SELECT n FROM generate_series(1, ?) AS n'],
    ['SELECT extract(epoch FROM clock_timestamp())', 'SELECT extract(epoch FROM clock_timestamp())'],
    ['WITH own AS (SELECT a FROM t) SELECT a FROM own', 'WITH own AS (SELECT a FROM ~t) SELECT a FROM own'],
    ['SELECT reltuples FROM pg_class', 'SELECT reltuples FROM pg_class'],
    [
      "SELECT 'FROM t', a -- FROM t\nFROM t /* FROM t */",
      "SELECT 'FROM t', a -- FROM t\nFROM ~t /* FROM t */",
    ],
    ['DELETE FROM t', 'DELETE FROM ~t'],
    ['ANALYZE terms', 'ANALYZE ~terms'],
    ['SELECT a FROM other.t', 'SELECT a FROM other.t'],
  ];

  it('get their schema', () => {
    for (const [statement, expected] of cases) {
      assert.equal(qualified(statement, 's'), expected.replaceAll('~', '"s".'));
    }
  });
});
