import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { test } from 'node:test';
import { eventually } from '../../test/support/eventually.ts';
import { countStreamedBytes } from './minor-gc.ts';

const { NODE_PERFORMANCE_GC_MINOR: minor } = constants;

test('the young generation is collected once for each 8 MiB of a body that passes', async () => {
  let collections = 0;
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if ((entry as PerformanceEntry & { detail: { kind: number } }).detail.kind === minor) collections += 1;
    }
  });
  observer.observe({ entryTypes: ['gc'] });
  const piece = 64 * 1024;
  // No buffer is made: whatever is collected, we asked for.
  for (let count = 0; count < 640; count += 1) countStreamedBytes(piece);
  await eventually('five collections in 40 MiB', () => collections >= 5, 10_000);
  observer.disconnect();
});
