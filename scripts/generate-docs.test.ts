import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { configurationPage, configurationPath } from './generate-docs.ts';
import { routeRows, routesPage, routesPath } from './routes-page.ts';

test('docs/configuration.md is what `npm run docs` writes', () => {
  assert.equal(readFileSync(configurationPath, 'utf8'), configurationPage());
});

test('docs/routes.md is what `npm run docs` writes, and every route has a file and a test', async () => {
  const rows = await routeRows();
  assert.equal(readFileSync(routesPath, 'utf8'), routesPage(rows));
  assert.deepEqual(
    rows.filter(({ tests }) => tests.length === 0).map(({ method, path }) => `${method} ${path}`),
    [],
  );
});
