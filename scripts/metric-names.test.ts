/** Every metric that the program registers follows the rules of Prometheus, also those of parts that a test leaves off. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { lintMetric, type MetricFamily } from '../test/support/metrics-lint.ts';

const root = resolve(import.meta.dirname, '..');
const files = globSync('src/**/*.ts', { cwd: root }).filter((file) => !/\.test\.ts$|testing/.test(file));

/** What registers one -> what it is to Prometheus. */
const kinds: Readonly<Record<string, string>> = {
  counter: 'counter',
  plainCounter: 'counter',
  processCounter: 'counter',
  collected: 'counter',
  total: 'counter',
  gauge: 'gauge',
  slowGauge: 'gauge',
  histogram: 'histogram',
};
const call = new RegExp(
  `\\b(${Object.keys(kinds).join('|')})\\(\\s*(?:metrics,\\s*)?'([^']+)',\\s*(?:'([^']*)'|"([^"]*)")`,
  'g',
);

function registered(): MetricFamily[] {
  return files.flatMap((file) =>
    [...readFileSync(resolve(root, file), 'utf8').matchAll(call)].map(
      ([, how = '', name = '', help, other]) => ({ name, kind: kinds[how] ?? '', help: help ?? other ?? '' }),
    ),
  );
}

test('metrics are named by the rules of Prometheus', () => {
  const found = registered();
  assert.ok(found.length > 90, `${found.length} metrics are found`);
  assert.deepEqual(found.flatMap(lintMetric), []);
});

test('the rules find what is wrong', () => {
  const faulty: [string, string, string][] = [
    ['router_gateways_total', 'gauge', 'x'],
    ['requests', 'counter', 'x'],
    ['wait_ms', 'gauge', 'x'],
    ['size_kib', 'gauge', 'x'],
    ['things', 'gauge', ''],
    ['camelCase', 'gauge', 'x'],
    ['requests_count', 'gauge', 'x'],
  ];
  for (const [name, kind, help] of faulty) assert.equal(lintMetric({ name, kind, help }).length, 1, name);
  assert.deepEqual(lintMetric({ name: 'cache_size_bytes', kind: 'gauge', help: 'x' }), []);
});
