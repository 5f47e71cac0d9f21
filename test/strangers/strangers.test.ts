import { it } from 'node:test';
import { nothingFound } from './nothing-found.ts';
import { run } from './run.ts';

/** A short run; `test/long` has longer ones, and `npm run strangers` makes long ones. */
it('no bystander loses anything, and nothing private is shown, whatever a stranger sends', async () => {
  nothingFound(await run({ seed: 20_270_101, requests: 400 }));
});
