import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Report, run } from './run.ts';

/** A short run of each kind; `npm run strangers` makes long ones. */
const short = { requests: 1_500 };

describe('whatever a stranger sends', { concurrency: false }, () => {
  it('no bystander loses anything, and nothing private is shown', async () => {
    nothingFound(await run({ seed: 20_270_101, ...short }));
  });

  it('what was made for one service is worth nothing at another that demands bound signatures', async () => {
    nothingFound(await run({ seed: 20_270_102, requests: 1_000, bound: true }));
  });
});

function nothingFound({ hits, asked, routes, seed }: Report): void {
  const told = hits.map(({ request, scenario, what, requests }) =>
    [`after ${request} requests, by ${scenario} (seed ${seed}):`, ...what, ...requests].join('\n  '),
  );
  assert.equal(told.join('\n'), '');
  assert.ok(asked > routes / 4, `only ${asked} of ${routes} routes were asked`);
}
