import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { BadQuery } from '../../events/feed.ts';
import { packTags } from '../chain-index/tags.ts';
import { digest, rawTags } from '../chain-index/testing.ts';
import { BlockEvent, type EventRow, RecordEvent } from './chain-event.ts';
import { parseChainQuery } from './query.ts';

const given = { index: 0, time: 0 };
const key = Buffer.from('a public key');
const ownerAddress = hash('sha256', key, 'base64url');
const signature = Buffer.from('a signature');
const row: EventRow = {
  record: 1,
  id: hash('sha256', signature, 'buffer'),
  kind: 1,
  indexed_at: 5,
  owner: 1,
  format: 0,
  signature_type: 1,
  target: null,
  anchor: null,
  quantity: '0',
  reward: '0',
  data_size: 12,
  data_root: null,
  content_type: 'image/png',
  content_encoding: null,
  tags: packTags(rawTags({ 'Content-Type': 'image/png', App: 'gallery' })),
  root: 2,
  parent: 3,
};
const item = new RecordEvent(
  { ...given, state: 'mined' },
  row,
  { ownerAddress, parentId: 'parent', rootId: 'root' },
  { height: 7, blockId: digest('block') },
);
const block = new BlockEvent(
  { ...given, state: 'new' },
  { height: 7, id: digest('block'), previous: digest('before'), timestamp: 9, txCount: 1 },
);
const wants = (query: object, event: RecordEvent | BlockEvent = item) => parseChainQuery(query).wants(event);

test('without a filter everything is wanted; with one what it matches, and blocks where they are named', () => {
  const filter = { tags: [{ name: 'App', value: 'gallery' }] };
  assert.deepEqual([wants({}), wants({}, block)], [true, true]);
  assert.deepEqual([wants({ filter }), wants({ filter }, block)], [true, false]);
  assert.equal(wants({ filter: { not: filter } }), false);
  const types = ['item.*', 'block.new'];
  assert.deepEqual([wants({ filter, types }), wants({ filter, types }, block)], [true, true]);
});

test('types are named whole or by either half', () => {
  for (const type of ['item.mined', 'item.*', '*.mined', '*.*'])
    assert.equal(wants({ types: [type] }), true, type);
  for (const type of ['item.new', 'block.*', '*.final']) assert.equal(wants({ types: [type] }), false, type);
});

test('what a filter may name of unbundling and indexing it may name of events', () => {
  const attributes = {
    id: row.id.toString('base64url'),
    owner: key.toString('base64url'),
    owner_address: ownerAddress,
    signature: signature.toString('base64url'),
    data_size: 12,
    content_type: 'image/png',
    parent_id: 'parent',
    root_tx_id: 'root',
    root_transaction_id: 'root',
    target: '',
    last_tx: '',
    format: 0,
  };
  assert.equal(wants({ filter: { attributes } }), true);
  assert.equal(wants({ filter: { attributes: { owner: digest('another').toString('base64url') } } }), false);
  assert.equal(wants({ filter: { isNestedBundle: true } }), true);
});

test('queries that say the same share a key', () => {
  const one = parseChainQuery({ types: ['item.mined', 'item.new'], filter: { always: true } });
  const same = parseChainQuery({ filter: { always: true }, types: ['item.new', 'item.mined'] });
  assert.equal(one.key, same.key);
  assert.notEqual(one.key, parseChainQuery({ filter: { always: true } }).key);
});

test('what is not understood is refused in words', () => {
  const refused: [unknown, RegExp][] = [
    [[], /must be an object/],
    [{ filters: {} }, /"filters" is not a part/],
    [{ types: [] }, /must be a list/],
    [{ types: ['item.gone'] }, /"item\.gone" is not a type; there are transaction\.new/],
    [{ types: ['item.new.x'] }, /is not a type/],
    [{ filter: { sometimes: true } }, /^filter: \$\.sometimes is not a filter$/],
    [{ filter: { tags: Array.from({ length: 1_001 }, () => ({ name: 'a' })) } }, /more than 1000 values/],
    [
      { filter: { hashPartition: { partitionCount: 2, partitionKey: 'owner', targetPartitions: [0] } } },
      /cannot be by "owner"/,
    ],
  ];
  for (const [query, message] of refused) {
    assert.throws(
      () => parseChainQuery(query),
      (error) => error instanceof BadQuery && message.test(error.message),
    );
  }
});
