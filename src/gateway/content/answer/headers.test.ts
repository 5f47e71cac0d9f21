import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describedBy } from '../opened.ts';
import { something } from '../testing.ts';
import { describingHeaders } from './headers.ts';

test('no tag says anything but itself', () => {
  const { located } = something(10);
  const tags = [
    { name: 'Count', value: '99' },
    { name: 'App\r\nX-Evil: 1', value: 'a\r\nX-Evil: 1' },
    { name: 'Twice', value: '1' },
    { name: 'twice', value: '2' },
    { name: 'ü', value: 'nameless' },
  ];
  const headers = describingHeaders(describedBy({ ...located, tags }), undefined);
  const ofTags = Object.entries(headers).filter(([name]) => name.startsWith('x-arweave-tag'));
  assert.deepEqual(Object.fromEntries(ofTags), {
    'x-arweave-tag-count': '5',
    'x-arweave-tag-app-x-evil-1': 'aX-Evil: 1',
    'x-arweave-tag-twice': ['1', '2'],
  });
});
