import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Eviction } from './eviction.ts';

describe('eviction', () => {
  it('never keeps more bytes or entries than it may', () => {
    const eviction = new Eviction(10_000, 50);
    const there = new Map<string, number>();
    let state = 7;
    for (let step = 0; step < 20_000; step += 1) {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      const digest = `blob-${(state >>> 8) % 300}`;
      const size = (state % 97) * 10;
      if (step % 13 === 0) {
        assert.equal(eviction.remove(digest), there.delete(digest));
      } else if (eviction.use(digest) === undefined) {
        assert.ok(!there.has(digest));
        for (const gone of eviction.add(digest, size)) assert.ok(there.delete(gone), gone);
        there.set(digest, size);
      }
      assert.equal(eviction.count, there.size);
      assert.ok(eviction.count <= 50);
      assert.ok(eviction.bytes <= 10_000);
    }
    assert.equal(
      eviction.bytes,
      [...there.values()].reduce((sum, size) => sum + size, 0),
    );
  });

  it('keeps what is asked for while a crawler reads everything once', () => {
    const eviction = new Eviction(1_000, 1_000);
    const hot = Array.from({ length: 50 }, (_, index) => `hot-${index}`);
    for (const digest of hot) eviction.add(digest, 10);
    for (let round = 0; round < 3; round += 1) for (const digest of hot) eviction.use(digest);
    for (let index = 0; index < 10_000; index += 1) {
      eviction.add(`crawled-${index}`, 10);
      if (index % 100 === 0) for (const digest of hot) eviction.use(digest);
    }
    assert.deepEqual(
      hot.filter((digest) => !eviction.use(digest)),
      [],
    );
  });

  it('takes a blob that came back into the main queue', () => {
    const eviction = new Eviction(100, 100);
    for (let index = 0; index < 20; index += 1) eviction.add(`first-${index}`, 10);
    assert.equal(eviction.use('first-0'), false);
    eviction.add('first-0', 10);
    for (let index = 0; index < 50; index += 1) eviction.add(`later-${index}`, 10);
    assert.equal(eviction.use('first-0'), true);
  });
});
