import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { FormatError } from '../format-error.ts';
import { bdecode, bencode } from './bencode.ts';

const random = seededRandom(77);

test('bencoding is read exactly, and what is not exact is refused', () => {
  const value = bdecode(Buffer.from('d1:ai-3e1:bl0:2:xyee'));
  assert.ok('members' in Object(value));
  for (const text of [
    '',
    'i3',
    'i03e',
    'i-0e',
    'i1.5e',
    'ie',
    'i99999999999999999999e',
    '3:ab',
    '03:abc',
    '-1:a',
    'l',
    'd1:a',
    'd1:ae',
    'd1:ai1e1:ai2ee',
    'di1ei2ee',
    'i1ei2e',
    'x',
    `${'l'.repeat(40)}${'e'.repeat(40)}`,
  ])
    assert.throws(() => bdecode(Buffer.from(text)), FormatError, text);
});

test('random bytes are either a bencoded value or refused, never anything else', () => {
  const seeds = [
    bencode(new Map([['info', [1, 'two', new Map([['x', 3]])]]])),
    Buffer.from('d2:xxl1:ai5eee'),
  ];
  for (let round = 0; round < 5_000; round += 1) {
    const bytes = Buffer.from(seeds[round % seeds.length]!);
    for (let change = 0; change < 2; change += 1) bytes[random.below(bytes.length)] = random.below(256);
    try {
      bdecode(bytes);
    } catch (error) {
      assert.ok(error instanceof FormatError, String(error));
    }
  }
});
