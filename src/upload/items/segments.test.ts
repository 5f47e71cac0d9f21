import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { flipByte } from '../../../test/support/damage.ts';
import { BlobDamaged } from '../../storage/blobs/blobs.ts';
import { DiskBlobStore } from '../../storage/blobs/disk/store.ts';
import { readAll, rottingFiles, seededBytes } from '../../storage/blobs/testing.ts';
import { MissingBytes } from '../errors.ts';
import { loadItem, readItemBytes, type Segment } from './segments.ts';

const head = seededBytes(1_000, 1);
const payload = seededBytes(700_000, 2);
const item = Buffer.concat([head, payload]);

const ways = {
  read: (store: DiskBlobStore, segments: readonly Segment[]) => readAll(readItemBytes(store, head, segments)),
  loaded: (store: DiskBlobStore, segments: readonly Segment[]) => loadItem(store, head, segments),
};

for (const [way, get] of Object.entries(ways))
  for (const [how, parts] of Object.entries({
    'came whole': [payload],
    'came in parts, the first with its header': [item.subarray(0, 300_000), item.subarray(300_000)],
    'came in parts, its header in two of them': [
      item.subarray(0, 600),
      item.subarray(600, 500_000),
      item.subarray(500_000),
    ],
  }))
    test(`bytes that rot though no stamp tells are none, in an item that ${how}, ${way}`, async (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'turnpike-segments-'));
      const store = await DiskBlobStore.open({ folder, files: rottingFiles() });
      t.after(async () => {
        await store.close();
        rmSync(folder, { recursive: true, force: true });
      });
      const segments: Segment[] = [];
      let skip = parts.length === 1 ? 0 : head.length;
      for (const part of parts) {
        const { digest, size } = await store.put(part);
        const start = Math.min(skip, size);
        skip -= start;
        if (start < size) segments.push({ digest, start, size: size - start });
      }
      const read = () => get(store, segments);
      assert.ok((await read()).equals(item));
      for (const { digest, start, size } of segments) {
        const part = parts.find(({ length }) => length === start + size);
        assert.ok(part);
        flipByte(store.path(digest), start + size - 1);
        const reader = await store.open(digest);
        assert.notEqual(reader, undefined, 'no stamp tells');
        await reader?.close();
        await assert.rejects(read(), MissingBytes);
        await assert.rejects(store.open(digest), BlobDamaged);
        await store.put(part);
        assert.ok((await read()).equals(item), 'the same bytes uploaded again replace it');
      }
    });

test('a blob that was cut before this process looked at it is none', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-segments-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const before = await DiskBlobStore.open({ folder });
  const { digest, size } = await before.put(payload);
  await before.close();
  truncateSync(before.path(digest), size - 1);
  const store = await DiskBlobStore.open({ folder });
  t.after(() => store.close());
  for (const get of Object.values(ways))
    await assert.rejects(get(store, [{ digest, start: 0, size }]), MissingBytes);
});
