import { test as base } from '@playwright/test';
import { startTurnpike, type Turnpike } from '@turnpike-network/turnpike/testing';

/** A network for each worker of Playwright; tests ask for it as `turnpike`. */
export const test = base.extend<object, { turnpike: Turnpike }>({
  turnpike: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads from the pattern what a fixture needs.
    async ({}, use) => {
      const turnpike = await startTurnpike();
      await use(turnpike);
      await turnpike.stop();
    },
    { scope: 'worker' },
  ],
});

export { expect } from '@playwright/test';
