import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import {
  BLOCK_ITEMS,
  comparePlaces,
  mergePlaces,
  type Place,
  packPlaces,
  placesIn,
  unpackPlaces,
} from './place-block.ts';
import { digest } from './testing.ts';

const place = (name: string, parent = 1, more: Partial<Place> = {}): Place => ({
  id: digest(name),
  parent,
  itemOffset: 0,
  headerSize: 0,
  dataSize: 0,
  type: 0,
  ...more,
});

const sorted = (places: readonly Place[]): Place[] => places.toSorted(comparePlaces);

test('a block gives back what was put in, and finds each by its id', () => {
  const draw = seededRandom(7).fraction;
  const number = () => Math.floor(draw() ** 8 * Number.MAX_SAFE_INTEGER);
  const places = sorted(
    Array.from({ length: 300 }, (_, at) =>
      place(`item ${at % 290}`, at, {
        itemOffset: number(),
        headerSize: number(),
        dataSize: at === 0 ? Number.MAX_SAFE_INTEGER : number(),
        type: number(),
      }),
    ),
  );
  const packed = packPlaces(places);
  assert.deepEqual(unpackPlaces(packed), places);
  for (const { id } of places)
    assert.deepEqual(
      placesIn(packed, id),
      places.filter((one) => one.id.equals(id)),
    );
  assert.deepEqual(placesIn(packed, digest('another')), []);
  assert.deepEqual(placesIn(packed, Buffer.alloc(32)), []);
  assert.deepEqual(placesIn(packed, Buffer.alloc(32, 255)), []);
  assert.throws(() => unpackPlaces(packed.subarray(0, -1)), RangeError);
});

test('merging keeps all, replaces what is there, and never parts the places of one id', () => {
  const stored = sorted(Array.from({ length: BLOCK_ITEMS }, (_, at) => place(`item ${at}`)));
  const fresh = sorted([
    ...Array.from({ length: 20 }, (_, at) => place(`item ${at}`, 1, { dataSize: 9 })),
    ...Array.from({ length: 3_000 }, (_, at) => place('everywhere', at + 2)),
    ...Array.from({ length: 3_000 }, (_, at) => place(`new ${at}`)),
  ]);
  const { blocks, known } = mergePlaces(stored, fresh);
  const all = blocks.flat();
  assert.equal(known.length, 20);
  assert.equal(all.length, BLOCK_ITEMS + 6_000);
  assert.deepEqual(all, sorted(all));
  assert.equal(all.filter(({ dataSize }) => dataSize === 9).length, 20);
  const holding = blocks.filter((block) => block.some(({ id }) => id.equals(digest('everywhere'))));
  assert.equal(holding.length, 1);
  for (const block of blocks) if (block !== holding[0]) assert.ok(block.length <= BLOCK_ITEMS);
});
