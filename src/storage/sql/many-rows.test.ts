import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deleteRows, insertRows, selectIn } from './many-rows.ts';
import { packArray } from './postgres/arrays.ts';
import { forEachEngine } from './testing.ts';

const things = [
  {
    id: 'things',
    up: 'CREATE TABLE things (id BYTES PRIMARY KEY, number BIGINT, word TEXT, bytes BYTES);',
  },
];
const columns = { id: 'BYTEA', number: 'BIGINT', word: 'TEXT', bytes: 'BYTEA' } as const;
const idOf = (n: number) => Buffer.from(`thing ${n}`);

forEachEngine((_engine, open) => {
  describe('many rows', () => {
    it('come back as they were, whatever is in their cells', async () => {
      const sql = await open(things);
      const numbers = [0, 1, -1, 2 ** 31, -(2 ** 31) - 1, 2 ** 32, 2 ** 52 + 1, -(2 ** 40) - 7, null];
      const words = ['', 'plain', 'Grüße 🦉', '{a,"b",NULL}\\', null];
      const bytes = [Buffer.alloc(0), Buffer.from([0, 255, 10]), Buffer.alloc(3_000, 7), null];
      const rows = Array.from({ length: 1_000 }, (_, n) => [
        idOf(n),
        numbers[n % numbers.length] ?? null,
        words[n % words.length] ?? null,
        bytes[n % bytes.length] ?? null,
      ]);
      await insertRows(sql, 'things', columns, rows);
      const stored = await sql.all<{ id: Buffer }>('SELECT id, number, word, bytes FROM things');
      const byId = new Map(stored.map((row) => [row.id.toString(), row]));
      for (const [id, number, word, some] of rows) {
        assert.deepEqual(byId.get(String(id)), { id, number, word, bytes: some });
      }
      assert.equal(byId.size, rows.length);
    });

    it('answer those that were made, and are found again by lists of any length', async () => {
      const sql = await open(things);
      const made = (from: number, to: number) =>
        sql.transaction((tx) =>
          insertRows<{ id: Buffer }>(
            tx,
            'things',
            columns,
            Array.from({ length: to - from }, (_, n) => [idOf(from + n), from + n, null, null]),
            'ON CONFLICT (id) DO NOTHING RETURNING id',
          ),
        );
      assert.equal((await made(0, 600)).length, 600);
      assert.deepEqual((await made(500, 603)).map(({ id }) => id.toString()).sort(), [
        'thing 600',
        'thing 601',
        'thing 602',
      ]);
      assert.deepEqual(await made(0, 3), []);
      assert.deepEqual(await made(7, 7), []);
      const ids = Array.from({ length: 700 }, (_, n) => idOf(n));
      const byId = await selectIn(sql, 'SELECT number FROM things WHERE id IN ({in})', ids);
      assert.equal(byId.length, 603);
      const some = await selectIn<{ number: number }>(
        sql,
        'SELECT number FROM things WHERE number > ? AND number IN ({in}) ORDER BY number',
        [5, 2, 600, 4],
        3,
      );
      assert.deepEqual(
        some.map(({ number }) => number),
        [4, 5, 600],
      );
      assert.deepEqual(await selectIn(sql, 'SELECT number FROM things WHERE id IN ({in})', []), []);
    });

    it('go into the columns that are named, whichever were named before', async () => {
      const sql = await open(things);
      const some = ['number', 'word'] as const;
      for (const typed of [false, true]) {
        const put = (column: (typeof some)[number], id: string, value: string | number) =>
          insertRows(sql, 'things', typed ? { id: 'BYTEA', [column]: columns[column] } : ['id', column], [
            [Buffer.from(id), value],
          ]);
        await put('number', `number ${typed}`, 5);
        await put('word', `word ${typed}`, 'five');
      }
      const stored = await sql.all('SELECT number, word FROM things ORDER BY id');
      const [number, word] = [
        { number: 5, word: null },
        { number: null, word: 'five' },
      ];
      assert.deepEqual(stored, [number, number, word, word]);
    });

    it('are deleted by lists of their keys, of any length', async () => {
      const sql = await open(things);
      const rows = Array.from({ length: 400 }, (_, n) => [idOf(n), n, null, null]);
      await insertRows(sql, 'things', columns, rows);
      await insertRows(sql, 'things', ['id', 'number'], [[idOf(400), 400]]);
      await deleteRows(sql, 'things', ['number'], []);
      await deleteRows(
        sql,
        'things',
        ['number'],
        Array.from({ length: 399 }, (_, n) => [n]),
      );
      const left = () => sql.all('SELECT number FROM things ORDER BY number');
      assert.deepEqual(await left(), [{ number: 399 }, { number: 400 }]);
      await deleteRows(
        sql,
        'things',
        ['number', 'number'],
        [
          [399, 400],
          [400, 400],
        ],
      );
      assert.deepEqual(await left(), [{ number: 399 }]);
    });
  });
});

describe('an array for PostgreSQL', () => {
  it('has no cell that would be stored as something else', () => {
    assert.throws(() => packArray('BIGINT', [2 ** 53]), RangeError);
    assert.throws(() => packArray('BIGINT', [1.5]), RangeError);
    assert.throws(() => packArray('BIGINT', [7n]), RangeError);
    assert.throws(() => packArray('BYTEA', [7]), RangeError);
    assert.throws(() => packArray('TEXT', [7]), RangeError);
  });
});
