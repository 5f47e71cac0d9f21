import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { contentRange, MAX_RANGES, multipartRanges, parseRange } from './byte-ranges.ts';

const spans = (header: string, size: number) => {
  const answer = parseRange(header, size);
  return answer.kind === 'ranges' ? answer.spans.map(({ start, end }) => [start, end]) : answer.kind;
};

describe('parseRange', () => {
  test('first, last, open and suffix ranges', () => {
    assert.deepEqual(spans('bytes=0-0', 10), [[0, 1]]);
    assert.deepEqual(spans('bytes=2-5', 10), [[2, 6]]);
    assert.deepEqual(spans('bytes=5-', 10), [[5, 10]]);
    assert.deepEqual(spans('bytes=-3', 10), [[7, 10]]);
    assert.deepEqual(spans('bytes=-30', 10), [[0, 10]]);
    assert.deepEqual(spans('bytes=8-99999999999999999999', 10), [[8, 10]]);
    assert.deepEqual(spans('bytes=0-1, 4-5', 10), [
      [0, 2],
      [4, 6],
    ]);
  });

  test('what lies outside is 416, unless another range lies inside', () => {
    assert.equal(spans('bytes=10-', 10), 'unsatisfiable');
    assert.equal(spans('bytes=-0', 10), 'unsatisfiable');
    assert.equal(spans('bytes=0-', 0), 'unsatisfiable');
    assert.deepEqual(spans('bytes=50-60,1-2', 10), [[1, 3]]);
  });

  test('what is no byte range is ignored', () => {
    for (const header of [
      '',
      'bytes',
      'bytes=',
      'bytes=-',
      'bytes=a-b',
      'bytes=5-2',
      'items=0-1',
      'bytes=1--2',
      'bytes=0x1-2',
    ]) {
      assert.equal(spans(header, 10), 'whole', header);
    }
  });

  test('too many or overlapping ranges get the whole content', () => {
    const many = Array.from({ length: MAX_RANGES + 1 }, (_, index) => `${index * 2}-${index * 2}`).join(',');
    assert.equal(spans(`bytes=${many}`, 1000), 'whole');
    assert.equal(spans('bytes=0-5,3-8', 10), 'whole');
    assert.equal(spans(`bytes=${'0-0,'.repeat(2000)}0-0`, 10), 'whole');
  });
});

test('a multi-range answer has the announced length', () => {
  const size = 100;
  const parts = multipartRanges(
    [
      { start: 0, end: 2 },
      { start: 10, end: 15 },
    ],
    size,
    'text/plain',
    'xyz',
  );
  const body = Buffer.concat([
    ...parts.pieces.flatMap(({ head, span }) => [head, Buffer.alloc(span.end - span.start, 'a')]),
    parts.tail,
  ]);
  assert.equal(body.length, parts.contentLength);
  assert.equal(
    body.toString(),
    '--xyz\r\nContent-Type: text/plain\r\nContent-Range: bytes 0-1/100\r\n\r\naa\r\n--xyz\r\nContent-Type: text/plain\r\nContent-Range: bytes 10-14/100\r\n\r\naaaaa\r\n--xyz--\r\n',
  );
  assert.equal(contentRange({ start: 10, end: 15 }, size), 'bytes 10-14/100');
});
