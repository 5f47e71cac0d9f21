import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { createLogger } from '../../../kernel/log.ts';
import { type BlobStore, BlobStoreUnavailable } from '../../../storage/blobs/blobs.ts';
import { DiskBlobStore } from '../../../storage/blobs/disk/store.ts';
import { forEachEngine } from '../../../storage/sql/testing.ts';
import { SqlGatewayIndex } from '../../chain-index/sql-index.ts';
import { sharedContent } from '../sources/copies.ts';
import { ownJourney } from '../sources/source.ts';
import { something } from '../testing.ts';
import { sharedMigrations } from './migrations.ts';
import { SharedCopies } from './shared-copies.ts';

const log = createLogger({ name: 'test', level: 'silent', format: 'json' });
const folder = mkdtempSync(join(tmpdir(), 'turnpike-shared-copies-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const digestOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

let folders = 0;
const newStore = () => DiskBlobStore.open({ folder: join(folder, String(folders++)), durable: false });

describe('copies that gateways share', () => {
  forEachEngine((_engine, open) => {
    async function make(options: { maxBytes?: number; wrap?: (store: BlobStore) => BlobStore } = {}) {
      const sql = await open(sharedMigrations);
      const own = await newStore();
      const store = await newStore();
      const clock = { now: 1_000_000 };
      let failures = 0;
      const copies = new SharedCopies({
        sql,
        store: options.wrap?.(store) ?? store,
        maxBytes: options.maxBytes ?? 1_000_000,
        log,
        failed: () => {
          failures += 1;
        },
        now: () => clock.now,
      });
      return {
        sql,
        own,
        store,
        copies,
        clock,
        failures: () => failures,
        /** Keeps the bytes and waits until they are shared. */
        async keep(bytes: Buffer) {
          const { digest, size } = await own.put(bytes);
          copies.keep({ digest, size, open: () => own.open(digest) });
          while (copies.busy) await new Promise((resolve) => setImmediate(resolve));
          return digest;
        },
      };
    }

    async function read(copies: SharedCopies, digest: string): Promise<Buffer | undefined> {
      const reader = await copies.open(digest);
      if (reader === undefined) return undefined;
      const pieces: Buffer[] = [];
      for await (const piece of reader.stream()) pieces.push(piece);
      await reader.close();
      return Buffer.concat(pieces);
    }

    it('are there for the other gateway, once each', async () => {
      const { copies, keep, sql, store } = await make();
      const bytes = Buffer.from('what one has fetched');
      const digest = await keep(bytes);
      await keep(bytes);
      const other = new SharedCopies({ sql, store, maxBytes: 1_000, log, failed: () => {} });
      assert.deepEqual(await read(other, digest), bytes);
      assert.equal(await read(other, digestOf(Buffer.from('never'))), undefined);
      assert.equal((await sql.all('SELECT digest FROM shared_copies')).length, 1);
      await other.drop(digest);
      assert.equal(await read(copies, digest), undefined);
      assert.equal(await store.size(digest), undefined);
    });

    it('are closed once they are read as content', async () => {
      let openReaders = 0;
      const { copies, keep, sql } = await make({
        wrap: (store) => ({
          ...bound(store),
          async open(digest) {
            const reader = await store.open(digest);
            if (reader === undefined) return undefined;
            openReaders += 1;
            let isOpen = true;
            return {
              digest,
              size: reader.size,
              fd: reader.fd,
              stream: (start, end) => reader.stream(start, end),
              read: (target, position) => reader.read(target, position),
              check: () => reader.check(),
              close: async () => {
                if (isOpen) openReaders -= 1;
                isOpen = false;
                await reader.close();
              },
            };
          },
        }),
      });
      const { bytes, id, located } = something(100_000);
      await keep(bytes);
      const [source] = sharedContent(new SqlGatewayIndex(sql), copies);
      const opened = await source?.open(id, located, undefined, ownJourney, new AbortController().signal);
      assert.ok(opened !== undefined);
      assert.equal(openReaders, 1);
      const pieces: Buffer[] = [];
      for await (const piece of opened.stream) pieces.push(piece);
      assert.deepEqual([Buffer.concat(pieces).equals(bytes), openReaders], [true, 0]);
    });

    it('stay within their bytes: what nobody asked for goes first', async () => {
      const { copies, keep, clock, sql } = await make({ maxBytes: 100_000 });
      const digests: string[] = [];
      for (let at = 0; at < 12; at += 1) {
        digests.push(await keep(Buffer.alloc(10_000, at + 1)));
        clock.now += 1_000;
      }
      clock.now += 3_600_000;
      await (await copies.open(digests[0] ?? ''))?.close();
      await copies.trim();
      const left = await Promise.all(
        digests.map(async (digest) => (await read(copies, digest)) !== undefined),
      );
      assert.deepEqual(left, [true, false, false, false, ...Array.from({ length: 8 }, () => true)]);
      const row = await sql.get<{ bytes: number }>(
        'SELECT CAST(sum(size) AS BIGINT) AS bytes FROM shared_copies',
      );
      assert.equal(row?.bytes, 90_000);
    });

    it('are not made of what is too large, or of a file that changed', async () => {
      const { own, keep, sql, store, failures } = await make({ maxBytes: 100_000 });
      const large = await keep(Buffer.alloc(60_000));
      assert.equal(await store.size(large), undefined);
      const bytes = Buffer.alloc(20_000, 1);
      const { digest } = await own.put(bytes);
      writeFileSync(own.path(digest), Buffer.alloc(20_000, 2));
      await keep(Buffer.alloc(0));
      const { copies } = await make();
      copies.keep({ digest, size: 20_000, open: () => own.open(digest) });
      while (copies.busy) await new Promise((resolve) => setImmediate(resolve));
      assert.equal(await read(copies, digest), undefined);
      assert.equal(failures(), 0);
      assert.equal((await sql.all('SELECT digest FROM shared_copies')).length, 1);
    });

    it('are left alone for a moment while the store fails', async () => {
      let asked = 0;
      const { copies, keep, clock, failures } = await make({
        wrap: (store) => ({
          ...bound(store),
          open: async (digest) => {
            asked += 1;
            if (asked < 3) throw new BlobStoreUnavailable('it is not there');
            return store.open(digest);
          },
        }),
      });
      const digest = await keep(Buffer.from('there'));
      assert.equal(await copies.open(digest), undefined);
      assert.equal(await copies.open(digest), undefined);
      assert.deepEqual([asked, failures()], [1, 1], 'it was asked once');
      clock.now += 10_001;
      assert.equal(await copies.open(digest), undefined);
      clock.now += 10_001;
      assert.ok((await copies.open(digest)) !== undefined);
    });
  });
});

function bound(store: BlobStore): BlobStore {
  return {
    writer: () => store.writer(),
    put: (bytes) => store.put(bytes),
    open: (digest) => store.open(digest),
    size: (digest) => store.size(digest),
    delete: (digest) => store.delete(digest),
    close: () => store.close(),
  };
}
