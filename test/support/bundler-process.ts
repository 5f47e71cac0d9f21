/** A bundler in a process of its own, to be killed: `node bundler-process.ts <database URL or -> <folder> <name> <blobs> <node>`. */
import { createCredits } from '../../src/credits/ledger/ledger.ts';
import { createLogger } from '../../src/kernel/log.ts';
import { Metrics } from '../../src/kernel/metrics.ts';
import { ArweaveNodes } from '../../src/outside/arweave/nodes.ts';
import { openBlobStore } from '../../src/storage/blobs/open.ts';
import { openDatabase } from '../../src/storage/sql/open.ts';
import { Bundler } from '../../src/upload/bundler/bundler.ts';
import { PayloadHashes } from '../../src/upload/hashing/payload-hash.ts';
import { createUploadMetrics } from '../../src/upload/metrics.ts';
import { testMigrations } from '../../src/upload/testing.ts';
import { testArweaveKey } from '../../src/wallets/testing/keys.ts';

const [url = '-', folder = '.', name = 'ledger', blobFolder = '.', node = ''] = process.argv.slice(2);
const sql = await openDatabase({
  databaseUrl: url === '-' ? undefined : url,
  dataDir: folder,
  name,
  migrations: testMigrations,
});
new Bundler({
  sql,
  blobs: await openBlobStore({ blobStoreUrl: undefined, dataDir: blobFolder }),
  hashes: new PayloadHashes(1),
  nodes: new ArweaveNodes([node]),
  credits: createCredits({ sql }),
  wallet: testArweaveKey,
  metrics: createUploadMetrics(new Metrics(), { disk: { freeBytes: 0, reservedBytes: 0, isLow: false } }),
  log: createLogger({ level: 'silent', format: 'json', name: 'bundler' }),
  now: Date.now,
  limits: { maxItems: 7, targetBytes: 2 ** 20, maxWaitMs: 0 },
  concurrency: 3,
  confirmations: 2,
  chunkConcurrency: 2,
  retentionMs: 3_600_000,
  // Leases of 300 ms.
  pollMs: 15,
}).start();
// A bundler by itself keeps no process alive.
setInterval(() => {}, 60_000);
console.log('ready');
