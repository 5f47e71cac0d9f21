import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mergedText } from './merged-metrics.ts';
import { Metrics, ownFigures } from './metrics.ts';

/** What a process with these figures tells. */
async function figures(requests: number, height: number, readers: number, age: number) {
  const metrics = new Metrics('merged');
  metrics.counter('seen_total', 'Requests', ['route']).inc({ route: '/a b' }, requests);
  metrics.gauge('height', 'Of the chain').set(height);
  metrics.gauge('age', 'Not known by all', [], () => age);
  metrics.shareGauge('readers', 'Of this process', () => readers);
  metrics.leastGauge('healthy', 'As this process sees it', () => readers);
  const times = metrics.histogram('took_seconds', 'Times', [], [1, 5]);
  times.observe(requests);
  metrics.requests.route('/height').observe('GET', 200, 0.002);
  return structuredClone(await ownFigures('merged'));
}

test('counters and histograms of all processes are summed, gauges by their kind', async () => {
  const told = [await figures(3, 7, 2, Number.NaN), await figures(4, 5, 10, 8)];
  const lines = String(await mergedText(told)).split('\n');
  for (const line of [
    'seen_total{route="/a b"} 7',
    'height 7',
    'age 8',
    'readers 12',
    'healthy 2',
    'took_seconds_bucket{le="5"} 2',
    'took_seconds_sum 7',
    'took_seconds_count 2',
    'http_request_duration_seconds_count{route="/height",method="GET",status="200"} 2',
    'workers 2',
  ]) {
    assert.ok(lines.includes(line), line);
  }
  assert.equal(lines.filter((line) => line.startsWith('# TYPE seen_total')).length, 1);
  assert.ok(lines.some((line) => line.startsWith('process_resident_memory_bytes ')));
  assert.equal(await mergedText([]), undefined);
});
