/** A gateway over the simulated chain: it indexes what is mined, and serves what was uploaded before that. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Config, readConfig } from '../../../src/config/config.ts';
import { gatewayMigrations } from '../../../src/gateway/migrations.ts';
import { createGatewaySurface } from '../../../src/gateway/surface.ts';
import type { BlobCache } from '../../../src/storage/blobs/cache/cache.ts';
import { testAdminKey } from '../../../src/upload/testing.ts';
import type { ArweaveNetwork } from '../arweave.ts';
import { SimulatedBlobs } from '../blobs.ts';
import { SimulatedDatabase } from '../database.ts';
import type { Program, SimulatedProcess } from '../process.ts';
import '../threads.ts';
import type { World } from '../world.ts';
import { logOf } from './installation.ts';

export interface GatewayInstallation {
  readonly index: SimulatedDatabase;
  readonly process: SimulatedProcess;
  readonly url: string;
  readonly program: Program;
}

const port = 4_000;
export const gatewayUrl = `http://127.0.0.1:${port}`;

export function createGateway(world: World, arweave: ArweaveNetwork, uploadUrl: string): GatewayInstallation {
  const index = new SimulatedDatabase(world, 'gateway', gatewayMigrations);
  const config = configOf();
  return {
    index,
    process: world.process('gateway'),
    url: gatewayUrl,
    async program(life) {
      const surface = createGatewaySurface(config, {
        log: logOf(life),
        nodeUrls: arweave.nodes.map(({ url }) => url),
        release: '1',
        adminKey: testAdminKey,
        sql: index.open(),
        cache: cacheOf(world),
        shared: undefined,
        uploadUrl: () => uploadUrl,
        names: [],
      });
      await surface.start();
    },
  };
}

/** Of one life: what it keeps can be fetched again. */
function cacheOf(world: World): BlobCache {
  const blobs = new SimulatedBlobs(world);
  return {
    ...blobs.open(),
    scrubbed: { namesAfter: async function* () {}, inspect: async () => undefined },
    scanned: Promise.resolve(),
    statistics: () => ({ bytes: 0, entries: blobs.count, hits: 0, misses: 0, evictions: 0 }),
    onDamaged() {},
  };
}

/** Hardly anything is written there. */
let folder: string | undefined;

function dataFolder(): string {
  if (folder === undefined) {
    const made = mkdtempSync(join(tmpdir(), 'turnpike-simulation-'));
    process.once('exit', () => rmSync(made, { recursive: true, force: true }));
    folder = made;
  }
  return folder;
}

function configOf(): Config {
  return readConfig({
    GATEWAY_PORT: String(port),
    DATA_DIR: dataFolder(),
    WORKER_THREADS: '1',
    GATEWAY_POLL_INTERVAL_MS: '20000',
    ANS104_UNBUNDLE_WORKERS: '1',
    EVENTS_POLL_MS: '10000',
  });
}
