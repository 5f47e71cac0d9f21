/** Bundling: 10,000 items of 10 KiB from the database to the local chain, and what of it is written to disk. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { request } from 'undici';
import { winc } from '../src/credits/credits.ts';
import { createCredits } from '../src/credits/ledger/ledger.ts';
import { parseItemHeader } from '../src/formats/ans104/item-header.ts';
import { createLogger } from '../src/kernel/log.ts';
import { Metrics } from '../src/kernel/metrics.ts';
import { ArweaveNodes } from '../src/outside/arweave/nodes.ts';
import { openBlobStore } from '../src/storage/blobs/open.ts';
import { openDatabase } from '../src/storage/sql/open.ts';
import { Bundler } from '../src/upload/bundler/bundler.ts';
import { noteBlobs, useNoted } from '../src/upload/items/blob-uses.ts';
import { insertItem } from '../src/upload/items/item-rows.ts';
import { createUploadMetrics } from '../src/upload/metrics.ts';
import { testMigrations } from '../src/upload/testing.ts';
import { signItem, solanaSigner } from '../src/wallets/data-items/signer.ts';
import { testArweaveKey, testEd25519Key } from '../src/wallets/testing/keys.ts';
import { seededRandom } from '../test/support/seeded-random.ts';
import type { Bench, Measurement } from './bench.ts';

const count = 10_000;
const payloadBytes = 10 * 1024;
const signer = solanaSigner(testEd25519Key);

/** Bytes that this process has had written to disk, where the system says so. */
function writtenBytes(): number {
  try {
    return Number(/^write_bytes: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

async function startNode(folder: string): Promise<{ process: ChildProcess; url: string }> {
  const script = resolve(import.meta.dirname, '../test/support/local-arweave-process.ts');
  const child = spawn(process.execPath, [script, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
  const url = await new Promise<string>((done, failed) => {
    child.stdout.once('data', (text: Buffer) => done(text.toString().trim()));
    child.once('exit', () => failed(new Error('the local node did not start')));
  });
  return { process: child, url };
}

async function bundlingBench(): Promise<Measurement[]> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-bundle-'));
  const node = await startNode(join(folder, 'node'));
  await request(`${node.url}/mint/${testArweaveKey.address}/1000000000000000000`);
  const sql = await openDatabase({
    databaseUrl: undefined,
    dataDir: folder,
    name: 'ledger',
    migrations: testMigrations,
  });
  const blobs = await openBlobStore({ blobStoreUrl: undefined, dataDir: folder });
  const nodes = new ArweaveNodes([node.url]);
  try {
    const beforeItems = writtenBytes();
    let bytes = 0;
    const random = seededRandom(3);
    for (let i = 0; i < count; i++) {
      const item = await signItem({ data: random.bytes(payloadBytes) }, signer);
      const header = parseItemHeader(item);
      if (typeof header === 'string') throw new Error(header);
      const segments = [{ ...(await blobs.put(item.subarray(header.length))), start: 0 }];
      bytes += item.length;
      await noteBlobs(sql, segments, i);
      await sql.transaction(async (tx) => {
        await insertItem(tx, {
          id: header.id,
          owner: header.ownerAddress,
          signer: 'bench',
          signatureType: 4,
          size: item.length,
          payloadStart: header.length,
          contentType: 'application/octet-stream',
          winc: winc(0n),
          receivedAt: i,
          deadlineHeight: 1_000_000,
          answer: {},
          segments,
          isNoted: true,
          head: header.bytes,
          announceAt: undefined,
        });
        await useNoted(tx, segments, i);
      });
    }
    const takingIn = writtenBytes() - beforeItems;
    const bundler = new Bundler({
      sql,
      blobs,
      nodes,
      credits: createCredits({ sql }),
      wallet: testArweaveKey,
      metrics: createUploadMetrics(new Metrics(), {
        disk: { freeBytes: 0, reservedBytes: 0, isLow: false },
      }),
      log: createLogger({ level: 'warn', format: 'json', name: 'bench' }),
      now: Date.now,
      limits: { maxItems: count, targetBytes: 2 ** 31, maxWaitMs: 0 },
      confirmations: 1,
      chunkConcurrency: 8,
      retentionMs: 3_600_000,
      pollMs: 10,
    });
    const beforeBundle = writtenBytes();
    const start = performance.now();
    await bundler.turn();
    const seconds = (performance.now() - start) / 1_000;
    const bundling = writtenBytes() - beforeBundle;
    const row = await sql.get<{ state: string; item_count: number }>(
      'SELECT state, item_count FROM upload_bundles',
    );
    if (
      row === undefined ||
      row.item_count !== count ||
      (row.state !== 'seeded' && row.state !== 'permanent')
    ) {
      throw new Error(`the bundle is ${row?.state} with ${row?.item_count} items`);
    }
    return [
      {
        name: '10,000 items of 10 KiB planned, prepared, posted and seeded',
        value: seconds,
        unit: 's',
        yardstick: `${(bytes / 1e6 / seconds).toFixed(0)} MB/s to the local node`,
        ratio: bytes / 1e6 / seconds / 1,
        note: 'reported only',
      },
      {
        // An item's bytes go to a blob (or the database) once, when it is taken in.
        name: 'times an item byte is written, taken in and bundled',
        value: 1 + bundling / bytes,
        unit: '×',
        yardstick: 'twice',
        ratio: 2 / (1 + bundling / bytes),
        bar: 1,
        note: `with database pages and file metadata ${((takingIn + bundling) / bytes).toFixed(1)} bytes per byte`,
      },
    ];
  } finally {
    await nodes.close();
    await sql.close();
    node.process.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}

export const benches: Bench[] = [{ name: 'upload/bundling', run: bundlingBench }];
