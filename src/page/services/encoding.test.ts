import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { decodeBase58 as read58, encodeBase58 as write58 } from '../../formats/base58.ts';
import {
  decodeBase58,
  decodeBase64,
  decodeHex,
  encodeBase58,
  encodeBase64,
  encodeBase64url,
  encodeHex,
} from './encoding.ts';

const samples = [
  new Uint8Array(),
  Uint8Array.of(0),
  Uint8Array.of(0, 0, 1),
  new Uint8Array(32),
  ...Array.from({ length: 20 }, () => new Uint8Array(randomBytes(64))),
];

test('bytes become the text that the rest of the product makes of them, and bytes again', () => {
  for (const bytes of [...samples, new Uint8Array(randomBytes(100_000))]) {
    const buffer = Buffer.from(bytes);
    assert.equal(encodeBase64(bytes), buffer.toString('base64'));
    assert.equal(encodeBase64url(bytes), buffer.toString('base64url'));
    assert.equal(encodeHex(bytes), buffer.toString('hex'));
    assert.deepEqual(decodeBase64(buffer.toString('base64url')), bytes);
    assert.deepEqual(decodeBase64(buffer.toString('base64')), bytes);
    assert.deepEqual(decodeHex(`0x${buffer.toString('hex')}`), bytes);
  }
  for (const bytes of samples) {
    assert.equal(encodeBase58(bytes), write58(bytes));
    const text = write58(bytes);
    assert.deepEqual(decodeBase58(text), new Uint8Array(read58(text)));
  }
});

test('text of another form is no bytes', () => {
  assert.equal(decodeBase64('a*b'), undefined);
  assert.equal(decodeHex('0x123'), undefined);
  assert.equal(decodeHex('zz'), undefined);
  assert.equal(decodeBase58('0OIl'), undefined);
  assert.equal(decodeBase58('1'.repeat(201)), undefined);
});
