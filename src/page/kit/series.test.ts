import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alignSeries, extentOf, sparkPath } from './series.ts';

test('series of different times come onto one axis, with gaps where one has no value', () => {
  const aligned = alignSeries([
    {
      label: 'a',
      points: [
        [1000, 1],
        [3000, 3],
      ],
    },
    {
      label: 'b',
      points: [
        [2000, 2],
        [3000, null],
      ],
    },
  ]);
  assert.deepEqual(aligned, [
    [1, 2, 3],
    [1, null, 3],
    [null, 2, null],
  ]);
});

test('a summary is of what is known', () => {
  assert.deepEqual(
    extentOf({
      label: 'a',
      points: [
        [1, 5],
        [2, -1],
        [3, null],
        [4, 2],
      ],
    }),
    { last: 2, lowest: -1, highest: 5 },
  );
  assert.equal(extentOf({ label: 'a', points: [[1, null]] }), undefined);
});

test('a small line fills its box, stays in the middle when nothing changes, and breaks at gaps', () => {
  assert.equal(
    sparkPath(
      [
        [0, 0],
        [5, 10],
        [10, 5],
      ],
      100,
      20,
    ),
    'M0.0 20.0L50.0 0.0L100.0 10.0',
  );
  assert.equal(
    sparkPath(
      [
        [0, 7],
        [10, 7],
      ],
      100,
      20,
    ),
    'M0.0 10.0L100.0 10.0',
  );
  assert.equal(
    sparkPath(
      [
        [0, 0],
        [5, null],
        [10, 1],
      ],
      100,
      20,
    ),
    'M0.0 20.0M100.0 0.0',
  );
  assert.equal(sparkPath([], 100, 20), '');
  assert.equal(sparkPath([[3, 1]], 100, 20), '');
});
