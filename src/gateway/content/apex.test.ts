import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readConfig } from '../../config/config.ts';
import { StartupError } from '../../kernel/errors.ts';
import { apexOf } from './apex.ts';

const id = 'A'.repeat(43);
const of = (settings: Record<string, string>) => apexOf(readConfig(settings));

test('the apex is an id or a name, or there is none', () => {
  assert.deepEqual(of({}), { apexId: undefined, apexName: undefined });
  assert.deepEqual(of({ APEX_TX_ID: id }), { apexId: id, apexName: undefined });
  assert.deepEqual(of({ APEX_ARNS_NAME: 'Docs_Site' }), { apexId: undefined, apexName: 'docs_site' });
});

test('an apex that cannot be meant stops the start', () => {
  for (const settings of [
    { APEX_TX_ID: id, APEX_ARNS_NAME: 'site' },
    { APEX_TX_ID: 'short' },
    { APEX_TX_ID: `${'A'.repeat(42)}B` },
    { APEX_ARNS_NAME: 'no name' },
    { APEX_ARNS_NAME: 'a.b' },
    { ARNS_NOT_FOUND_TX_ID: 'short' },
  ]) {
    assert.throws(() => of(settings), StartupError, JSON.stringify(settings));
  }
});
