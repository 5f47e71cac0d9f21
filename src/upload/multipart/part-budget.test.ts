/** How many bytes one client network may park in unfinished uploads, and what becomes of those that it replaces. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { request } from 'undici';
import { eventually } from '../../../test/support/eventually.ts';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { forEachEngine, type OpenForTest } from '../../storage/sql/testing.ts';
import { signItem, solanaSigner } from '../../wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../wallets/testing/keys.ts';
import { noteBlobs, useNoted } from '../items/blob-uses.ts';
import { startTestUpload, type TestUpload, testMigrations } from '../testing.ts';

const random = seededRandom(411);
const none = Buffer.alloc(0);
const quiet = { BUNDLE_POLL_MS: '3600000' };

/** Surfaces in processes of their own over one database and one folder. */
async function withUploads(
  open: OpenForTest,
  environment: Record<string, string>,
  work: (one: TestUpload, other: TestUpload) => Promise<void>,
): Promise<void> {
  const sql = await open(testMigrations);
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-budget-'));
  const start = () => startTestUpload({ ...quiet, ...environment }, {}, { sql, folder });
  const [one, other] = [await start(), await start()];
  try {
    await work(one, other);
  } finally {
    await one.close();
    await other.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

const create = async (upload: TestUpload) => String((await upload.get('/v1/chunks/solana/-1/-1')).body.id);
const put = (upload: TestUpload, id: string, offset: number, bytes: Buffer) =>
  upload.post(`/v1/chunks/solana/${id}/${offset}`, bytes);
const finalize = (upload: TestUpload, id: string) => upload.post(`/v1/chunks/solana/${id}/-1`, none);
const partsOf = async (upload: TestUpload, id: string) =>
  (await upload.get(`/v1/chunks/solana/${id}/-1`)).body.chunks;
/** What lies in the blob store, half-written files included. */
const files = (upload: TestUpload) =>
  readdirSync(join(upload.folder, 'blobs'), { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  ).length;
const digestOf = async (upload: TestUpload, session: string) =>
  (await upload.sql.get<{ digest: string }>('SELECT digest FROM upload_parts WHERE session = ?', session))
    ?.digest ?? '';

describe('parts of unfinished uploads', () => {
  forEachEngine((_engine, open) => {
    it('are counted over all uploads and processes, each part once, and refused beyond the budget', async () => {
      await withUploads(open, { MULTIPART_MAX_BYTES_PER_IP: '1000' }, async (one, other) => {
        const [first, second] = [await create(one), await create(other)];
        assert.equal((await put(one, first, 0, random.bytes(600))).status, 200);
        assert.equal((await put(other, second, 0, random.bytes(400))).status, 200);
        const counts = await one.counts();
        for (const [upload, id, offset, size] of [
          [one, first, 600, 1],
          [other, second, 400, 1],
          [one, first, 0, 601],
          [other, await create(other), 0, 1],
        ] as const) {
          const refused = await put(upload, id, offset, random.bytes(size));
          assert.equal(refused.status, 429);
          assert.equal(
            refused.body,
            'The open multi-part uploads from this network address may have 1000 bytes together: finish some first',
          );
          assert.equal(refused.headers['retry-after'], '60');
        }
        assert.deepEqual(await partsOf(one, first), [[0, 600]]);
        assert.deepEqual(await partsOf(one, second), [[0, 400]]);
        assert.deepEqual(await one.counts(), counts);
        // Again is instead: it needs no room beside itself.
        assert.equal((await put(one, first, 0, random.bytes(600))).status, 200);
        assert.equal((await put(other, first, 0, random.bytes(500))).status, 200);
        assert.equal((await put(other, second, 400, random.bytes(100))).status, 200);
        assert.equal((await put(one, second, 500, random.bytes(1))).status, 429);
        // What ends, however it does, holds nothing any more.
        assert.equal((await finalize(one, first)).status, 400);
        assert.equal((await put(other, second, 500, random.bytes(500))).status, 200);
      });
    });

    it('that come at the same time are never more together than the budget', async () => {
      await withUploads(open, { MULTIPART_MAX_BYTES_PER_IP: '1000' }, async (one, other) => {
        const ids = await Promise.all(Array.from({ length: 12 }, () => create(one)));
        const answers = await Promise.all(
          ids.map((id, index) => put(index % 2 === 0 ? one : other, id, 0, random.bytes(300))),
        );
        const taken = answers.filter(({ status }) => status === 200).length;
        const held = await one.sql.get<{ bytes: number }>(
          'SELECT CAST(SUM(part_bytes) AS BIGINT) AS bytes FROM upload_sessions',
        );
        assert.equal(held?.bytes, taken * 300);
        assert.ok(taken >= 1 && taken <= 3, `${taken} were taken`);
        assert.ok(answers.every(({ status }) => status === 200 || status === 429));
        assert.equal((await one.counts()).upload_blobs, taken, 'and nothing is left of the others');
        assert.equal(files(one), taken);
      });
    });

    it('that were paid for when they began do not count, and are no more than was paid for', async () => {
      await withUploads(open, { MULTIPART_MAX_BYTES_PER_IP: '1000' }, async (one) => {
        const [paid, unpaid] = [await create(one), await create(one)];
        await one.sql.run(`UPDATE upload_sessions SET payment = '{}', total_bytes = 5000 WHERE id = ?`, paid);
        assert.equal((await put(one, paid, 0, random.bytes(4_000))).status, 200);
        assert.equal((await put(one, unpaid, 0, random.bytes(1_000))).status, 200);
        const overlapping = await put(one, paid, 1, random.bytes(4_000));
        assert.equal(overlapping.status, 400);
        assert.equal(overlapping.body, 'Invalid chunk. Only 5000 bytes were paid for');
        assert.equal((await put(one, paid, 4_000, random.bytes(1_000))).status, 200);
      });
    });

    it('of data folders from before are counted by what they hold', async () => {
      const before = testMigrations.filter(({ id }) => !/^upload-00[6-9]/.test(id));
      const old = await open(before, 'kept');
      const session = '00000000-0000-4000-8000-000000000000';
      const now = 1_700_000_000_000;
      await old.run(
        `INSERT INTO upload_sessions (id, token, state, paid_by, client_address, claimed_until, created_at,
           changed_at, expires_at) VALUES (?, 'solana', 'open', '[]', '127.0.0.1', 0, ?, ?, ?)`,
        session,
        now,
        now,
        now + 86_400_000,
      );
      for (const start of [0, 300]) {
        await old.run(
          'INSERT INTO upload_parts (session, start, size, digest) VALUES (?, ?, 300, ?)',
          session,
          start,
          'a'.repeat(64),
        );
      }
      await old.run(
        'INSERT INTO upload_blobs (digest, uses, deleting, changed_at) VALUES (?, 2, 0, ?)',
        'a'.repeat(64),
        now,
      );
      const sql = await open(testMigrations, 'kept');
      const upload = await startTestUpload({ ...quiet, MULTIPART_MAX_BYTES_PER_IP: '1000' }, {}, { sql });
      try {
        assert.equal((await put(upload, session, 600, random.bytes(401))).status, 429);
        assert.equal((await put(upload, session, 300, random.bytes(701))).status, 429);
        assert.equal((await put(upload, session, 300, random.bytes(700))).status, 200);
        const row = await sql.get<{ uses: number }>(
          'SELECT uses FROM upload_blobs WHERE digest = ?',
          'a'.repeat(64),
        );
        assert.equal(row?.uses, 1, 'the first part still uses what both were');
      } finally {
        await upload.close();
      }
    });

    it('that are sent again leave nothing of what was there before', async () => {
      await withUploads(open, {}, async (one, other) => {
        const id = await create(one);
        assert.equal((await put(one, id, 0, random.bytes(20_000))).status, 200);
        for (let times = 0; times < 10; times += 1) {
          const before = await digestOf(one, id);
          const upload = times % 2 === 0 ? one : other;
          assert.equal((await put(upload, id, 0, random.bytes(20_000))).status, 200);
          assert.equal(await one.blobs.size(before), undefined);
          assert.equal((await one.counts()).upload_blobs, 1);
        }
        assert.equal(files(one), 1);
        const same = random.bytes(20_000);
        for (let times = 0; times < 2; times += 1) assert.equal((await put(one, id, 0, same)).status, 200);
        assert.equal(await one.blobs.size(await digestOf(one, id)), 20_000, 'the same again stays');
      });
    });

    it('that are replaced stay where another uses them or is about to', async () => {
      await withUploads(open, {}, async (one) => {
        const bytes = random.bytes(20_000);
        const [first, second, third] = [await create(one), await create(one), await create(one)];
        for (const id of [first, second, third]) await put(one, id, 0, bytes);
        const digest = await digestOf(one, first);
        const segment = { digest, start: 0, size: bytes.length };
        await put(one, first, 0, random.bytes(10));
        assert.equal(await one.blobs.size(digest), 20_000, 'others use it');
        await put(one, second, 0, random.bytes(10));
        // Another upload has written the same bytes, and has not said yet that it uses them.
        await noteBlobs(one.sql, [segment], one.clock);
        await put(one, third, 0, random.bytes(10));
        assert.equal(await one.blobs.size(digest), 20_000, 'another is about to use it');
        await one.sql.transaction((tx) => useNoted(tx, [segment], one.clock));
        assert.equal(await one.blobs.size(digest), 20_000);
      });
    });

    it('leave nothing when their upload ends, nor when it has ended before they are here', async () => {
      await withUploads(open, {}, async (one) => {
        const id = await create(one);
        await put(one, id, 0, random.bytes(20_000));
        const began = Promise.withResolvers<void>();
        const gate = Promise.withResolvers<void>();
        async function* late() {
          yield random.bytes(10_000);
          began.resolve();
          await gate.promise;
          yield random.bytes(10_000);
        }
        const putting = request(`${one.url}/v1/chunks/solana/${id}/20000`, {
          method: 'POST',
          headers: { 'content-length': '20000' },
          body: Readable.from(late()),
        });
        await began.promise;
        assert.equal((await finalize(one, id)).status, 400);
        gate.resolve();
        const { statusCode, body } = await putting;
        assert.equal(statusCode, 400);
        assert.match(await body.text(), /being finalized or is over/);
        const isNoted = async () => (await one.counts()).upload_blobs !== 0;
        await eventually('all bytes to be gone', async () => files(one) === 0 && !(await isNoted()));
      });
    });
  });
});

describe('an item that is refused when it is here', () => {
  it('leaves no bytes', async () => {
    const upload = await startTestUpload({
      ...quiet,
      FREE_UPLOAD_LIMIT: '100000',
      FREE_BYTES_PER_IP: '30000',
    });
    try {
      const item = await signItem({ data: random.bytes(50_000) }, solanaSigner(ed25519TestKey('refused')));
      for (let times = 0; times < 3; times += 1) {
        assert.equal((await upload.post('/v1/tx', item)).status, 429);
        assert.equal((await upload.counts()).upload_blobs, 0);
        assert.equal(files(upload), 0);
      }
    } finally {
      await upload.close();
    }
  });
});
