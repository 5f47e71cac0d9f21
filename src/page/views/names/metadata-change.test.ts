import assert from 'node:assert/strict';
import { test } from 'node:test';
import { metadataChange } from './metadata-change.ts';

const before = { displayName: 'Docs', logo: '', description: 'about', keywords: 'a, b' };

test('only what differs is asked for; emptied fields are cleared', () => {
  assert.equal(metadataChange(before, before), undefined);
  assert.equal(metadataChange(before, { ...before, displayName: ' Docs ' }), undefined);
  assert.deepEqual(metadataChange(before, { ...before, description: '', keywords: 'a, c' }), {
    recordDescription: null,
    recordKeywords: ['a', 'c'],
  });
  assert.deepEqual(metadataChange(before, { ...before, description: 'two\nlines', keywords: '' }), {
    recordDescription: 'two lines',
    recordKeywords: null,
  });
});
