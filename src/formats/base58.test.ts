import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../test/support/seeded-random.ts';
import { decodeBase58, encodeBase58, tryDecodeBase58 } from './base58.ts';
import { FormatError } from './format-error.ts';

/** The textbook definition, in one bigint. */
function slowEncode(bytes: Uint8Array): string {
  const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
  let value = BigInt(`0x0${Buffer.from(bytes).toString('hex')}`);
  let text = '';
  for (; value > 0n; value /= 58n) text = alphabet[Number(value % 58n)]! + text;
  for (const byte of bytes) {
    if (byte !== 0) break;
    text = `1${text}`;
  }
  return text;
}

test('known texts', () => {
  assert.equal(encodeBase58(Buffer.from('Hello World!')), '2NEpo7TZRRrLZSi2U');
  assert.equal(encodeBase58(Buffer.alloc(32)), '11111111111111111111111111111111');
  assert.equal(encodeBase58(Buffer.alloc(32, 7)), 'US517G5965aydkZ46HS38QLi7UQiSojurfbQfKCELFx');
  assert.equal(encodeBase58(Buffer.from('0000287fb4cd', 'hex')), '11233QC4');
  assert.equal(encodeBase58(Buffer.alloc(0)), '');
});

test('random bytes of every length agree with the textbook and come back', () => {
  const random = seededRandom(58);
  for (let round = 0; round < 3_000; round += 1) {
    const bytes = random.bytes(random.below(100));
    bytes.fill(0, 0, Math.min(bytes.length, random.below(4)));
    const text = encodeBase58(bytes);
    assert.equal(text, slowEncode(bytes));
    assert.deepEqual(decodeBase58(text), bytes);
  }
});

test('foreign characters and over-long texts are refused', () => {
  for (const text of ['0', 'O', 'I', 'l', 'a b', 'a\n', 'é', '+', '1'.repeat(2049)]) {
    assert.equal(tryDecodeBase58(text), undefined);
    assert.throws(() => decodeBase58(text, 'address'), new FormatError('address is not base58'));
  }
});
