import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ifRange, noneMatch, strongETag } from './conditional.ts';

const etag = strongETag('abc');

test('If-None-Match compares weakly, in lists, and knows the star', () => {
  for (const header of ['"abc"', 'W/"abc"', '"x", "abc"', '"x",W/"abc"', '*'])
    assert.ok(noneMatch(header, etag), header);
  for (const header of [undefined, '', 'abc', '"ab"', '"abcd"', `"${'x'.repeat(9000)}","abc"`]) {
    assert.ok(!noneMatch(header, etag), header);
  }
});

test('If-Range compares strongly', () => {
  const date = new Date('2026-01-02T03:04:05.678Z');
  assert.ok(ifRange(undefined, etag));
  assert.ok(ifRange('"abc"', etag));
  assert.ok(!ifRange('W/"abc"', etag));
  assert.ok(!ifRange('"other"', etag));
  assert.ok(ifRange('Fri, 02 Jan 2026 03:04:05 GMT', etag, date));
  assert.ok(!ifRange('Fri, 02 Jan 2026 03:04:06 GMT', etag, date));
  assert.ok(!ifRange('nonsense', etag, date));
});
