import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestBudget } from './cost.ts';
import { Queries } from './queries.ts';
import { createSchema } from './schema.ts';

test('compiled queries are kept in bounded memory, those that were not used for longest leave', () => {
  const maxBytes = 500_000;
  const queries = new Queries(createSchema({}), () => createSchema({}, { wholeRows: true }), maxBytes);
  const prepare = (query: string) =>
    queries.prepare({ query, operationName: undefined }, {}, new RequestBudget());
  const text = (number: number) =>
    `{ a${number}: transactions { edges { node { id owner { address } tags { name value } } } } }`;
  prepare(text(0));
  assert.equal(queries.compiledBytes, 0);
  prepare(text(0));
  const one = queries.compiledBytes;
  assert.ok(one > 50_000, 'a compiled query is many times its text');
  for (let number = 1; number < 40; number += 1) {
    prepare(text(number));
    prepare(text(number));
    assert.ok(queries.compiledBytes <= maxBytes, `${queries.compiledBytes} after ${number}`);
  }
  assert.ok(queries.compiledBytes > maxBytes - 2 * one);
  const full = queries.compiledBytes;
  prepare(text(39));
  assert.equal(queries.compiledBytes, full, 'the last one is still there');
});
