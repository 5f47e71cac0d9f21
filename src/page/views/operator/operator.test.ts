/** What the operator's pages compute. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Charts } from '../../../console/api.ts';
import { adviceFor } from './advice.ts';
import { figureSeries, queueSeries } from './chart-series.ts';
import { isId, isNameLabel, isPositiveDecimal, isTransactionHash } from './ids.ts';
import { addLines, filterLines, namesIn, readLine } from './log-lines.ts';
import { amountText } from './money.ts';
import { pageQuery } from './page-query.ts';
import { findVariables, joinVariables } from './variables.ts';

describe('advice', () => {
  test('each problem that services tell has advice of its own, and a page to go on at', () => {
    const told: readonly (readonly [string, string])[] = [
      ['No node answers.', '/operator/import'],
      ['The database does not take writes.', '/operator/logs'],
      ['The disk of DATA_DIR has 12 MiB left.', '/operator/configuration?q=DATA_DIR'],
      ['The import is 40 blocks behind the chain.', '/operator/import'],
      ['3 bundles could not be read and wait for an operator.', '/operator/import'],
      ['The scheduled Parquet export failed: disk quota', '/operator/configuration?q=DATA_DIR'],
      ['The scheduled Parquet export failed: it was stopped', '/operator/exports'],
      ['2 bundles are stuck', '/operator/bundler?state=stuck'],
      ['The audit log cannot be written', '/operator/moderation'],
      ['the moon is full', '/operator/logs'],
    ];
    for (const [problem, href] of told) assert.equal(adviceFor(problem).href, href, problem);
  });
});

describe('log lines', () => {
  const line = (level: string, msg: string, more: object = {}) =>
    readLine({ level, time: '2026-11-16T06:30:00.250Z', name: 'turnpike', msg, ...more });

  test('are read as the log writes them, and shown as they are where they are something else', () => {
    const read = line('warn', 'slow', { ms: 12 });
    assert.deepEqual(
      [read.level, read.time, read.name, read.message, read.rest],
      ['warn', Date.UTC(2026, 10, 16, 6, 30, 0, 250), 'turnpike', 'slow', '{"ms":12}'],
    );
    assert.equal(line('info', 'x', { service: 'upload' }).name, 'upload');
    assert.equal(readLine('plain text').message, 'plain text');
    assert.equal(readLine({ level: 'shout', time: 'never' }).level, 'info');
    assert.equal(readLine({ time: 'never' }).time, undefined);
  });

  test('are filtered by level, writer and words', () => {
    const lines = [
      line('debug', 'one'),
      line('error', 'Two', { service: 'upload' }),
      line('info', 'two too'),
    ];
    const shown = (level: 'debug' | 'info' | 'error', name: string, words: string) =>
      filterLines(lines, { level, name, words }).map(({ message }) => message);
    assert.deepEqual(shown('debug', '', ''), ['one', 'Two', 'two too']);
    assert.deepEqual(shown('info', '', ' TWO '), ['Two', 'two too']);
    assert.deepEqual(shown('error', '', ''), ['Two']);
    assert.deepEqual(shown('debug', 'upload', ''), ['Two']);
    assert.deepEqual(namesIn(lines), ['turnpike', 'upload']);
  });

  test('are bounded, and those that are told again are not added again', () => {
    const first = addLines([], [line('info', 'a'), line('info', 'b')]);
    const again = addLines(first, [line('info', 'b'), line('info', 'c')]);
    assert.deepEqual(
      again.map(({ message }) => message),
      ['a', 'b', 'c'],
    );
    const many = addLines(
      again,
      Array.from({ length: 6_000 }, (_, at) => line('info', `line ${at}`)),
    );
    assert.deepEqual([many.length, many.at(-1)?.message], [5_000, 'line 5999']);
  });
});

describe('settings', () => {
  const told = (surface: string, name: string, value: string, isSet = false) => ({
    surface,
    group: 'General',
    name,
    meaning: `what ${name} is for`,
    value,
    default: '',
    isSet,
  });
  const joined = joinVariables([
    told('gateway', 'PORT', '4000'),
    told('upload', 'PORT', '4000'),
    told('gateway', 'LOG_LEVEL', 'info'),
    told('upload', 'LOG_LEVEL', 'debug', true),
  ]);

  test('that services agree on are one row, others name who has which value', () => {
    assert.deepEqual(
      joined.map(({ name, isSet, values }) => [name, isSet, values]),
      [
        ['PORT', false, [{ value: '4000', surfaces: ['gateway', 'upload'] }]],
        [
          'LOG_LEVEL',
          true,
          [
            { value: 'info', surfaces: ['gateway'] },
            { value: 'debug', surfaces: ['upload'] },
          ],
        ],
      ],
    );
  });

  test('are found by words in any order and case', () => {
    const found = (query: string, onlySet = false) =>
      findVariables(joined, query, onlySet).map(({ name }) => name);
    assert.deepEqual(found('for port'), ['PORT']);
    assert.deepEqual(found('DEBUG'), ['LOG_LEVEL']);
    assert.deepEqual(found('', true), ['LOG_LEVEL']);
    assert.deepEqual(found('port debug'), []);
  });
});

describe('charts', () => {
  const nothing = {
    requestsPerSecond: [],
    errorsPerSecond: [],
    latencyP50: [],
    latencyP95: [],
    inFlight: [],
    cacheHitShare: [],
    eventLoopLag: [],
    memoryBytes: [],
    cpu: [],
  };
  const charts: Charts = {
    everyMs: 5_000,
    times: [1_000, 6_000, 11_000],
    surfaces: {
      gateway: {
        figures: { ...nothing, latencyP50: [0.5, null, 0.25] },
        queues: { bundles: [0, 3, 0], nothing_waits: [0, 0, 0], announcements: [9, null, 1] },
      },
      upload: { figures: nothing, queues: {} },
    },
  };
  const labels = { gateway: 'G', payment: 'P', upload: 'U', router: 'R' };

  test('have one line for each service that tells the figure, in the unit asked for', () => {
    assert.deepEqual(figureSeries(charts, 'latencyP50', labels, 1000), [
      {
        label: 'G',
        points: [
          [1_000, 500],
          [11_000, 250],
        ],
      },
    ]);
    assert.deepEqual(figureSeries(charts, 'cpu', labels), []);
  });

  test('of queues show those in which something waited, the fullest first', () => {
    assert.deepEqual(
      queueSeries(charts, 'gateway').map(({ label }) => label),
      ['announcements', 'bundles'],
    );
    assert.deepEqual(queueSeries(charts, 'router'), []);
  });
});

describe('what is entered and shown', () => {
  test('amounts are in the units of their currency', () => {
    assert.equal(amountText('1050', 'usd'), '$10.50');
    assert.equal(amountText('500', 'jpy'), '¥500');
    assert.equal(amountText('1500000000000', 'arweave'), '1.5 AR');
    assert.equal(amountText('2500000', 'base-usdc'), '2.5 USDC');
    assert.equal(amountText('7', 'shells'), '7 shells');
    assert.equal(amountText('1e9', 'usd'), '1e9 usd');
  });

  test('ids, hashes, names and amounts are told apart from others', () => {
    assert.ok(isId('a'.repeat(43)) && !isId('a'.repeat(42)) && !isId(`${'a'.repeat(42)}/`));
    assert.ok(isTransactionHash(`0x${'aF'.repeat(32)}`) && !isTransactionHash('0x12'));
    assert.ok(isNameLabel('a_b-1') && !isNameLabel('a.b') && !isNameLabel(''));
    assert.ok(isPositiveDecimal('0.5') && !isPositiveDecimal('0.0') && !isPositiveDecimal('-1'));
  });

  test('a query has what is given', () => {
    assert.equal(pageQuery({ state: undefined, before: null, q: '' }), '');
    assert.equal(pageQuery({ state: 'open', before: 'a&b' }), '?state=open&before=a%26b');
  });
});
