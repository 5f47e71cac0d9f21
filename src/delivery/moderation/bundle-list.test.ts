import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeBundleHeader } from '../../formats/ans104/bundle-header.ts';
import { listedPlaces } from './bundle-list.ts';

const root = 'R'.repeat(43);
const first = Buffer.alloc(32, 1);
const second = Buffer.alloc(32, 2);
const wanted = second.toString('base64url');

const placesIn = (bundle: Buffer) =>
  listedPlaces(
    { root, start: 1_000, size: bundle.length },
    async (length) => bundle.subarray(0, length),
    (id) => id === wanted,
  );

test('a wanted item is found by the list of its bundle, whatever is odd about the bundle', async () => {
  const header = encodeBundleHeader([
    { id: first, size: 1_000 },
    { id: second, size: 2_000 },
  ]);
  const start = 1_000 + header.length + 1_000;
  const whole = Buffer.concat([header, Buffer.alloc(3_000)]);
  const place = { id: wanted, root, start, end: start + 2_000 };
  assert.deepEqual(await placesIn(whole), [place]);
  assert.deepEqual(
    await placesIn(Buffer.concat([whole, Buffer.alloc(7)])),
    [place],
    'bytes after the last item',
  );
  assert.deepEqual(await placesIn(whole.subarray(0, -5)), [{ ...place, end: start + 1_995 }], 'cut off');
});

test('what is no bundle lists nothing', async () => {
  for (const bytes of [
    Buffer.alloc(0),
    Buffer.alloc(31),
    Buffer.alloc(500, 0xff),
    Buffer.from('a text '.repeat(20)),
  ])
    assert.deepEqual(await placesIn(bytes), []);
});
