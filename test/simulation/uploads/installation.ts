/** An installation that takes uploads: processes that share a ledger and a store of blobs, and what pays for bundles. */
import { type Config, readConfig } from '../../../src/config/config.ts';
import { createCredits } from '../../../src/credits/ledger/ledger.ts';
import { createLogger, type Logger } from '../../../src/kernel/log.ts';
import { createUploadSurface } from '../../../src/upload/surface.ts';
import { byteForWinc, testAdminKey, testMigrations } from '../../../src/upload/testing.ts';
import { testArweaveKey } from '../../../src/wallets/testing/keys.ts';
import type { ArweaveNetwork } from '../arweave.ts';
import { SimulatedBlobs } from '../blobs.ts';
import { SimulatedDatabase } from '../database.ts';
import type { Life, Program, SimulatedProcess } from '../process.ts';
import type { World } from '../world.ts';

export interface UploadInstallation {
  readonly ledger: SimulatedDatabase;
  readonly blobs: SimulatedBlobs;
  /** Each with its address. */
  readonly processes: readonly UploadProcess[];
}

export interface UploadProcess {
  readonly process: SimulatedProcess;
  readonly url: string;
  readonly program: Program;
}

/** What the operator would see of a life: warnings and errors. */
export function logOf(life: Life): Logger {
  return createLogger({
    name: life.process.name,
    level: 'warn',
    format: 'json',
    write: (line) => {
      const { msg, err } = JSON.parse(line);
      life.process.tell(`logs "${msg}"${err === undefined ? '' : `: ${String(err.message).split('\n')[0]}`}`);
    },
  });
}

const firstPort = 3_000;

export function createUploads(
  world: World,
  arweave: ArweaveNetwork,
  options: { readonly processes: number; readonly gatewayUrl: string | undefined },
): UploadInstallation {
  const ledger = new SimulatedDatabase(world, 'ledger', testMigrations);
  const blobs = new SimulatedBlobs(world);
  const wallet = testArweaveKey;
  const pollMs = world.pace * world.random('upload settings').pick(pollsMs);
  arweave.funds.set(wallet.address, 10n ** 15n);
  const processes = Array.from({ length: options.processes }, (_, index): UploadProcess => {
    const port = firstPort + index;
    const config = configOf(port, pollMs, world.pace * longestBundleWaitMs);
    return {
      process: world.process(`upload-${index + 1}`),
      url: `http://127.0.0.1:${port}`,
      async program(life) {
        const sql = ledger.open();
        const credits = createCredits({ sql });
        const surface = createUploadSurface(config, {
          log: logOf(life),
          version: '1',
          adminKey: testAdminKey,
          sql,
          blobs: blobs.open(),
          credits,
          pricing: byteForWinc({ sql, credits }),
          wallet,
          receiptKey: wallet,
          dataKey: wallet,
          addresses: {},
          arweaveNodeUrls: arweave.nodes.map(({ url }) => url),
          gateway: gatewayOf(options.gatewayUrl),
          freeBytes: async () => 10 ** 12,
        });
        await surface.start();
      },
    };
  });
  return { ledger, blobs, processes };
}

const gatewayOf = (url: string | undefined) =>
  url === undefined
    ? { publicUrl: 'http://gateway.test' }
    : { publicUrl: url, admin: { url, key: testAdminKey } };

/** Of the bundler: seldom, because the chain makes a block in two minutes. What a clock put off waits for 512 of them. */
const pollsMs = [15_000, 20_000, 30_000];
const longestBundleWaitMs = 300_000;

function configOf(port: number, pollMs: number, waitMs: number): Config {
  return readConfig({
    // The chain is none that mines at once.
    WORLD: 'public',
    UPLOAD_PORT: String(port),
    DATA_DIR: '/nowhere',
    FREE_UPLOAD_LIMIT: '0',
    WORKER_THREADS: '1',
    BUNDLE_POLL_MS: String(pollMs),
    BUNDLE_MAX_WAIT_MS: String(waitMs),
    BUNDLE_CONFIRMATIONS: '10',
    UPLOAD_RETENTION_SECS: '86400',
    MIN_FREE_DISK_BYTES: '0',
  });
}
