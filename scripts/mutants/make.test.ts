import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mutate } from './make.ts';
import { sqlChanges } from './sql-text.ts';

const changes = (source: string) =>
  mutate('x.ts', source).mutants.map(({ kind, was, becomes }) => `${kind}: ${was} -> ${becomes}`);

test('conditions, boundaries and arithmetic are changed, and the parentheses of what is left stay', () => {
  assert.deepEqual(changes('function f(a: number, b: number) { if (a < b) g(); return a * (b - 1); }'), [
    'boundary: a < b -> a <= b',
    'condition: a < b -> false',
    'condition: a < b -> true',
    'statement removed: g(); -> ;',
    'arithmetic: a * (b - 1) -> a / (b - 1)',
    'arithmetic: b - 1 -> b + 1',
  ]);
  assert.deepEqual(changes('const f = (a: unknown, b: unknown) => a === 1 || !b;'), [
    'and, or: a === 1 || !b -> a === 1 && !b',
    'negated: a === 1 -> a !== 1',
  ]);
  assert.deepEqual(changes("const f = (a: string) => a + 'x';"), [], 'texts are not added up');
});

test('a guard is left out by its condition alone, any other throw by itself', () => {
  assert.deepEqual(changes('function f(a: boolean) { if (a) throw new Error(); }'), [
    'condition: a -> false',
    'condition: a -> true',
  ]);
  assert.deepEqual(changes('function f() { g(); throw new Error(); }'), [
    'statement removed: g(); -> ;',
    'throw removed: throw new Error(); -> ;',
  ]);
});

test('a function answers a constant of the type that it names', () => {
  const returned = (type: string) =>
    changes(`async function f(): ${type} { return x; }`).map((change) => change.split(' -> ')[1]);
  assert.deepEqual(returned('Promise<boolean>'), ['return true;', 'return false;']);
  assert.deepEqual(returned('Promise<bigint>'), ['return 0n;']);
  assert.deepEqual(returned('Promise<Row | undefined>'), ['return undefined;']);
  assert.deepEqual(returned('Promise<Row[]>'), ['return [];']);
  assert.deepEqual(returned('Promise<Row>'), []);
});

test('what is only told is left', () => {
  assert.deepEqual(changes("function f() { options.log.warn({}, 'x'); timer.unref(); }"), []);
});

test('conditions of SQL hold always, boundaries move, and parameters keep their places', () => {
  const text = "SELECT a FROM t WHERE b = ? AND (c < ? OR d = 'x') AND e BETWEEN ? AND ? ORDER BY a DESC";
  const changed = sqlChanges(text).map(({ start, end, put }) => text.slice(0, start) + put + text.slice(end));
  assert.deepEqual(changed, [
    text.replace('b = ?', '(1 = 1 OR b = ?)'),
    text.replace("(c < ? OR d = 'x')", "(1 = 1 OR (c < ? OR d = 'x'))"),
    text.replace('c < ?', 'c <= ?'),
    text.replace('DESC', 'ASC'),
  ]);
});

test('the code with all of them does what it did until one is chosen', () => {
  const source = `
    class Counter { #n = 0n; add(by: bigint): bigint { if (by < 0n) throw new RangeError('no'); this.#n += by; return this.#n; } }
    const counter = new Counter();
    result = [counter.add(1n), counter.add(2n)];`;
  const { mutants, code } = mutate('x.ts', source);
  const run = (chosen: number): unknown => {
    const body = new Function('__mutant', `let result; ${code}; return result;`);
    try {
      return body((number: number) => number === chosen);
    } catch (error) {
      return String(error);
    }
  };
  const unmutated = run(-1);
  assert.deepEqual(unmutated, [1n, 3n]);
  const equal = mutants.filter((_, number) => {
    const result = run(number);
    return Array.isArray(result) && result.every((value, at) => value === [1n, 3n][at]);
  });
  assert.deepEqual(
    equal.map(({ kind, becomes }) => `${kind}: ${becomes}`),
    ['boundary: by <= 0n', 'condition: false'],
  );
});

test('an id stays when other lines change, and tells equal places apart', () => {
  const ids = (source: string) => mutate('x.ts', source).mutants.map(({ id }) => id);
  const before = ids('function f() { a(); a(); }');
  assert.equal(new Set(before).size, 2);
  assert.deepEqual(ids('const first = 1;\nfunction f() { a(); a(); }'), before);
});
