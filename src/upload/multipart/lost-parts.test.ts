/** Parts that are stored and then gone or damaged: whose upload it is hears the truth, and in time. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { flipByte } from '../../../test/support/damage.ts';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { DiskBlobStore } from '../../storage/blobs/disk/store.ts';
import { rottingFiles, sha256 } from '../../storage/blobs/testing.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { itemOwner } from '../../wallets/data-items/owner.ts';
import { signItem, solanaSigner } from '../../wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../wallets/testing/keys.ts';
import { giveUpAfter } from '../items/missing-blobs.ts';
import { pricePerByte, startTestUpload, type TestUpload, testMigrations } from '../testing.ts';

const random = seededRandom(649);
const signer = solanaSigner(ed25519TestKey('lost parts'));
const { address } = itemOwner(4, signer.owner).wallet;
const none = Buffer.alloc(0);
const own = 10n ** 12n;
/** Longer than a session waits for another try. */
const tryMs = 61_000;

const folder = mkdtempSync(join(tmpdir(), 'turnpike-lost-parts-'));
const blobs = await DiskBlobStore.open({ folder: join(folder, 'rotting'), files: rottingFiles() });
const running: TestUpload[] = [];
after(async () => {
  for (const upload of running) await upload.close();
  await blobs.close();
  rmSync(folder, { recursive: true, force: true });
});
let now = 1_700_000_000_000;

async function start(sql: Sql): Promise<TestUpload> {
  const upload = await startTestUpload(
    { BUNDLE_POLL_MS: '3600000' },
    { blobs, now: () => now },
    { sql, folder },
  );
  running.push(upload);
  return upload;
}

describe('an upload in parts whose bytes are not there, or others', () => {
  forEachEngine((_engine, open) => {
    /** Parts come to one process and are read by another, which has not hashed them. */
    const begin = async (funds = own) => {
      const sql = await open(testMigrations);
      const [taking, reading] = [await start(sql), await start(sql)];
      if (funds > 0n) await taking.give(address, 'solana', funds);
      const item = await signItem({ data: random.bytes(30_000) }, signer);
      const put = async (bytes: Buffer, cut = bytes.length) => {
        const { id } = (await taking.get('/v1/chunks/solana/-1/-1')).body;
        for (const [start, end] of [
          [0, cut],
          [cut, bytes.length],
        ] as const) {
          if (start === end) continue;
          const part = bytes.subarray(start, end);
          assert.equal((await taking.post(`/v1/chunks/solana/${id}/${start}`, part)).status, 200);
        }
        return String(id);
      };
      const finalize = async (id: string) => {
        now += tryMs;
        const { status, bytes } = await reading.post(`/v1/chunks/solana/${id}/-1`, none);
        return { status, text: bytes.toString() };
      };
      const miss = async (id: string) => {
        const { status, text } = await finalize(id);
        assert.equal(status, 503);
        assert.match(text, /Object Store is unreachable/);
        assert.equal(await stateOf(id), 'VALIDATING');
      };
      const stateOf = async (id: string) =>
        (await reading.get(`/v1/chunks/solana/${id}/status`)).body.status as string;
      /** The database's clock is not the test's. */
      const age = (id: string) =>
        sql.run(
          `UPDATE upload_sessions SET missed_since = missed_since - ? WHERE id = ?`,
          giveUpAfter.ms,
          id,
        );
      return { item, upload: reading, put, finalize, miss, stateOf, age };
    };
    it('is given up when they were not found again and again, is not charged, and may be sent again', async () => {
      const { item, upload, put, finalize, miss, stateOf, age } = await begin();
      const id = await put(item);
      await blobs.delete(sha256(item));
      for (let tried = 1; tried < giveUpAfter.tries; tried += 1) await miss(id);
      await age(id);
      const over = await finalize(id);
      assert.equal(over.status, 400);
      assert.match(over.text, /Invalid Data Item! Its bytes were lost here: upload it again/);
      assert.deepEqual(await finalize(id), over, 'again answers the same');
      assert.equal(await stateOf(id), 'INVALID');
      assert.equal(await upload.balance(address), own);
      assert.equal((await finalize(await put(item))).status, 200);
      assert.equal(await upload.balance(address), own - BigInt(item.length) * pricePerByte);
    });

    it('goes on when they are found again, and misses of before do not count with later ones', async () => {
      const { item, upload, put, finalize, miss, stateOf, age } = await begin(0n);
      const id = await put(item);
      for (const round of ['first', 'second']) {
        await blobs.delete(sha256(item));
        for (let tried = 1; tried < giveUpAfter.tries; tried += 1) await miss(id);
        await age(id);
        await blobs.put(item);
        assert.equal((await finalize(id)).status, 402, round);
        assert.equal(await stateOf(id), 'UNDERFUNDED');
      }
      await upload.give(address, 'solana', own);
      assert.equal((await finalize(id)).status, 200);
    });

    it('goes on where now one of its parts is not found, and now another', async () => {
      const { item, put, finalize, miss, age } = await begin();
      const id = await put(item, 10_000);
      const parts = [item.subarray(0, 10_000), item.subarray(10_000)];
      for (let tried = 1; tried < 2 * giveUpAfter.tries; tried += 1) {
        const part = parts[tried % 2] ?? none;
        await blobs.delete(sha256(part));
        await miss(id);
        await age(id);
        await blobs.put(part);
      }
      assert.equal((await finalize(id)).status, 200);
    });

    it('goes on where it was tried many times at once, by processes that do not wait for one another', async () => {
      const { item, put, finalize, miss, age } = await begin();
      const id = await put(item);
      await blobs.delete(sha256(item));
      for (let tried = 1; tried <= 2 * giveUpAfter.tries; tried += 1) await miss(id);
      await age(id);
      assert.equal((await finalize(id)).status, 400);
    });

    it('is not called invalid because they rotted', async () => {
      const { item, put, finalize, miss } = await begin();
      for (const at of [10, item.length - 10]) {
        const bytes = await signItem({ data: random.bytes(30_000) }, signer);
        const id = await put(bytes);
        flipByte(blobs.path(sha256(bytes)), at);
        await miss(id);
        await blobs.put(bytes);
        assert.equal((await finalize(id)).status, 200);
      }
      const wrong = Buffer.from(item);
      wrong[wrong.length - 1] = (wrong.at(-1) ?? 0) ^ 1;
      assert.equal((await finalize(await put(wrong))).status, 400, 'it came like that');
    });
  });
});
