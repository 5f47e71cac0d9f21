import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChartStore } from './charts.ts';
import { figuresOf } from './figures.ts';
import { Samples } from './prometheus.ts';

const figures = (waiting: number) =>
  figuresOf('upload', undefined, { at: 0, samples: new Samples(`upload_items_waiting ${waiting}`) });

test('an hour of samples is kept, and a page reads on from where it was', () => {
  const charts = new ChartStore();
  for (let index = 1; index <= 800; index += 1) charts.add(index * 5_000, { upload: figures(index) });
  assert.equal(charts.read(0).times.length, 720);
  const { times, surfaces } = charts.read(798 * 5_000);
  assert.deepEqual(times, [799 * 5_000, 800 * 5_000]);
  assert.deepEqual(surfaces.upload?.queues, { upload_items_waiting: [799, 800] });
});

test('a surface that was away has nothing at those times, and a clock set back begins anew', () => {
  const charts = new ChartStore();
  charts.add(1, { upload: figures(1) });
  charts.add(2, {});
  charts.add(3, { upload: figures(3) });
  assert.deepEqual(charts.read(0).surfaces.upload?.queues.upload_items_waiting, [1, null, 3]);
  assert.deepEqual(charts.read(0).surfaces.upload?.figures.cpu, [null, null, null]);
  charts.add(2, { upload: figures(9) });
  assert.deepEqual(charts.read(0).times, [2]);
});
