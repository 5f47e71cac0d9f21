import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bundleTags, encodeBundleHeader } from '../../formats/ans104/bundle-header.ts';
import { parseItem } from '../../formats/ans104/item.ts';
import type { TagSource } from '../../formats/avro-tags.ts';
import { signItem, solanaSigner } from '../../wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../wallets/testing/keys.ts';
import { listedPlaces, type NestingLimits } from './bundle-list.ts';

const root = 'R'.repeat(43);
const first = Buffer.alloc(32, 1);
const second = Buffer.alloc(32, 2);
const wanted = second.toString('base64url');

const placesIn = (bundle: Buffer) =>
  listedPlaces(
    { root, start: 1_000, size: bundle.length },
    async ({ start, end }) => bundle.subarray(start, end),
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

/** A header as a stranger may write it: the same id as often as they like, of any size. */
function listing(id: Buffer, sizes: readonly number[]): Buffer {
  const header = Buffer.alloc(32 + 64 * sizes.length);
  header.writeUInt32LE(sizes.length, 0);
  for (const [index, size] of sizes.entries()) {
    header.writeUInt32LE(size, 32 + 64 * index);
    id.copy(header, 64 + 64 * index);
  }
  return header;
}

test('a wanted item without bytes has no place: followers refuse a list with one', async () => {
  const payload = Buffer.alloc(200);
  assert.deepEqual(await placesIn(Buffer.concat([listing(second, [0]), payload])), []);
  const beyond = listing(first, [200, 1_000]);
  second.copy(beyond, 64 + 64);
  assert.deepEqual(await placesIn(Buffer.concat([beyond, payload])), [], 'cut off before its first byte');
});

test('an item that is listed thousands of times has few places, which cover all of it', async () => {
  const times = 5_000;
  const bundle = Buffer.concat([
    listing(
      second,
      Array.from({ length: times }, () => 10),
    ),
    Buffer.alloc(10 * times),
  ]);
  const places = await placesIn(bundle);
  assert.equal(places.length, 16);
  assert.equal(places[0]?.start, 1_000 + 32 + 64 * times);
  for (const [index, { start }] of places.entries()) {
    if (index > 0) assert.equal(start, places[index - 1]?.end);
  }
  assert.equal(places.at(-1)?.end, 1_000 + bundle.length);
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

const signer = solanaSigner(ed25519TestKey('nested'));
async function item(data: Buffer, tags: readonly TagSource[] = []) {
  const bytes = await signItem({ data, tags }, signer);
  const parsed = parseItem(bytes);
  assert.ok(typeof parsed !== 'string');
  return { bytes, id: parsed.header.id, payloadStart: parsed.header.length };
}
type Item = Awaited<ReturnType<typeof item>>;
function bundleOf(items: readonly Item[]): Buffer {
  const header = encodeBundleHeader(
    items.map(({ id, bytes }) => ({ id: Buffer.from(id, 'base64url'), size: bytes.length })),
  );
  return Buffer.concat([header, ...items.map(({ bytes }) => bytes)]);
}
const nest = (items: readonly Item[], tags: readonly TagSource[] = bundleTags) => item(bundleOf(items), tags);
const wide: NestingLimits = { depth: 10, items: 10_000, reads: 512, bytes: 64 * 1024 * 1024 };

async function look(bundle: Buffer, id: string, limits: Partial<NestingLimits> = {}) {
  let reads = 0;
  const places = await listedPlaces(
    { root, start: 1_000, size: bundle.length },
    async ({ start, end }) => {
      reads += 1;
      assert.ok(start >= 0 && end <= bundle.length && start < end, `${start}-${end}`);
      return bundle.subarray(start, end);
    },
    (one) => one === id,
    { ...wide, ...limits },
  );
  return {
    places: places.map((place) => ({ ...place, start: place.start - 1_000, end: place.end - 1_000 })),
    reads,
  };
}

test('a wanted item is found in a bundle in a bundle, as deep as the limit', async () => {
  const plain = await item(Buffer.alloc(3_000, 'plain '));
  const grave = await item(Buffer.alloc(2_000, 'grave '));
  let inner = await nest([plain, grave]);
  // Other tags before, so that the header is longer than what is read first.
  inner = await nest([plain, inner], [{ name: 'Long', value: 'x'.repeat(3_000) }, ...bundleTags]);
  const bundle = bundleOf([plain, inner]);
  const start = bundle.indexOf(grave.bytes);
  const place = { id: grave.id, root, start, end: start + grave.bytes.length };
  assert.deepEqual((await look(bundle, grave.id)).places, [place]);
  assert.deepEqual((await look(bundle, grave.id, { depth: 3 })).places, [place]);
  const [closed] = (await look(bundle, grave.id, { depth: 2 })).places;
  assert.ok(closed && closed.id !== grave.id && closed.start < start && closed.end >= place.end);
  assert.deepEqual((await look(bundle, plain.id)).places.length, 3, 'each of several copies');
});

test('only what is tagged as a bundle is looked into', async () => {
  const grave = await item(Buffer.alloc(2_000, 'grave '));
  const bundle = bundleOf([await nest([grave], [{ name: 'Bundle-Format', value: 'binary' }])]);
  assert.deepEqual((await look(bundle, grave.id)).places, []);
  const badly = bundleOf([await item(Buffer.alloc(500, 0xff), bundleTags)]);
  assert.deepEqual((await look(badly, grave.id)).places, [], 'it is no bundle whatever its tags say');
});

test('a look is bounded: a nested bundle that it does not reach the list of is closed whole', async () => {
  const grave = await item(Buffer.alloc(2_000, 'grave '));
  const nested = await nest([grave]);
  const large = await Promise.all([1, 2, 3].map((byte) => item(Buffer.alloc(200_000, byte))));
  const bundle = bundleOf([...large, nested]);
  const start = bundle.indexOf(nested.bytes);
  const whole = [{ id: nested.id, root, start, end: start + nested.bytes.length }];
  const found = await look(bundle, grave.id);
  assert.deepEqual([found.places.length, found.places[0]?.id], [1, grave.id]);
  assert.ok(found.reads <= 2 + 3 + 2, String(found.reads));
  for (const limits of [{ items: 4 }, { reads: found.reads - 2 }]) {
    assert.deepEqual((await look(bundle, grave.id, limits)).places, whole, JSON.stringify(limits));
  }
  const few = await look(bundle, grave.id, { items: 2 });
  assert.deepEqual(few.places, [], 'items that are not reached stay open');
  const small = await Promise.all(Array.from({ length: 300 }, (_, n) => item(Buffer.alloc(300, `${n} `))));
  const many = await look(bundleOf([...small, nested]), grave.id);
  assert.equal(many.places[0]?.id, grave.id);
  assert.ok(many.reads < 8, `small items are read many at once: ${many.reads}`);
});
