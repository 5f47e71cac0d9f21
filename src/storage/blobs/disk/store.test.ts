import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { availableParallelism, hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { mountSmallDisk } from '../../../../test/support/small-disk.ts';
import { BlobStoreUnavailable } from '../blobs.ts';
import { describeBlobStore, readAll, seededBytes, sha256 } from '../testing.ts';
import { files } from './files.ts';
import { DiskBlobStore } from './store.ts';

describe('the disk store', () => {
  let folder: string;
  let store: DiskBlobStore;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'turnpike-blobs-'));
    store = await DiskBlobStore.open({ folder });
  });
  afterEach(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const temporaries = (): string[] => readdirSync(join(folder, 'tmp'));

  describeBlobStore(() => store, 2_000_000);

  it('leaves no temporary file behind, however a writer ends', async () => {
    const bytes = seededBytes(1_000_000, 1);
    await store.put(bytes);
    await store.put(bytes);
    const writer = await store.writer();
    await writer.write(bytes);
    assert.equal(temporaries().length, 1);
    await writer.abort();
    assert.deepEqual(temporaries(), []);
  });

  it('goes on reading a blob that is deleted meanwhile', async () => {
    const bytes = seededBytes(1_000_000, 2);
    const { digest } = await store.put(bytes);
    const reader = await store.open(digest);
    assert.ok(reader !== undefined);
    await store.delete(digest);
    assert.ok((await readAll(reader.stream())).equals(bytes));
    await reader.close();
    assert.equal(await store.open(digest), undefined);
  });

  it('finishes the read under way when its reader is closed, and refuses the next', async () => {
    const bytes = seededBytes(500_000, 3);
    const reader = await store.open((await store.put(bytes)).digest);
    assert.ok(reader !== undefined);
    const target = Buffer.alloc(bytes.length);
    const reading = reader.read(target, 0);
    await reader.close();
    assert.equal(await reading, bytes.length);
    assert.ok(target.equals(bytes));
    await assert.rejects(reader.read(target, 0), /closed/);
  });

  it('removes what dead or silent writers left, and nothing of a live one', async () => {
    const dead = spawnSync(process.execPath, ['-e', '']).pid;
    const host = hostname().replace(/[^A-Za-z0-9-]/g, '-');
    const names = {
      dead: `${host}.${dead}.a`,
      live: `${host}.${process.pid}.b`,
      old: 'elsewhere.1.c',
      new: 'elsewhere.1.d',
    };
    for (const name of Object.values(names)) writeFileSync(join(folder, 'tmp', name), 'x');
    const yesterday = new Date(Date.now() - 24 * 60 * 60 * 1_000);
    utimesSync(join(folder, 'tmp', names.old), yesterday, yesterday);
    await (await DiskBlobStore.open({ folder })).close();
    assert.deepEqual(temporaries().sort(), [names.live, names.new].sort());
  });

  it('refuses a blob for which the disk has no room, shows nothing of it, and works on', async () => {
    let full = true;
    const noRoom = async (): Promise<number> => {
      const error: NodeJS.ErrnoException = new Error('ENOSPC: no space left on device, write');
      throw Object.assign(error, { code: 'ENOSPC', syscall: 'write' });
    };
    const failing = await DiskBlobStore.open({
      folder,
      files: { ...files, write: (...call) => (full ? noRoom() : files.write(...call)) },
    });
    const bytes = seededBytes(1_000_000, 4);
    await assert.rejects(failing.put(bytes), BlobStoreUnavailable);
    assert.equal(await failing.size(sha256(bytes)), undefined);
    assert.deepEqual(temporaries(), []);
    full = false;
    await failing.put(bytes);
    assert.equal(await failing.size(sha256(bytes)), bytes.length);
    await failing.close();
  });

  it('names a large blob by its digest, more at once than threads hash', async () => {
    const pieces = Array.from({ length: 40 }, (_, index) => seededBytes(65_536 + index, index));
    const blobs = Array.from({ length: availableParallelism() + 2 }, (_, index) => pieces.slice(index));
    await Promise.all(
      blobs.map(async (blob) => {
        const bytes = Buffer.concat(blob);
        const writer = await store.writer(2 ** 22);
        for (const piece of blob) await writer.write(piece);
        const { digest, size } = await writer.commit();
        assert.deepEqual([digest, size], [sha256(bytes), bytes.length]);
        const reader = await store.open(digest);
        assert.ok(reader !== undefined && (await readAll(reader.stream())).equals(bytes));
        await reader.close();
      }),
    );
    assert.deepEqual(temporaries(), []);
  });

  it('gives up a blob of which one block in the middle could not be written', async () => {
    let blocks = 0;
    const failing = await DiskBlobStore.open({
      folder,
      files: {
        ...files,
        write: async (...call) => {
          blocks += 1;
          if (blocks !== 2) return files.write(...call);
          throw Object.assign(new Error('EIO: i/o error, write'), { code: 'EIO', syscall: 'write' });
        },
      },
    });
    // It is told by a later call, at the last by the commit.
    for (const count of [9, 12]) {
      blocks = 0;
      const piece = seededBytes(65_536, count);
      const writer = await failing.writer();
      const writing = async () => {
        for (let written = 0; written < count; written += 1) await writer.write(piece);
        await writer.commit();
      };
      await assert.rejects(writing(), BlobStoreUnavailable);
      assert.equal(blocks, 2, 'nothing is written after the failure');
      assert.deepEqual(temporaries(), []);
    }
    await failing.close();
  });

  it('shows nothing of a blob whose sync failed', async () => {
    const failing = await DiskBlobStore.open({
      folder,
      files: {
        ...files,
        fdatasync: Object.assign(
          async () => {
            throw Object.assign(new Error('EIO: i/o error, fdatasync'), {
              code: 'EIO',
              syscall: 'fdatasync',
            });
          },
          { __promisify__: files.fdatasync },
        ),
      },
    });
    const bytes = seededBytes(1_000, 5);
    await assert.rejects(failing.put(bytes), BlobStoreUnavailable);
    assert.equal(await failing.size(sha256(bytes)), undefined);
    assert.deepEqual(temporaries(), []);
    await failing.close();
  });

  it('shows nothing of a blob of which a sync on the way failed, though the last one did not', async () => {
    let syncs = 0;
    const failing = await DiskBlobStore.open({
      folder,
      files: {
        ...files,
        fdatasync: Object.assign(
          async (descriptor: number) => {
            syncs += 1;
            if (syncs > 1) return files.fdatasync(descriptor);
            throw Object.assign(new Error('EIO: i/o error, fdatasync'), {
              code: 'EIO',
              syscall: 'fdatasync',
            });
          },
          { __promisify__: files.fdatasync },
        ),
      },
    });
    const block = seededBytes(2 ** 20, 6);
    const many = async function* (count: number) {
      for (let sent = 0; sent < count; sent += 1) yield block;
    };
    await assert.rejects(failing.put(many(40)), BlobStoreUnavailable);
    assert.equal(syncs, 1);
    assert.deepEqual(temporaries(), []);
    const { size } = await failing.put(many(70));
    assert.equal(size, 70 * block.length);
    assert.equal(syncs, 4, 'two on the way, and the last');
    await failing.close();
  });

  it('survives a disk that is really full', async (t) => {
    const small = mountSmallDisk();
    if (small === undefined) return t.skip('needs root to mount a small disk');
    const tight = await DiskBlobStore.open({ folder: small.folder });
    try {
      const kept = await tight.put(seededBytes(500_000, 6));
      const large = seededBytes(4_000_000, 7);
      await assert.rejects(tight.put(large), BlobStoreUnavailable);
      assert.equal(await tight.size(sha256(large)), undefined);
      assert.deepEqual(readdirSync(join(small.folder, 'tmp')), []);
      assert.equal(await tight.size(kept.digest), 500_000);
      const after = await tight.put(seededBytes(600_000, 8));
      const reader = await tight.open(after.digest);
      assert.ok((await readAll(reader!.stream())).equals(seededBytes(600_000, 8)));
      await reader!.close();
    } finally {
      await tight.close();
      small.remove();
    }
  });

  it('names a blob by its digest in two levels of folders', async () => {
    const { digest } = await store.put(Buffer.from('abc'));
    assert.ok(existsSync(join(folder, 'ba', '78', digest)));
    assert.equal(digest, 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
});
