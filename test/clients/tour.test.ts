import { test } from 'node:test';
import { tour } from './tour.ts';

test('the tour: card, share, folder, name, router, GraphQL', { timeout: 600_000 }, async (t) => {
  await tour((line) => t.diagnostic(line));
});
