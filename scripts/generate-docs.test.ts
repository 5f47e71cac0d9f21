import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { dashboards } from './dashboards.ts';
import { configurationPage, configurationPath } from './generate-docs.ts';

test('docs/configuration.md is what `npm run docs` writes', () => {
  assert.equal(readFileSync(configurationPath, 'utf8'), configurationPage());
});

test('the dashboards in deploy/grafana are what `npm run docs` writes', () => {
  for (const [path, text] of dashboards()) assert.equal(readFileSync(path, 'utf8'), text, path);
});
