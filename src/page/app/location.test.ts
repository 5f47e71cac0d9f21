import assert from 'node:assert/strict';
import { test } from 'node:test';

test('the place of the page is read from its address as soon as the module is there', async (t) => {
  const window = {
    location: { href: 'http://localhost/explorer/a%20b/50%25%?name=x' },
    addEventListener() {},
  };
  const stubs = { window, history: { state: null, replaceState() {} }, document: { addEventListener() {} } };
  for (const [name, value] of Object.entries(stubs)) Reflect.set(globalThis, name, value);
  t.after(() => {
    for (const name of Object.keys(stubs)) Reflect.deleteProperty(globalThis, name);
  });
  const { place } = await import('./location.ts');
  assert.deepEqual(place.value.segments, ['explorer', 'a b', '50%25%']);
  assert.equal(place.value.query.get('name'), 'x');
});
