import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { flipByte } from '../../../../test/support/damage.ts';
import { BlobDamaged, digestPath } from '../blobs.ts';
import { openBlobCache } from '../open.ts';
import { describeBlobStore, readAll, seededBytes, sha256 } from '../testing.ts';
import type { BlobCache } from './cache.ts';

const maxBytes = 100_000;

describe('the blob cache', () => {
  let folder: string;
  const opened: BlobCache[] = [];
  const damaged: string[] = [];
  const openCache = async (bytes = maxBytes): Promise<BlobCache> => {
    const cache = await openBlobCache({ folder, maxBytes: bytes });
    cache.onDamaged((digest) => damaged.push(digest));
    opened.push(cache);
    return cache;
  };
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'turnpike-cache-'));
    damaged.length = 0;
  });
  afterEach(async () => {
    for (const cache of opened.splice(0)) await cache.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const fileOf = (digest: string): string => join(folder, digestPath(digest));

  describe('with room for everything', () => {
    let cache: BlobCache;
    beforeEach(async () => {
      cache = await openCache(100_000_000);
    });
    describeBlobStore(() => cache, 2_000_000);
  });

  it('lets blobs go when its budget is spent', async () => {
    const cache = await openCache();
    const put: string[] = [];
    for (let seed = 0; seed < 30; seed += 1) put.push((await cache.put(seededBytes(10_000, seed))).digest);
    const { bytes, entries, evictions } = cache.statistics();
    assert.deepEqual({ bytes, entries, evictions }, { bytes: maxBytes, entries: 10, evictions: 20 });
    const there = await Promise.all(put.map((digest) => cache.size(digest)));
    assert.equal(there.filter((size) => size !== undefined).length, 10);
    assert.notEqual(there.at(-1), undefined, 'the newest is there');
  });

  it('goes on serving a blob that it let go to those who have it open', async () => {
    const cache = await openCache();
    const bytes = seededBytes(20_000, 1);
    const reader = await cache.open((await cache.put(bytes)).digest);
    for (let seed = 2; seed < 30; seed += 1) await cache.put(seededBytes(20_000, seed));
    assert.equal(await cache.open(sha256(bytes)), undefined);
    assert.ok((await readAll(reader!.stream())).equals(bytes));
    await reader!.close();
  });

  it('hashes a blob too large for it and keeps nothing', async () => {
    const cache = await openCache();
    const small = await cache.put(seededBytes(1_000, 1));
    const bytes = seededBytes(60_000, 2);
    assert.deepEqual(await cache.put(bytes), { digest: sha256(bytes), size: 60_000 });
    assert.equal(await cache.open(sha256(bytes)), undefined);
    assert.equal(await cache.size(small.digest), 1_000);
  });

  it('knows its blobs after a restart, and lets the oldest go first', async () => {
    const before = await openCache();
    const digests: string[] = [];
    for (let seed = 0; seed < 10; seed += 1) {
      const { digest } = await before.put(seededBytes(10_000, seed));
      utimesSync(fileOf(digest), seed, seed);
      digests.push(digest);
    }
    await before.close();
    const after = await openCache(50_000);
    await after.scanned;
    const sizes = await Promise.all(digests.map((digest) => after.size(digest)));
    assert.deepEqual(
      sizes.map((size) => size !== undefined),
      [...Array(5).fill(false), ...Array(5).fill(true)],
    );
    const reader = await after.open(digests[9]!);
    assert.ok((await readAll(reader!.stream())).equals(seededBytes(10_000, 9)));
    await reader!.close();
    assert.equal(after.statistics().bytes, 50_000);
  });

  it('never serves a file that was damaged while it was not running', async () => {
    const before = await openCache();
    const cut = (await before.put(seededBytes(10_000, 1))).digest;
    const changed = (await before.put(seededBytes(10_000, 2))).digest;
    const sound = (await before.put(seededBytes(10_000, 3))).digest;
    await before.close();
    truncateSync(fileOf(cut), 5_000);
    writeFileSync(fileOf(changed), seededBytes(10_000, 4));
    const after = await openCache();
    await after.scanned;
    const readers = await Promise.all([cut, changed, changed, sound].map((digest) => after.open(digest)));
    assert.deepEqual(
      readers.map((reader) => reader?.digest),
      [undefined, undefined, undefined, sound],
    );
    for (const reader of readers) await reader?.close();
    assert.deepEqual(damaged.sort(), [cut, changed].sort());
    assert.equal(await after.size(cut), undefined);
    assert.equal(after.statistics().entries, 1);
    await after.put(seededBytes(10_000, 1));
    assert.equal(await after.size(cut), 10_000, 'it can be put again');
  });

  describe('while it runs', () => {
    const large = seededBytes(1_000_000, 5);
    let cache: BlobCache;
    let digest: string;
    beforeEach(async () => {
      cache = await openCache(100_000_000);
      digest = (await cache.put(large)).digest;
    });
    /** Opened once, so that its descriptor is kept. */
    const openOnce = async (): Promise<void> => (await cache.open(digest))?.close();

    for (const [how, damage] of Object.entries({
      'a byte that flipped, its times put back': (path: string) => flipByte(path, 700_000),
      'another file of its size': (path: string) => {
        writeFileSync(`${path}.new`, seededBytes(1_000_000, 6));
        const { atimeMs, mtimeMs } = statSync(path);
        utimesSync(`${path}.new`, atimeMs / 1000, mtimeMs / 1000);
        renameSync(`${path}.new`, path);
      },
      'a file that was cut': (path: string) => truncateSync(path, 999_999),
    })) {
      it(`serves none of ${how}`, async () => {
        damage(fileOf(digest));
        assert.equal(await cache.open(digest), undefined);
        assert.deepEqual(damaged, [digest]);
        assert.equal(await cache.size(digest), undefined);
        await cache.put(large);
        const reader = await cache.open(digest);
        assert.ok((await readAll(reader!.stream())).equals(large));
        await reader?.close();
      });
    }

    it('sees damage to a file whose descriptor it kept', async () => {
      await openOnce();
      flipByte(fileOf(digest));
      assert.equal(await cache.open(digest), undefined);
      assert.deepEqual(damaged, [digest]);
    });

    it('serves a file again whose times alone have changed', async () => {
      utimesSync(fileOf(digest), 1, 1);
      const reader = await cache.open(digest);
      assert.ok((await readAll(reader!.stream())).equals(large));
      await reader?.close();
      assert.deepEqual(damaged, []);
    });

    it('does not end a file that is damaged while it is read, and removes it once', async () => {
      const [one, other] = [await cache.open(digest), await cache.open(digest)];
      const pieces = one!.stream();
      const iterator = pieces[Symbol.asyncIterator]();
      await iterator.next();
      flipByte(fileOf(digest), 900_000);
      await assert.rejects(readAll({ [Symbol.asyncIterator]: () => iterator }), BlobDamaged);
      await assert.rejects(other!.read(Buffer.alloc(10), 0), BlobDamaged);
      await assert.rejects(async () => other!.check(), BlobDamaged);
      assert.deepEqual(damaged, [digest]);
      await one?.close();
      await other?.close();
    });

    it('keeps what was put again while an old reader finds the damage', async () => {
      const reader = await cache.open(digest);
      flipByte(fileOf(digest));
      await cache.put(large);
      await assert.rejects(reader!.read(Buffer.alloc(10), 0), BlobDamaged);
      await reader?.close();
      assert.equal(await cache.size(digest), large.length);
      assert.deepEqual(damaged, []);
    });
  });

  it('replaces a damaged file when its blob is put again', async () => {
    const before = await openCache();
    const [known, unknown] = [seededBytes(10_000, 1), seededBytes(10_000, 2)];
    for (const bytes of [known, unknown]) {
      const { digest } = await before.put(bytes);
      writeFileSync(fileOf(digest), seededBytes(10_000, 3));
    }
    await before.close();
    const after = await openCache();
    await after.put(unknown);
    await after.scanned;
    await after.put(known);
    for (const bytes of [known, unknown]) {
      const reader = await after.open(sha256(bytes));
      assert.ok((await readAll(reader!.stream())).equals(bytes));
      await reader!.close();
    }
    assert.deepEqual(damaged, []);
  });

  it('finds a blob that another process put into the same folder', async () => {
    const [one, other] = [await openCache(), await openCache()];
    await other.scanned;
    const { digest } = await one.put(seededBytes(10_000, 1));
    const reader = await other.open(digest);
    assert.equal(reader?.size, 10_000);
    await reader?.close();
    assert.equal(other.statistics().entries, 1);
  });
});
