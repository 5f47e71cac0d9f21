import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalJson } from './canonical-json.ts';
import { FormatError } from './format-error.ts';

test('the example of RFC 8785 §3.2.2 gives its canonical form', () => {
  const text = String.raw`{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`;
  assert.equal(
    canonicalJson(JSON.parse(text)),
    String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
  );
});

test('members are sorted by UTF-16 code units, beyond the basic plane too (RFC 8785 §3.2.3)', () => {
  const value = { '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '\u{1f600}': 5, '\u0080': 6, '\u00f6': 7 };
  assert.equal(canonicalJson(value), '{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"😀":5,"\ufb33":3}');
});

test('undefined members are left out, and what JSON cannot carry is refused', () => {
  assert.equal(canonicalJson({ b: undefined, a: [] }), '{"a":[]}');
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY, '\ud800', { '\udc00': 1 }, 1n, () => 1]) {
    assert.throws(() => canonicalJson(value), FormatError);
  }
});
