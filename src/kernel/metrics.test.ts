import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Metrics } from './metrics.ts';

/** The value of one series, found by the start of its line. */
function value(text: string, series: string): number {
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1));
}

describe('the metrics of a surface', () => {
  test('join the process figures to its own, each name once', async () => {
    const metrics = new Metrics();
    metrics.counter('payments_total', 'Payments', ['kind']).inc({ kind: 'card' }, 2);
    const plain = metrics.plainCounter('bytes_sent_total', 'Bytes');
    plain.add(5);
    plain.add();
    metrics.gauge('queue_length', 'Waiting', [], () => 7);
    const text = await metrics.text();
    assert.equal(value(text, 'payments_total{kind="card"}'), 2);
    assert.equal(value(text, 'bytes_sent_total'), 6);
    assert.equal(value(text, 'queue_length'), 7);
    assert.ok(value(text, 'process_resident_memory_bytes') > 0);
    const types = text.split('\n').filter((line) => line.startsWith('# TYPE '));
    assert.equal(new Set(types).size, types.length);
    assert.equal(metrics.contentType, 'text/plain; version=0.0.4; charset=utf-8');
  });

  test('do not mix with those of another surface', async () => {
    const [one, two] = [new Metrics(), new Metrics()];
    one.counter('only_here_total', 'x').inc();
    assert.ok((await one.text()).includes('only_here_total'));
    assert.ok(!(await two.text()).includes('only_here_total'));
  });

  test('read a plain counter at every scrape without counting it twice', async () => {
    const metrics = new Metrics();
    metrics.plainCounter('hits_total', 'Hits').add(3);
    await metrics.text();
    assert.equal(value(await metrics.text(), 'hits_total'), 3);
  });
});

describe('the request histogram', () => {
  test('counts by route, method and status in cumulated buckets', async () => {
    const metrics = new Metrics();
    const route = metrics.requests.route('/v1/price/:bytes');
    for (const seconds of [0.0005, 0.001, 0.02, 99]) route.observe('GET', 200, seconds);
    route.observe('HEAD', 404, 0.3);
    const text = await metrics.text();
    const of = (labels: string) => `{route="/v1/price/:bytes",${labels}}`;
    const bucket = (le: string) =>
      value(text, `http_request_duration_seconds_bucket${of(`method="GET",status="200",le="${le}"`)}`);
    assert.deepEqual(['0.001', '0.0025', '0.025', '30', '+Inf'].map(bucket), [2, 2, 3, 3, 4]);
    assert.equal(value(text, `http_request_duration_seconds_count${of('method="GET",status="200"')}`), 4);
    assert.equal(value(text, `http_request_duration_seconds_count${of('method="HEAD",status="404"')}`), 1);
    const sum = value(text, `http_request_duration_seconds_sum${of('method="GET",status="200"')}`);
    assert.ok(Math.abs(sum - 99.0215) < 1e-9);
  });

  test('is the same figures as JSON', async () => {
    const metrics = new Metrics();
    metrics.requests.route('/x').observe('GET', 200, 0.1);
    const found = (await metrics.registry.getMetricsAsJSON()).find(
      (metric) => metric.name === 'http_request_duration_seconds',
    );
    assert.deepEqual(found?.values.at(-1)?.labels, { route: '/x', method: 'GET', status: 200 });
    assert.equal(found?.values.at(-1)?.value, 1);
  });
});

test('a slow gauge keeps no scrape waiting, and tells nothing it does not know', async () => {
  const metrics = new Metrics();
  const answers = [async () => 3, () => Promise.reject(new Error('away'))];
  let asked = 0;
  metrics.slowGauge('slow', 'Takes its time', () => answers[asked++]?.() ?? Promise.resolve(9), 0);
  const told = async () => /^slow (\S+)$/m.exec(await metrics.text())?.[1];
  assert.equal(await told(), 'Nan');
  assert.equal(await told(), '3');
  assert.equal(await told(), 'Nan');
  assert.equal(await told(), '9');
});
