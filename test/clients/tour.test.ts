import { test } from 'node:test';
import { tour } from './tour.ts';

test('the tour: card, share, folder, name, router, GraphQL, in under a minute', {
  timeout: 60_000,
}, async (t) => {
  await tour((line) => t.diagnostic(line));
});
