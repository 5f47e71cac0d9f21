import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readArguments } from './command.ts';

const options = {
  target: { type: 'string' },
  'paid-by': { type: 'string', multiple: true },
  json: { type: 'boolean' },
} as const;
const read = (...args: string[]) => {
  const { values, positionals } = readArguments({ args, options, allowPositionals: true });
  return { ...values, positionals };
};
const id = '-viZuWHxBtwAhbnAxNF8FHvYpIdgQ2m4Po9dax_FWGA';
const twice = `--${'x'.repeat(41)}`;

test('an id that begins with a dash is an id, wherever one may stand', () => {
  assert.deepEqual(read('set', 'name', id), { positionals: ['set', 'name', id] });
  assert.deepEqual(read(twice, '--json', id), { json: true, positionals: [twice, id] });
  assert.deepEqual(read('--target', id, 'buy'), { target: id, positionals: ['buy'] });
  assert.deepEqual(read(`--target=${id}`), { target: id, positionals: [] });
  assert.deepEqual(read('--paid-by', id, '--paid-by', 'other', '--paid-by', twice), {
    'paid-by': [id, 'other', twice],
    positionals: [],
  });
});

test('a number below zero is a number, wherever one may stand', () => {
  assert.deepEqual(read('--target', '-100', '-0.5'), { target: '-100', positionals: ['-0.5'] });
  assert.deepEqual(read('--target=-100'), { target: '-100', positionals: [] });
  assert.throws(() => read('--target', '-1e3'), { code: 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE' });
});

test('everything else is as it always was', () => {
  assert.deepEqual(read('a', '--', '--json', id), { positionals: ['a', '--json', id] });
  assert.throws(() => read(id.slice(1, 10), '-x'), { code: 'ERR_PARSE_ARGS_UNKNOWN_OPTION' });
  assert.throws(() => read('--target', '-'.padEnd(42, 'x')), { code: 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE' });
  assert.throws(() => read('-'.padEnd(44, 'x')), { code: 'ERR_PARSE_ARGS_UNKNOWN_OPTION' });
});
