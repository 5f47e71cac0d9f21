import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseHeaders } from './tracing.ts';

test('headers for the collector are pairs with percent-encoded values, and nothing else', () => {
  assert.deepEqual(parseHeaders(''), {});
  assert.deepEqual(parseHeaders('Authorization=Bearer%20abc, x-team=a=b,'), {
    authorization: 'Bearer abc',
    'x-team': 'a=b',
  });
  for (const bad of ['name', '=value', 'na me=x', 'x=%zz', 'x=%0d%0aInjected: 1', 'x=%C3%BC']) {
    assert.throws(() => parseHeaders(bad), /OTEL_EXPORTER_OTLP_HEADERS must be/, bad);
  }
});
