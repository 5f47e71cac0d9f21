/** A stranger tries everything; `npm run strangers` goes on for as long as it is told to. */
import { describe, it } from 'node:test';
import { nothingFound } from '../strangers/nothing-found.ts';
import { run } from '../strangers/run.ts';

const long = { requests: 2_000 };

describe('whatever a stranger sends, for longer', { concurrency: false }, () => {
  it('no bystander loses anything, and nothing private is shown', async () => {
    nothingFound(await run({ seed: 20_270_103, ...long }));
  });

  it('what was made for one service is worth nothing at another that demands bound signatures', async () => {
    nothingFound(await run({ seed: 20_270_104, bound: true, ...long }));
  });
});
