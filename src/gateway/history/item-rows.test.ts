import assert from 'node:assert/strict';
import { it } from 'node:test';
import { DATA_ITEM, minedPos, tieOf } from '../chain-index/order.ts';
import { packTerms, type RecordRow } from '../chain-index/records.ts';
import { packTags } from '../chain-index/tags.ts';
import { digest, rawTags } from '../chain-index/testing.ts';
import { encodeBatch, movable, readItem } from './item-rows.ts';
import { RowReader, RowWriter } from './row-binary.ts';

type FullRow = RecordRow & { readonly signature: Buffer | null };

const row = (fields: Partial<FullRow> = {}): FullRow => ({
  ...{
    record: 7,
    id: digest('item'),
    kind: DATA_ITEM,
    height: 9,
    block_index: 3,
    pos: minedPos(9, 3, DATA_ITEM),
  },
  ...{
    indexed_at: 1_700_000_000,
    owner: 12,
    format: 0,
    signature_type: 2,
    target: digest('target'),
    anchor: null,
  },
  ...{ quantity: '0', reward: '0', denomination: 0, data_size: 500, data_root: null, end_offset: null },
  ...{ content_type: 'text/html', content_encoding: null },
  tags: packTags(rawTags({ 'content-Type': 'text/html', Größe: '\0' })),
  ...{ root: 1, parent: 2, parent_offset: 2 ** 40, item_offset: 96, data_offset: 1_140, item_size: 1_544 },
  ...{
    terms: packTerms([12, 2 ** 40]),
    hash: digest('hash'),
    verified: 1,
    signature: Buffer.from('signature'),
  },
  ...fields,
});

const wanted = (given: FullRow) => {
  const { hash: _hash, verified: _verified, terms: _terms, signature: _signature, ...rest } = given;
  return rest;
};

it('reads an item back as it was written', () => {
  for (const given of [row(), row({ target: null, anchor: digest('anchor'), signature: null })]) {
    const item = movable(given);
    assert.ok(item);
    const written = new RowReader(encodeBatch(5, [item]).records);
    assert.equal(written.uint32(), 5);
    // As `readColumns` lists them.
    const asked = new RowWriter(1);
    asked.uint64(written.uint64());
    asked.fixed(written.fixed(6));
    asked.uint64(written.uint64());
    asked.uint64(written.uint64());
    asked.string(written.string());
    assert.deepEqual(readItem(new RowReader(asked.finish())), wanted(given));
  }
});

it('writes the postings of a batch by term, and in the order of the items within a term', () => {
  const items = ['a', 'b', 'c'].flatMap(
    (name) => movable(row({ id: digest(name), terms: packTerms(name === 'b' ? [3] : [2 ** 40, 3]) })) ?? [],
  );
  const rows = new RowReader(encodeBatch(1, items).postings);
  const read: unknown[] = [];
  while (!rows.isAtEnd) read.push([rows.uint32(), rows.uint64(), rows.uint64(), rows.uint48()]);
  const posting = (term: number, name: string) => [1, term, minedPos(9, 3, DATA_ITEM), tieOf(digest(name))];
  assert.deepEqual(read, [
    posting(3, 'a'),
    posting(3, 'b'),
    posting(3, 'c'),
    posting(2 ** 40, 'a'),
    posting(2 ** 40, 'c'),
  ]);
});

it('leaves a row where it is that says what the history cannot say', () => {
  const odd: Partial<FullRow>[] = [
    { quantity: '1' },
    { height: null },
    { parent: null },
    { data_root: digest('root') },
    { item_size: 1_545 },
    { content_type: 'text/plain' },
    { anchor: Buffer.alloc(0) },
  ];
  for (const fields of odd) assert.equal(movable(row(fields)), undefined, JSON.stringify(fields));
});

it('reads nothing beyond the end, and no number that it could not hold', () => {
  assert.throws(() => new RowReader(Buffer.from([5, 1, 2])).string(), RangeError);
  assert.throws(() => new RowReader(Buffer.alloc(8, 255)).uint64(), RangeError);
});
