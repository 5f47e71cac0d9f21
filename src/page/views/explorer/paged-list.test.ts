import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { eventually } from '../../../../test/support/eventually.ts';
import { maxRows, PagedList } from './paged-list.ts';

function listOf(total: number, asked: number[] = []) {
  return new PagedList<number>(
    async (size, after) => {
      asked.push(size);
      const from = after === undefined ? 0 : Number(after);
      const to = Math.min(total, from + size);
      return {
        rows: Array.from({ length: to - from }, (_, at) => from + at),
        next: to < total ? String(to) : undefined,
      };
    },
    () => {},
  );
}

const settled = (list: PagedList<number>) => eventually('the list has read', () => !list.isReading);

describe('a list in pages', () => {
  test('reads a small page first, and large ones to a row far away, in order', async () => {
    const asked: number[] = [];
    const list = listOf(5_000, asked);
    list.want(0);
    await settled(list);
    assert.deepEqual([asked, list.rows.length, list.hasMore], [[50], 50, true]);
    list.want(3_000);
    await settled(list);
    assert.equal(list.rowAt(3_000), 3_000);
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
    const list = new PagedList<number>(
      async (size, after) => {
        if (isDown) throw new Error('down');
        const from = Number(after ?? 0);
        return { rows: Array.from({ length: size }, (_, at) => from + at), next: String(from + size) };
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
    assert.deepEqual([list.error, list.rowAt(60)], [undefined, 60]);
  });

  test('asks no more when a page is empty, or nobody looks at it', async () => {
    const asked: number[] = [];
    const empty = new PagedList<number>(
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
});
