import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { deepHashBlob } from '../../formats/deep-hash.ts';
import { writeHashed } from '../intake/payload-sink.ts';
import { PayloadHashes } from './payload-hash.ts';

const random = seededRandom(81);
const hashes = new PayloadHashes(2);
after(() => hashes.close());

test('threads give the same deep hash, whatever the pieces', async () => {
  for (const size of [2 ** 21, 2 ** 21 + 1, 3_000_000, 5 * 2 ** 20]) {
    const data = random.bytes(size);
    const hash = hashes.begin(size);
    for (const piece of random.pieces(data, 700_000)) await hash.update(piece);
    assert.ok((await hash.digest()).equals(deepHashBlob(data)), `${size} bytes`);
    hash.release();
  }
});

test('more streams than threads are hashed side by side', async () => {
  await Promise.all(
    Array.from({ length: 6 }, async (_, index) => {
      const data = Buffer.alloc(4_000_000, index);
      const hash = hashes.begin(data.length);
      for (let at = 0; at < data.length; at += 65_536) await hash.update(data.subarray(at, at + 65_536));
      assert.ok((await hash.digest()).equals(deepHashBlob(data)));
      hash.release();
    }),
  );
});

test('a stream that is left leaves nothing for the next', async () => {
  const data = random.bytes(3_000_000);
  for (let round = 0; round < 20; round++) {
    const left = hashes.begin(data.length);
    await left.update(data.subarray(0, 100_000 * round));
    left.release();
    const hash = hashes.begin(data.length);
    await hash.update(data);
    assert.ok((await hash.digest()).equals(deepHashBlob(data)));
    hash.release();
  }
});

test('an upload whose store fails does not spoil the hash of the next', async () => {
  const alone = new PayloadHashes(1);
  const full = { write: () => Promise.reject(new Error('no room')) };
  const data = random.bytes(6_000_000);
  try {
    for (let round = 0; round < 5; round++) {
      const failed = alone.begin(data.length);
      await assert.rejects(writeHashed(full, failed, data), /no room/);
      failed.release();
      const hash = alone.begin(data.length);
      await hash.update(data);
      assert.ok((await hash.digest()).equals(deepHashBlob(data)));
      hash.release();
    }
  } finally {
    await alone.close();
  }
});
