import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../test/support/seeded-random.ts';
import { chainTagLimits, decodeTags, encodeTags, ingestTagLimits, walkTags } from './avro-tags.ts';

const bytes = (hex: string) => Buffer.from(hex.replaceAll(' ', ''), 'hex');

test('tags are written as one block and read back', () => {
  const tags = [
    { name: 'Content-Type', value: 'text/plain' },
    { name: 'App-Name', value: 'vector' },
  ];
  const encoded = encodeTags(tags);
  assert.equal(
    encoded.toString('hex'),
    '0418436f6e74656e742d5479706514746578742f706c61696e104170702d4e616d650c766563746f7200',
  );
  assert.deepEqual(decodeTags(encoded), tags);
});

test('names and values are UTF-8', () => {
  assert.equal(encodeTags([{ name: 'é', value: '✓' }]).toString('hex'), '0204c3a906e29c9300');
  assert.deepEqual(decodeTags(bytes('0204c3a906e29c9300')), [{ name: 'é', value: '✓' }]);
});

test('approval tags have the bytes that clients write', () => {
  const hex = encodeTags([
    { name: 'x-approve-payment', value: 'A'.repeat(43) },
    { name: 'x-amount', value: '1000000' },
    { name: 'x-expires-seconds', value: '3600' },
  ]).toString('hex');
  assert.ok(hex.startsWith('0622782d617070726f76652d7061796d656e7456'));
  assert.ok(hex.endsWith('22782d657870697265732d7365636f6e6473083336303000'));
});

test('no tags are no bytes or a single zero', () => {
  assert.equal(encodeTags([]).length, 0);
  assert.deepEqual(decodeTags(Buffer.alloc(0)), []);
  assert.deepEqual(decodeTags(Buffer.alloc(1)), []);
});

test('blocks with a byte size and several blocks are read', () => {
  assert.deepEqual(decodeTags(bytes('01 08 02 61 02 62 00')), [{ name: 'a', value: 'b' }]);
  assert.deepEqual(decodeTags(bytes('02 02 61 02 62 01 08 02 63 02 64 00')), [
    { name: 'a', value: 'b' },
    { name: 'c', value: 'd' },
  ]);
});

test('a wrong block size, bytes after the end and cut bytes are refused', () => {
  for (const wrong of [
    '01 06 02 61 02 62 00', // size too small
    '01 0a 02 61 02 62 00', // size too large
    '02 02 61 02 62 00 00', // trailing byte
    '02 02 61 02 62', // no terminator
    '04 02 61 02 62 00', // one tag fewer than stated
    '02 02 61 04 62 00', // value runs into the end
    '02 01 61 02 62 00', // negative length
    '80 80 80 80 80 80 80 80 80 01', // count beyond any limit
    '01', // negative count without its size
  ]) {
    assert.equal(decodeTags(bytes(wrong)), undefined, wrong);
  }
});

test('the limits on bytes, tags, names and values are exact', () => {
  const many = (count: number) =>
    encodeTags(Array.from({ length: count }, () => ({ name: 'n', value: 'v' })));
  assert.equal(decodeTags(many(128))?.length, 128);
  assert.equal(decodeTags(many(129)), undefined);
  const one = (name: number, value: number) =>
    encodeTags([{ name: 'n'.repeat(name), value: 'v'.repeat(value) }]);
  assert.equal(decodeTags(one(1_024, 10))?.length, 1);
  assert.equal(decodeTags(one(1_025, 10)), undefined);
  assert.equal(decodeTags(one(10, 3_072))?.length, 1);
  assert.equal(decodeTags(one(10, 3_073)), undefined);
  assert.equal(one(1_017, 3_072).length, 4_095);
  assert.equal(decodeTags(one(1_018, 3_072))?.length, 1);
  assert.equal(decodeTags(one(1_019, 3_072)), undefined);
  assert.equal(decodeTags(one(1_019, 3_072), chainTagLimits)?.length, 1);
});

test('random tags round trip', () => {
  const random = seededRandom(11);
  for (let round = 0; round < 2_000; round++) {
    const tags = Array.from({ length: random.below(8) }, () => ({
      name: random.bytes(random.below(40)).toString('base64'),
      value: random.bytes(random.below(200)).toString('base64'),
    }));
    assert.deepEqual(decodeTags(encodeTags(tags)), tags);
  }
});

test('random and mangled bytes never throw, and positions stay inside', () => {
  const random = seededRandom(12);
  let read = 0;
  for (let round = 0; round < 20_000; round++) {
    const sample =
      round % 2 === 0
        ? random.bytes(random.below(64))
        : random.mangle(
            encodeTags([
              { name: 'a', value: 'bc' },
              { name: 'def', value: '' },
            ]),
          );
    const count = walkTags(sample, 0, sample.length, ingestTagLimits, (a, b, c, d) => {
      assert.ok(0 <= a && a <= b && b <= c && c <= d && d <= sample.length);
    });
    if (count >= 0) read++;
  }
  assert.ok(read > 0, 'some samples are valid');
});
