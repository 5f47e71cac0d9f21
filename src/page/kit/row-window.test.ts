import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rowAfterKey, rowsInDocument } from './row-window.ts';

const seen = { rowCount: 100_000, rowHeight: 40, height: 560 };

test('of a hundred thousand rows only those around the seen ones are in the document', () => {
  const rows = rowsInDocument({ ...seen, scrollTop: 2_000_000 });
  assert.equal(rows[0], 50_000 - 8);
  assert.equal(rows.at(-1), 50_000 + 14 + 8 - 1);
});

test('the first and the last rows end the list', () => {
  assert.equal(rowsInDocument({ ...seen, scrollTop: 0 })[0], 0);
  assert.equal(rowsInDocument({ ...seen, scrollTop: 4_000_000 - 560 }).at(-1), 99_999);
  assert.deepEqual(rowsInDocument({ ...seen, rowCount: 0, scrollTop: 0 }), []);
  // The list became shorter than it was scrolled.
  assert.deepEqual(rowsInDocument({ ...seen, rowCount: 3, scrollTop: 2_000_000 }), []);
});

test('the row in use stays, wherever the rest is scrolled to', () => {
  assert.equal(rowsInDocument({ ...seen, scrollTop: 2_000_000, active: 3 })[0], 3);
  assert.equal(rowsInDocument({ ...seen, scrollTop: 0, active: 99_999 }).at(-1), 99_999);
  assert.equal(rowsInDocument({ ...seen, scrollTop: 0, active: 5 }).filter((row) => row === 5).length, 1);
  assert.equal(rowsInDocument({ ...seen, scrollTop: 0, active: 100_000 }).includes(100_000), false);
});

test('keys move inside the table', () => {
  assert.equal(rowAfterKey('ArrowDown', 0, 10, 5), 1);
  assert.equal(rowAfterKey('k', 0, 10, 5), 0);
  assert.equal(rowAfterKey('PageDown', 7, 10, 5), 9);
  assert.equal(rowAfterKey('Home', 7, 10, 5), 0);
  assert.equal(rowAfterKey('End', 7, 10, 5), 9);
  assert.equal(rowAfterKey('x', 7, 10, 5), undefined);
  assert.equal(rowAfterKey('toString', 7, 10, 5), undefined);
  assert.equal(rowAfterKey('End', 0, 0, 5), undefined);
});
