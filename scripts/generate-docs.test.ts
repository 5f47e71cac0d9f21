import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { configurationPage, configurationPath } from './generate-docs.ts';

test('docs/configuration.md is what `npm run docs` writes', () => {
  assert.equal(readFileSync(configurationPath, 'utf8'), configurationPage());
});
