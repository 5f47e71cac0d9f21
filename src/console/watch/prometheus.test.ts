import assert from 'node:assert/strict';
import { test } from 'node:test';
import { figuresOf, isUse } from './figures.ts';
import { increases, quantile, Samples } from './prometheus.ts';

test('the text of metrics is read: labels with any letters, numbers of any kind, nothing else', () => {
  const samples = new Samples(
    [
      '# HELP a What it is',
      '# TYPE a counter',
      'a{route="/x{y}",note="say \\"no\\"\\nand \\\\"} 3 1700000000',
      'a 4',
      'b NaN',
      'c{le="+Inf"} +Inf',
      'not a metric at all!',
      '',
    ].join('\r\n'),
  );
  assert.deepEqual(samples.all('a')[0]?.labels, { route: '/x{y}', note: 'say "no"\nand \\' });
  assert.equal(samples.sum('a'), 7);
  assert.equal(samples.sum('b'), undefined);
  assert.equal(samples.all('c')[0]?.value, Number.POSITIVE_INFINITY);
  assert.equal(samples.sum('d'), undefined);
});

test('no text is too long to be read', () => {
  const many = new Samples('a{n="1"} 1\n'.repeat(120_000));
  assert.equal(many.all('a').length, 50_000);
});

test('a counter that is smaller than before began anew', () => {
  const before = new Samples('a{r="1"} 10\na{r="2"} 5');
  const now = new Samples('a{r="1"} 12\na{r="2"} 3\na{r="3"} 7');
  assert.deepEqual(
    increases(before, now, 'a').map(({ value }) => value),
    [2, 3, 7],
  );
});

test('quantiles are estimated within their bucket, as Prometheus does', () => {
  const buckets = new Map([
    [0.1, 50],
    [0.2, 100],
    [Number.POSITIVE_INFINITY, 100],
  ]);
  assert.equal(quantile(0.5, buckets), 0.1);
  assert.ok(Math.abs((quantile(0.75, buckets) ?? 0) - 0.15) < 1e-9);
  const slow = new Map([
    [1, 1],
    [Number.POSITIVE_INFINITY, 10],
  ]);
  assert.equal(quantile(0.95, slow), 1, 'what is beyond the last bound is at least that');
  assert.equal(quantile(0.5, new Map([[1, 0]])), undefined);
});

test('rates leave out those who only watch', () => {
  const read = (requests: number, failures: number, scrapes: number, cpu: number) =>
    new Samples(
      [
        `http_request_duration_seconds_count{route="/:id",method="GET",status="200"} ${requests}`,
        `http_request_duration_seconds_count{route="/:id",method="GET",status="502"} ${failures}`,
        `http_request_duration_seconds_count{route="/gw/__gateway_metrics",method="GET",status="200"} ${scrapes}`,
        `process_cpu_seconds_total ${cpu}`,
        'http_requests_in_flight 3',
        'queue_length{queue_name="bundles"} 7',
        'contiguous_data_cache_hit_total 6',
        'contiguous_data_cache_miss_total 2',
      ].join('\n'),
    );
  const { figures, queues } = figuresOf(
    'gateway',
    { at: 1_000, samples: read(10, 0, 5, 1) },
    { at: 3_000, samples: read(28, 2, 50, 2) },
  );
  assert.equal(figures.requestsPerSecond, 10);
  assert.equal(figures.errorsPerSecond, 1);
  assert.equal(figures.cpu, 0.5);
  assert.equal(figures.inFlight, 2);
  assert.equal(figures.cacheHitShare, undefined, 'nothing was read between the two');
  assert.deepEqual(queues, { bundles: 7 });
  const first = figuresOf('gateway', undefined, { at: 1_000, samples: read(10, 0, 5, 1) });
  assert.equal(first.figures.requestsPerSecond, undefined);
  for (const route of ['/raw/:id', '/:id', '/*', '/graphql', '/tx/:id', '/v1/tx/:token'])
    assert.ok(isUse(route), route);
  for (const route of [
    '/',
    '/health',
    '/v1/health',
    '/v1/metrics',
    '/gw/healthcheck',
    '/router/ready',
    '/v1/admin/state',
  ])
    assert.ok(!isUse(route), route);
});
