/** What every blob store must do, as tests: one suite for disk, cache and S3. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { Stats } from 'node:fs';
import { it } from 'node:test';
import { BlobDamaged, BlobMissing, type BlobStore, loadBlob } from './blobs.ts';
import { files } from './disk/files.ts';

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Bytes that look random and are the same for the same seed. */
export function seededBytes(length: number, seed: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  let state = (seed * 2_654_435_761 + 1) >>> 0;
  for (let index = 0; index < length; index += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[index] = state >>> 24;
  }
  return bytes;
}

/** A file system that never tells that a file was changed: the medium rots. */
export function rottingFiles(): typeof files {
  // By size too: the inode of a file that is gone may be that of another.
  const first = new Map<string, Stats>();
  return {
    ...files,
    fstatNow(fd) {
      const now = files.fstatNow(fd);
      const file = `${now.ino} ${now.size}`;
      const known = first.get(file) ?? now;
      first.set(file, known);
      return known;
    },
  };
}

export async function readAll(pieces: AsyncIterable<Buffer>): Promise<Buffer> {
  const collected: Buffer[] = [];
  for await (const piece of pieces) collected.push(piece);
  return Buffer.concat(collected);
}

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

/** `store` answers the store of the running test; `large` is above the size at which it changes its ways. */
export function describeBlobStore(store: () => BlobStore, large: number): void {
  it('gives back what was put, under its SHA-256', async () => {
    for (const [seed, length] of [0, 1, 1_000, 262_144, 262_145, 700_001, large].entries()) {
      const bytes = seededBytes(length, seed);
      const expected = { digest: sha256(bytes), size: length };
      assert.deepEqual(await store().put(bytes), expected);
      assert.deepEqual(await store().put(inPieces(bytes, 100_003)), expected, 'the same once more');
      assert.equal(await store().size(expected.digest), length);
      const reader = await store().open(expected.digest);
      assert.ok(reader !== undefined);
      assert.equal(reader.digest, expected.digest);
      assert.equal(reader.size, length);
      assert.ok((await readAll(reader.stream())).equals(bytes));
      await reader.close();
    }
  });

  it('reads ranges', async () => {
    const bytes = seededBytes(600_000, 11);
    const { digest } = await store().put(bytes);
    const reader = await store().open(digest);
    assert.ok(reader !== undefined);
    const ranges: [number, number][] = [
      [0, 1],
      [1, 600_000],
      [262_143, 262_145],
      [599_999, 600_000],
      [5, 5],
      [600_000, 600_000],
    ];
    for (const [start, end] of ranges) {
      assert.ok(
        (await readAll(reader.stream(start, end))).equals(bytes.subarray(start, end)),
        `${start}-${end}`,
      );
    }
    for (const [start, end] of [
      [-1, 5],
      [6, 5],
      [0, 600_001],
      [0.5, 5],
      [Number.NaN, 5],
    ] as const) {
      await assert.rejects(readAll(reader.stream(start, end)), RangeError, `${start}-${end}`);
    }
    const target = Buffer.alloc(100);
    assert.equal(await reader.read(target, 599_950), 50);
    assert.ok(target.subarray(0, 50).equals(bytes.subarray(599_950)));
    assert.equal(await reader.read(target, 600_000), 0);
    assert.equal(await reader.read(target, 12), 100);
    assert.ok(target.equals(bytes.subarray(12, 112)));
    await reader.close();
    await reader.close();
  });

  it('loads a blob of known size whole, or says that it is not there or of another size', async () => {
    const bytes = seededBytes(50_000, 12);
    const { digest, size } = await store().put(bytes);
    const load = async (name: string, of: number) => {
      const target = Buffer.alloc(of);
      await loadBlob(store(), name, target);
      return target;
    };
    assert.ok((await load(digest, size)).equals(bytes));
    for (const other of [size - 1, size + 1, 1]) await assert.rejects(load(digest, other), BlobDamaged);
    await assert.rejects(load(sha256(seededBytes(9, 13)), 9), BlobMissing);
    await assert.rejects(load('../x', 9), TypeError);
  });

  it('shows a blob only after its commit', async () => {
    const bytes = seededBytes(large, 21);
    const writer = await store().writer();
    await writer.write(bytes);
    assert.equal(await store().size(sha256(bytes)), undefined);
    assert.equal(await store().open(sha256(bytes)), undefined);
    await writer.commit();
    assert.equal(await store().size(sha256(bytes)), large);
    await writer.abort();
    assert.equal(await store().size(sha256(bytes)), large, 'an abort after the commit does nothing');
    await assert.rejects(writer.write(bytes));
  });

  it('forgets what is aborted', async () => {
    const bytes = seededBytes(large, 22);
    const writer = await store().writer();
    await writer.write(bytes);
    await writer.abort();
    await writer.abort();
    await assert.rejects(writer.commit());
    assert.equal(await store().size(sha256(bytes)), undefined);
  });

  it('forgets what a failing source began', async () => {
    const bytes = seededBytes(large, 23);
    async function* failing(): AsyncGenerator<Buffer> {
      yield bytes;
      throw new Error('the client went away');
    }
    await assert.rejects(store().put(failing()), /the client went away/);
    assert.equal(await store().size(sha256(bytes)), undefined);
  });

  it('keeps the order of writes that are not awaited one by one', async () => {
    const bytes = seededBytes(900_000, 24);
    const writer = await store().writer();
    const writes: Promise<void>[] = [];
    for (let start = 0; start < bytes.length; start += 150_000) {
      writes.push(writer.write(bytes.subarray(start, start + 150_000)));
    }
    assert.equal((await writer.commit()).digest, sha256(bytes));
    await Promise.all(writes);
  });

  it('takes the same bytes from many writers at once', async () => {
    const bytes = seededBytes(300_000, 25);
    const put = await Promise.all(Array.from({ length: 8 }, () => store().put(bytes)));
    assert.deepEqual(new Set(put.map(({ digest }) => digest)), new Set([sha256(bytes)]));
    assert.equal(await store().size(sha256(bytes)), bytes.length);
  });

  it('deletes, and says whether there was something to delete', async () => {
    const { digest } = await store().put(seededBytes(1_000, 26));
    assert.equal(await store().delete(digest), true);
    assert.equal(await store().delete(digest), false);
    assert.equal(await store().open(digest), undefined);
    assert.equal(await store().size(digest), undefined);
    assert.equal((await store().put(seededBytes(1_000, 26))).digest, digest);
    assert.equal(await store().size(digest), 1_000);
  });

  it('refuses names that are not digests', async () => {
    for (const name of ['', '../../etc/passwd', 'a'.repeat(63), 'A'.repeat(64), `${'a'.repeat(63)}/`]) {
      await assert.rejects(store().open(name), TypeError);
      await assert.rejects(store().size(name), TypeError);
      await assert.rejects(store().delete(name), TypeError);
    }
  });
}
