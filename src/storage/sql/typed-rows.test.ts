import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type } from 'typebox';
import { changeOne } from './change-one.ts';
import { assignments, given, insertion, selection } from './columns.ts';
import { isCorruption } from './corruption.ts';
import { amountText, jsonReader, readAmount, readInteger, readText, rowReader } from './typed-rows.ts';

test('a stored value of another shape is refused, never passed on', () => {
  assert.deepEqual([readAmount('-12'), readAmount('0')], [-12n, 0n]);
  for (const wrong of ['', '1.5', '0x1', ' 1', 1, 1n, null, undefined])
    assert.throws(() => readAmount(wrong), /no decimal integer/);
  assert.deepEqual([readText(''), readText('x')], ['', 'x']);
  for (const wrong of [1, null, undefined]) assert.throws(() => readText(wrong), /a stored text is none/);
  assert.deepEqual([readInteger(-3), readInteger(Number.MAX_SAFE_INTEGER)], [-3, Number.MAX_SAFE_INTEGER]);
  for (const wrong of [1.5, Number.MAX_SAFE_INTEGER + 1, '1', 1n, null])
    assert.throws(() => readInteger(wrong), /a stored integer is none/);
});

test('a row and a JSON text say in the error what they are and what is wrong with them', () => {
  const shape = Type.Object({ amount: amountText });
  const row = rowReader('a payment', shape);
  assert.deepEqual(row({ amount: '5' }), { amount: '5' });
  assert.throws(() => row({ amount: 5 }), /^Error: a payment has another shape than was stored: \/amount /);
  const json = jsonReader('a quote', shape);
  assert.deepEqual(json('{"amount":"5"}'), { amount: '5' });
  assert.throws(() => json('{', 'q1'), /^Error: a quote q1 is not JSON$/);
  assert.throws(() => json('{'), /^Error: a quote is not JSON$/);
  assert.throws(() => json('{"amount":"x"}', 'q1'), /^Error: a quote q1 has another shape/);
});

test('a change of one row that finds none or two fails', async () => {
  const changing = (count: number) => ({
    ...({ engine: 'sqlite', forUpdate: '' } as const),
    all: async () => [],
    get: async () => undefined,
    run: async () => count,
  });
  await changeOne(changing(1), 'UPDATE t SET a = 1');
  for (const count of [0, 2]) {
    await assert.rejects(
      changeOne(changing(count), '\n  UPDATE t SET a = 1\n  WHERE b = 2'),
      new RegExp(`one row was to be changed, and ${count} were: UPDATE t SET a = 1$`),
    );
  }
});

test('columns are written as they are listed', () => {
  assert.equal(insertion({ a: 1, b: 'x' }), '(a, b) VALUES (?, ?)');
  assert.equal(assignments({ a: 1, b: 'x' }), 'a = ?, b = ?');
  assert.deepEqual(given({ a: 1, b: undefined, c: null }), { a: 1, c: null });
  assert.equal(selection(['antId', 'name']), 'ant_id AS "antId", name AS "name"');
});

test('damage is known by its code, on either engine, also as the cause of another error', () => {
  const coded = (fields: object, cause?: unknown) => Object.assign(new Error('x', { cause }), fields);
  for (const fields of [
    { errcode: 11 },
    { errcode: 26 },
    { errcode: 11 | (1 << 8) },
    { code: 'XX001' },
    { code: 'XX002' },
  ]) {
    assert.equal(isCorruption(coded(fields)), true);
    assert.equal(isCorruption(new Error('outer', { cause: coded(fields) })), true);
  }
  for (const fields of [{}, { errcode: 5 }, { errcode: '11' }, { code: '23505' }, { code: 11 }])
    assert.equal(isCorruption(coded(fields)), false);
  assert.equal(isCorruption('damaged'), false);
  let deep: Error = coded({ errcode: 11 });
  for (let depth = 0; depth < 7; depth += 1) deep = new Error('outer', { cause: deep });
  assert.equal(isCorruption(deep), true);
  assert.equal(isCorruption(new Error('one more', { cause: deep })), false);
});
