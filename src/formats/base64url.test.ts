import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../test/support/seeded-random.ts';
import {
  decodeBase64url,
  encodeBase64url,
  isBlockHash,
  isTxId,
  toArweaveAddress,
  toBlockHash,
  toTxId,
  tryDecodeBase64url,
} from './base64url.ts';
import { FormatError } from './format-error.ts';

test('bytes come back from their text', () => {
  const random = seededRandom(1);
  for (let length = 0; length < 300; length += 1) {
    const bytes = random.bytes(length);
    const text = encodeBase64url(bytes);
    assert.match(text, /^[A-Za-z0-9_-]*$/);
    assert.deepEqual(decodeBase64url(text), bytes);
  }
  assert.equal(encodeBase64url(new Uint8Array([0xff, 0xfe]).subarray(1)), '_g');
});

test('texts that are not canonical are refused', () => {
  for (const text of [
    '=',
    'AA==',
    'A',
    'AB',
    'AAB',
    'AA A',
    'A+AA',
    'A/AA',
    'AAA=',
    'ＡAAA',
    'AA\n',
    'AAAŁ',
  ]) {
    assert.equal(tryDecodeBase64url(text), undefined, JSON.stringify(text));
    assert.throws(
      () => decodeBase64url(text, 'owner'),
      (error) => {
        return error instanceof FormatError && error.message === 'owner is not canonical base64url';
      },
    );
  }
});

test('random texts decode only when they encode back to themselves', () => {
  const random = seededRandom(2);
  const alphabet = 'ABCDwxyz0189-_+/= \n\u0141\u20ac';
  let accepted = 0;
  for (let round = 0; round < 20_000; round += 1) {
    let text = '';
    for (let length = random.below(12); length > 0; length -= 1)
      text += alphabet[random.below(alphabet.length)];
    const bytes = tryDecodeBase64url(text);
    if (bytes === undefined) continue;
    accepted += 1;
    assert.equal(encodeBase64url(bytes), text);
    assert.match(text, /^[A-Za-z0-9_-]*$/);
  }
  assert.ok(accepted > 500);
});

test('an id is 43 characters whose last one has no spare bits', () => {
  const id = toTxId(Buffer.alloc(32, 7));
  assert.ok(isTxId(id));
  assert.ok(!isTxId(`${id.slice(0, 42)}d`));
  assert.ok(!isTxId(`${id}A`));
  assert.ok(!isTxId(id.slice(1)));
  assert.ok(!isTxId(`${id}\n`));
  const random = seededRandom(3);
  for (let round = 0; round < 2_000; round += 1) {
    const text = random.bytes(33).toString('base64url').slice(0, 43);
    assert.equal(isTxId(text), tryDecodeBase64url(text) !== undefined);
  }
});

test('ids, addresses and block hashes are made from their exact sizes only', () => {
  assert.ok(isBlockHash(toBlockHash(Buffer.alloc(48, 1))));
  assert.equal(toArweaveAddress(Buffer.alloc(32)).length, 43);
  assert.throws(() => toTxId(Buffer.alloc(31)), FormatError);
  assert.throws(() => toArweaveAddress(Buffer.alloc(33)), FormatError);
  assert.throws(() => toBlockHash(Buffer.alloc(32)), FormatError);
});
