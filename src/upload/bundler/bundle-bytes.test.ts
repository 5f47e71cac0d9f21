import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { flipByte } from '../../../test/support/damage.ts';
import { winc } from '../../credits/credits.ts';
import { parseItemHeader } from '../../formats/ans104/item-header.ts';
import { DiskBlobStore } from '../../storage/blobs/disk/store.ts';
import { rottingFiles, seededBytes } from '../../storage/blobs/testing.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { signItem } from '../../wallets/data-items/signer.ts';
import { noteBlobs, useNoted } from '../items/blob-uses.ts';
import { insertItem } from '../items/item-rows.ts';
import { testMigrations } from '../testing.ts';
import { LostItem } from './bundle-bytes.ts';
import { planBundle } from './plan.ts';
import { dataTreeOfBundle } from './prepare.ts';
import { signer } from './testing.ts';

describe('the bytes of a bundle', () => {
  forEachEngine((_engine, open) => {
    it('are those that were uploaded, or the item is named whose bytes rotted', async (t) => {
      const sql = await open(testMigrations);
      const folder = mkdtempSync(join(tmpdir(), 'turnpike-bundle-bytes-'));
      const blobs = await DiskBlobStore.open({ folder, files: rottingFiles() });
      t.after(async () => {
        await blobs.close();
        rmSync(folder, { recursive: true, force: true });
      });
      const stored: { id: string; digest: string; payload: Buffer }[] = [];
      for (const seed of [1, 2, 3]) {
        const payload = seededBytes(300_000, seed);
        const item = await signItem({ data: payload }, signer);
        const header = parseItemHeader(item);
        assert.ok(typeof header !== 'string');
        const { digest, size } = await blobs.put(payload);
        const segments = [{ digest, start: 0, size }];
        await noteBlobs(sql, segments, seed);
        await sql.transaction(async (tx) => {
          await insertItem(tx, {
            ...{ id: header.id, owner: header.ownerAddress, signer: 'somebody', signatureType: 4 },
            ...{ size: item.length, payloadStart: header.length, contentType: 'text/plain' },
            ...{ winc: winc(0n), receivedAt: seed, deadlineHeight: 1, answer: {}, segments },
            ...{ isNoted: true, head: header.bytes, announceAt: undefined },
          });
          await useNoted(tx, segments, seed);
        });
        stored.push({ id: header.id, digest, payload });
      }
      const plan = await planBundle(sql, { maxItems: 10, targetBytes: 10_000_000, maxWaitMs: 0 }, 10);
      assert.ok(plan !== undefined);
      const tree = () => dataTreeOfBundle({ sql, blobs }, sql, plan);
      const { root } = await tree();
      for (const { id, digest, payload } of stored) {
        flipByte(blobs.path(digest), 299_999);
        await assert.rejects(tree(), (error) => error instanceof LostItem && error.id === id);
        await blobs.put(payload);
        assert.ok((await tree()).root.equals(root));
      }
    });
  });
});
