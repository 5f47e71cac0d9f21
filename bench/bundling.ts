/** A bundler beside its database, blobs and node, as the benches of bundling need it. */
import { createCredits } from '../src/credits/ledger/ledger.ts';
import { createLogger } from '../src/kernel/log.ts';
import { Metrics } from '../src/kernel/metrics.ts';
import { ArweaveNodes } from '../src/outside/arweave/nodes.ts';
import { openBlobStore } from '../src/storage/blobs/open.ts';
import { openDatabase } from '../src/storage/sql/open.ts';
import { Bundler } from '../src/upload/bundler/bundler.ts';
import { PayloadHashes } from '../src/upload/hashing/payload-hash.ts';
import { createUploadMetrics } from '../src/upload/metrics.ts';
import { testMigrations } from '../src/upload/testing.ts';
import { testArweaveKey } from '../src/wallets/testing/keys.ts';

interface BundlingOptions {
  readonly folder: string;
  /** Of blobs; undefined for files. */
  readonly store: string | undefined;
  readonly node: string;
  readonly maxItems: number;
}

export async function openBundling({ folder, store, node, maxItems }: BundlingOptions) {
  const sql = await openDatabase({
    databaseUrl: undefined,
    dataDir: folder,
    name: 'ledger',
    migrations: testMigrations,
  });
  const blobs = await openBlobStore({ blobStoreUrl: store, dataDir: folder });
  const nodes = new ArweaveNodes([node]);
  const hashes = new PayloadHashes(1);
  const bundler = new Bundler({
    ...{ sql, blobs, nodes, hashes, wallet: testArweaveKey },
    credits: createCredits({ sql }),
    metrics: createUploadMetrics(new Metrics(), { disk: { freeBytes: 0, reservedBytes: 0, isLow: false } }),
    log: createLogger({ level: 'warn', format: 'json', name: 'bench' }),
    now: Date.now,
    limits: { maxItems, targetBytes: 2 ** 31, maxWaitMs: 0 },
    concurrency: 4,
    confirmations: 1,
    chunkConcurrency: 8,
    retentionMs: 3_600_000,
    // Every round writes that the planner is alive.
    pollMs: 200,
  });
  return {
    ...{ sql, blobs, bundler },
    async close() {
      await nodes.close();
      await hashes.close();
      await blobs.close();
      await sql.close();
    },
  };
}
