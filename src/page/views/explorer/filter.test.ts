import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parse, validate } from 'graphql';
import { createSchema } from '../../../gateway/graphql/schema.ts';
import {
  countQuery,
  filterOf,
  isFiltered,
  type ListFilter,
  listQuery,
  playgroundHref,
  queryStringOf,
} from './filter.ts';

const whole: ListFilter = {
  tags: [
    { name: 'App-Name', value: 'a:b&c=d' },
    { name: 'with:colon', value: '‮' },
  ],
  owner: 'o',
  recipient: 'r',
  kind: 'bundles',
  contentType: 'image/png',
  bundle: 'b',
  minHeight: 1,
  maxHeight: 9,
  oldestFirst: true,
};

describe('a filter', () => {
  test('is the same after a way through the address', () => {
    assert.deepEqual(filterOf(new URLSearchParams(queryStringOf(whole))), whole);
    assert.equal(queryStringOf({ tags: [] }), '');
  });

  test('leaves out what is none', () => {
    const text = 'tag=&tag=x&tag=:y&kind=other&from=-1&until=1e9&owner=%20&order=up';
    assert.deepEqual(filterOf(new URLSearchParams(text)), { tags: [] });
    assert.equal(
      filterOf(new URLSearchParams(Array.from({ length: 50 }, (_, at) => ['tag', `a:${at}`]))).tags.length,
      10,
    );
  });

  test('filters where it has more than an order', () => {
    assert.equal(isFiltered({ tags: [], oldestFirst: true }), false);
    assert.equal(isFiltered(whole), true);
  });

  test('is a query that the gateway takes, and the playground shows that query', () => {
    const schema = createSchema({});
    for (const filter of [whole, { tags: [] }, { tags: [], kind: 'transactions' } as const]) {
      for (const { text } of [listQuery(filter, 100, 'cursor'), listQuery(filter, 5), countQuery(filter)]) {
        assert.deepEqual(validate(schema, parse(text)), []);
      }
    }
    assert.equal(listQuery({ tags: [], kind: 'transactions' }, 5).variables.bundledIn, null);
    const query = listQuery(whole, 100);
    const { searchParams } = new URL(playgroundHref(query), 'http://console');
    assert.equal(searchParams.get('query'), query.text);
    assert.deepEqual(JSON.parse(searchParams.get('variables') ?? ''), query.variables);
  });
});
