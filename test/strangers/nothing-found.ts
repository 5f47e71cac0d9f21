import assert from 'node:assert/strict';
import type { Report } from './run.ts';

/** Fails with what a stranger got, and how. */
export function nothingFound({ hits, asked, routes, seed }: Report): void {
  const told = hits.map(({ request, scenario, what, requests }) =>
    [`after ${request} requests, by ${scenario} (seed ${seed}):`, ...what, ...requests].join('\n  '),
  );
  assert.equal(told.join('\n'), '');
  assert.ok(asked > routes / 4, `only ${asked} of ${routes} routes were asked`);
}
