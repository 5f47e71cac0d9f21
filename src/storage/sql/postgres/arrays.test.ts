import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SqlValue } from '../sql.ts';
import { type ArrayType, packArray } from './arrays.ts';

const numberIn = (bytes: Buffer): number => Number(bytes.readBigInt64BE());
const readers: Record<ArrayType, (bytes: Buffer) => SqlValue> = {
  ...{ BIGINT: numberIn, TEXT: (bytes) => bytes.toString('utf8'), BYTEA: (bytes) => Buffer.from(bytes) },
};

/** As PostgreSQL's `array_recv` reads it. */
function unpacked(type: ArrayType, packed: Buffer) {
  const [dimensions, hasNulls, oid, length, from] = [0, 4, 8, 12, 16].map((at) => packed.readInt32BE(at));
  const cells: SqlValue[] = [];
  let at = 20;
  for (let cell = 0; cell < (length ?? 0); cell += 1) {
    const size = packed.readInt32BE(at);
    at += 4;
    cells.push(size < 0 ? null : readers[type](packed.subarray(at, at + size)));
    at += Math.max(0, size);
  }
  assert.equal(at, packed.length, 'nothing is left over');
  return { dimensions, hasNulls, oid, from, cells };
}

test('an array is read by the server as it was meant', () => {
  const numbers = [0, 1, -1, 2 ** 31, -(2 ** 31) - 1, 2 ** 32, 2 ** 52 + 1, -(2 ** 40) - 7];
  const whole = { dimensions: 1, hasNulls: 0, from: 1 };
  assert.deepEqual(unpacked('BIGINT', packArray('BIGINT', numbers)), { ...whole, oid: 20, cells: numbers });
  const words = ['', 'plain', 'Grüße 🦉', '{a,"b",NULL}\\'];
  assert.deepEqual(unpacked('TEXT', packArray('TEXT', words)), { ...whole, oid: 25, cells: words });
  const bytes = [Buffer.alloc(0), Buffer.from([0, 255, 10]), Buffer.alloc(3_000, 7)];
  assert.deepEqual(unpacked('BYTEA', packArray('BYTEA', bytes)), { ...whole, oid: 17, cells: bytes });
  for (const [type, value] of [
    ['BIGINT', 5],
    ['TEXT', 'a'],
    ['BYTEA', Buffer.from('b')],
  ] as const) {
    const { hasNulls, cells } = unpacked(type, packArray(type, [null, value, null]));
    assert.deepEqual([hasNulls, cells], [1, [null, value, null]]);
  }
  assert.deepEqual(unpacked('TEXT', packArray('TEXT', [])), { ...whole, dimensions: 0, oid: 25, cells: [] });
});
