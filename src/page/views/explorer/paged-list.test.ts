import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { eventually } from '../../../../test/support/eventually.ts';
import { maxRows, PagedList } from './paged-list.ts';

interface Row {
  readonly id: string;
  readonly word?: string;
}

const rowsFrom = (from: number, count: number): Row[] =>
  Array.from({ length: count }, (_, at) => ({ id: String(from + at) }));

function listOf(total: number, asked: number[] = []) {
  return new PagedList<Row>(
    async (size, after) => {
      asked.push(size);
      const from = after === undefined ? 0 : Number(after);
      const to = Math.min(total, from + size);
      return {
        rows: rowsFrom(from, to - from),
        next: to < total ? String(to) : undefined,
      };
    },
    () => {},
  );
}

const settled = (list: PagedList<Row>) => eventually('the list has read', () => !list.isReading);

describe('a list in pages', () => {
  test('reads a small page first, and large ones to a row far away, in order', async () => {
    const asked: number[] = [];
    const list = listOf(5_000, asked);
    list.want(0);
    await settled(list);
    assert.deepEqual([asked, list.rows.length, list.hasMore], [[50], 50, true]);
    list.want(3_000);
    await settled(list);
    assert.deepEqual(list.rowAt(3_000), { id: '3000' });
    assert.deepEqual(asked, [50, 1_000, 1_000, 951]);
    list.want(10);
    await settled(list);
    assert.equal(asked.length, 4);
  });

  test('ends where the rows end, and at its bound', async () => {
    const short = listOf(7);
    short.want(100);
    await settled(short);
    assert.deepEqual([short.rows.length, short.hasMore], [7, false]);
    const long = listOf(maxRows + 5_000);
    long.want(maxRows * 2);
    await settled(long);
    assert.deepEqual([long.rows.length, long.hasMore], [maxRows, false]);
  });

  test('stays with what it has when a page fails, and goes on when asked again', async () => {
    let isDown = false;
    const list = new PagedList<Row>(
      async (size, after) => {
        if (isDown) throw new Error('down');
        const from = Number(after ?? 0);
        return { rows: rowsFrom(from, size), next: String(from + size) };
      },
      () => {},
    );
    list.want(0);
    await settled(list);
    isDown = true;
    list.want(60);
    await settled(list);
    assert.deepEqual([list.error?.message, list.rows.length], ['down', 50]);
    isDown = false;
    list.again();
    await settled(list);
    assert.deepEqual([list.error, list.rowAt(60)], [undefined, { id: '60' }]);
  });

  test('asks no more when a page is empty, or nobody looks at it', async () => {
    const asked: number[] = [];
    const empty = new PagedList<Row>(
      async (size) => {
        asked.push(size);
        return { rows: [], next: 'again' };
      },
      () => {},
    );
    empty.want(5);
    await settled(empty);
    assert.deepEqual([asked.length, empty.hasMore], [1, false]);
    const stopped = listOf(5_000);
    stopped.want(4_000);
    stopped.stop();
    await settled(stopped);
    assert.equal(stopped.rows.length, 0);
  });

  test('brings rows that are here up to date, and leaves the others out', async () => {
    const list = listOf(20);
    list.want(0);
    await settled(list);
    assert.equal(list.update([{ id: '3', word: 'new' }, { id: '99' }, { id: '4' }]), true);
    assert.deepEqual([list.rowAt(3), list.rows.length], [{ id: '3', word: 'new' }, 20]);
    assert.equal(list.update([{ id: '3', word: 'new' }]), false);
  });
});
