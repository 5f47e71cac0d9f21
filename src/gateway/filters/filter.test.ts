import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rawTags } from '../chain-index/testing.ts';
import { canonicalFilter, FilterError, parseFilter, parseFilterText } from './filter.ts';
import { compileFilter, neverMatches, partitionOf, type Subject } from './match.ts';

function subject(tags: Record<string, string>, attributes: Record<string, string | number> = {}): Subject {
  return { tags: rawTags(tags), attribute: (name) => attributes[name] };
}
const matches = (filter: unknown, of: Subject) => compileFilter(parseFilter(filter))(of);
const image = subject(
  { 'Content-Type': 'image/png', App: 'gallery' },
  { data_size: '12', owner_address: 'me', parent_id: '' },
);

test('every listed tag must be met by some tag, byte for byte', () => {
  assert.equal(matches({ tags: [{ name: 'App' }] }, image), true);
  assert.equal(matches({ tags: [{ name: 'app' }] }, image), false);
  assert.equal(matches({ tags: [{ name: 'App', value: 'gallery' }, { name: 'Missing' }] }, image), false);
  assert.equal(matches({ tags: [{ name: 'Content-Type', valueStartsWith: 'image/' }] }, image), true);
  assert.equal(matches({ tags: [{ name: 'App', value: 'x', valueStartsWith: 'gal' }] }, image), true);
  assert.equal(matches({ tags: [] }, image), true);
  assert.equal(matches({ tags: [] }, subject({})), false);
});

test('attributes compare by their decimal text, and a missing one never matches', () => {
  assert.equal(matches({ attributes: { data_size: 12 } }, image), true);
  assert.equal(matches({ attributes: { data_size: '12', owner_address: 'you' } }, image), false);
  assert.equal(matches({ attributes: { data_root: '' } }, image), false);
});

test('filters combine: and of nothing holds, or of nothing does not', () => {
  assert.equal(matches({ and: [] }, image), true);
  assert.equal(matches({ or: [] }, image), false);
  assert.equal(matches({ not: { or: [{ never: true }, { isNestedBundle: true }] } }, image), true);
  assert.equal(matches({ isNestedBundle: true }, subject({}, { parent_id: 'bundle' })), true);
});

test('a hash partition takes the first six bytes of SHA-256', () => {
  const id = 'LXEWQrcmsEQBYnyp-6wy9chTD7GQPMTbAiWHF5IaSIE';
  assert.deepEqual([partitionOf(id, 10), partitionOf(id, 4)], [0, 2]);
  const filter = { hashPartition: { partitionCount: 4, partitionKey: 'id', targetPartitions: [1, 2] } };
  assert.equal(matches(filter, subject({}, { id })), true);
  assert.equal(matches(filter, subject({}, { id: '' })), false);
});

test('a filter that is not understood is refused with its place', () => {
  const refused: [unknown, RegExp][] = [
    [{}, /^\$ must have one key$/],
    [{ always: false }, /^\$\.always must be true$/],
    [{ isNestedBundle: false }, /must be true/],
    [{ and: [{ always: true }, { sometimes: true }] }, /^\$\.and\[1\]\.sometimes is not a filter$/],
    [{ tags: [], attributes: {} }, /one key, not 2/],
    [{ tags: [{ value: 'x' }] }, /^\$\.tags\[0\]\.name is missing$/],
    [{ tags: [{ name: 'x', op: 'NEQ' }] }, /^\$\.tags\[0\]\.op/],
    [{ attributes: { constructor: 'x' } }, /names "constructor"/],
    [{ attributes: { id: true } }, /must be a string or a number/],
    [{ hashPartition: { partitionCount: 0, partitionKey: 'id', targetPartitions: [0] } }, /1 or more/],
    [{ hashPartition: { partitionCount: 2, partitionKey: 'id', targetPartitions: [] } }, /not be empty/],
    [{ hashPartition: { partitionCount: 2, partitionKey: 'id', targetPartitions: [2] } }, /below/],
    [{ hashPartition: { partitionCount: 1.5, partitionKey: 'id', targetPartitions: [0] } }, /whole number/],
    [null, /must be an object/],
    [[], /must be an object/],
  ];
  for (const [filter, message] of refused) {
    assert.throws(
      () => parseFilter(filter),
      (error) => error instanceof FilterError && message.test(error.message),
    );
  }
  let deep: unknown = { always: true };
  for (let depth = 0; depth < 100; depth += 1) deep = { not: deep };
  assert.throws(() => parseFilter(deep), /nested deeper/);
  assert.throws(() => parseFilterText('{'), /not JSON/);
});

test('no filter means never; equal filters have one canonical text', () => {
  assert.deepEqual(parseFilterText(''), { never: true });
  const written = parseFilterText('{ "attributes": {"target":"b", "owner_address" : "a"} }');
  assert.equal(canonicalFilter(written), '{"attributes":{"owner_address":"a","target":"b"}}');
  assert.equal(neverMatches(parseFilter({ and: [{ always: true }, { never: true }] })), true);
  assert.equal(neverMatches(parseFilter({ or: [{ always: true }, { never: true }] })), false);
});
