/** What serves readers: gateways with an index and a cache each, and routers that share a database. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig } from '../../../src/config/config.ts';
import { BlocklistFollower } from '../../../src/delivery/moderation/follower.ts';
import { gatewayMigrations } from '../../../src/gateway/migrations.ts';
import { createGatewaySurface } from '../../../src/gateway/surface.ts';
import { routerMigrations } from '../../../src/router/database.ts';
import { createRouterSurface } from '../../../src/router/surface.ts';
import { testAdminKey } from '../../../src/upload/testing.ts';
import type { SeededRandom } from '../../support/seeded-random.ts';
import type { ArweaveNetwork } from '../arweave.ts';
import { SimulatedBlobs } from '../blobs.ts';
import { SimulatedDatabase } from '../database.ts';
import { emptyFolder } from '../files.ts';
import type { Program, SimulatedProcess } from '../process.ts';
import '../threads.ts';
import { logOf } from '../uploads/installation.ts';
import type { World } from '../world.ts';
import { openCache } from './cache.ts';
import type { Registry } from './registry.ts';

export interface ReadingServer {
  readonly kind: 'gateway' | 'router';
  readonly process: SimulatedProcess;
  readonly url: string;
  /** Names and sandboxes are below it. */
  readonly host: string;
  readonly program: Program;
}

export interface ReadingInstallation {
  readonly gateways: readonly ReadingServer[];
  readonly routers: readonly ReadingServer[];
  readonly databases: readonly SimulatedDatabase[];
  readonly caches: readonly SimulatedBlobs[];
  /** Routers obey what is blocked at the first gateway. */
  readonly isFollowed: boolean;
}

export interface InstallationOptions {
  readonly world: World;
  readonly random: SeededRandom;
  readonly arweave: ArweaveNetwork;
  readonly registry: Registry;
  readonly foreignUrls: readonly string[];
}

export const moderationToken = 'a-token-of-the-moderators';
/** How often routers ask the gateway that they follow. */
export const followMs = 30_000;

const firstGatewayPort = 4_100;
const firstRouterPort = 4_200;

/** As an operator would run them, but less often: the chain makes a block in two minutes. */
const gatewayEnvironment = {
  GATEWAY_POLL_INTERVAL_MS: '20000',
  MEMPOOL_POLLING_INTERVAL_MS: '120000',
  EVENTS_POLL_MS: '10000',
  HEALTHCHECK_MIN_FREE_BYTES: '0',
};

const routerEnvironment = {
  ADMIN_UI_ENABLED: 'false',
  TELEMETRY_ENABLED: 'false',
  PING_INTERVAL_MS: '120000',
  MODERATION_ADMIN_TOKEN: moderationToken,
};

export function createReading(options: InstallationOptions): ReadingInstallation {
  const { world, random } = options;
  const isFollowed = random.below(2) === 0;
  const made = Array.from({ length: 1 + random.below(2) }, (_, index) => gatewayOf(options, index));
  const gateways = made.map(({ server }) => server);
  const database = new SimulatedDatabase(world, 'routers', routerMigrations);
  const routers = Array.from({ length: 1 + random.below(2) }, (_, index) => {
    const blobs = new SimulatedBlobs(world);
    const followed = isFollowed ? gateways[0]?.url : undefined;
    const urls = [...gateways.map(({ url }) => url), ...options.foreignUrls];
    return { server: routerOf({ world, index, database, blobs, urls, followed }), blobs };
  });
  return {
    gateways,
    routers: routers.map(({ server }) => server),
    databases: [...made.map(({ index }) => index), database],
    caches: [...made, ...routers].map(({ blobs }) => blobs),
    isFollowed,
  };
}

function gatewayOf({ world, random, arweave, registry }: InstallationOptions, number: number) {
  const port = firstGatewayPort + number;
  const name = `gateway-${number + 1}`;
  const host = `${name}.test`;
  const index = new SimulatedDatabase(world, name, gatewayMigrations);
  const blobs = new SimulatedBlobs(world);
  // The second may ask the first for what neither its cache nor the nodes have.
  const trusted = number > 0 && random.below(2) === 0 ? `http://127.0.0.1:${firstGatewayPort}` : '';
  const config = readConfig({
    ...gatewayEnvironment,
    GATEWAY_PORT: String(port),
    DATA_DIR: emptyFolder(name),
    WORKER_THREADS: '1',
    ARNS_ROOT_HOST: host,
    TRUSTED_GATEWAYS_URLS: trusted,
  });
  const server: ReadingServer = {
    kind: 'gateway',
    process: world.process(name),
    url: `http://127.0.0.1:${port}`,
    host,
    async program(life) {
      const surface = createGatewaySurface(config, {
        log: logOf(life),
        nodeUrls: arweave.nodes.map(({ url }) => url),
        release: '1',
        adminKey: testAdminKey,
        sql: index.open(),
        cache: openCache(blobs),
        shared: undefined,
        uploadUrl: () => undefined,
        names: [registry.source()],
      });
      await surface.start();
    },
  };
  return { server, index, blobs };
}

interface RouterOptions {
  readonly world: World;
  readonly index: number;
  readonly database: SimulatedDatabase;
  readonly blobs: SimulatedBlobs;
  readonly urls: readonly string[];
  /** The gateway whose list is obeyed. */
  readonly followed: string | undefined;
}

function routerOf({ world, index, database, blobs, urls, followed }: RouterOptions): ReadingServer {
  const port = firstRouterPort + index;
  const name = `router-${index + 1}`;
  const host = 'router.test';
  const folder = emptyFolder(name);
  mkdirSync(join(folder, 'content-cache'));
  const config = readConfig({
    ...routerEnvironment,
    PORT: String(port),
    DATA_DIR: folder,
    BASE_DOMAIN: host,
    ROUTING_STATIC_GATEWAYS: urls.join(','),
    ...(followed !== undefined && { MODERATION_FOLLOW_URL: followed }),
  });
  return {
    kind: 'router',
    process: world.process(name),
    url: `http://127.0.0.1:${port}`,
    host,
    async program(life) {
      const log = logOf(life);
      const list =
        followed === undefined
          ? undefined
          : new BlocklistFollower({
              ...{ url: followed, key: testAdminKey, everyMs: followMs, surfaces: ['router'], log },
              path: join(folder, 'followed.json'),
            });
      await list?.start();
      const sql = async () => database.open();
      const surface = createRouterSurface(config, {
        log,
        version: '1',
        localGatewayUrl: () => undefined,
        followed: () => list,
        databases: { proven: sql, telemetry: sql, own: sql },
        cache: openCache(blobs),
      });
      await surface.start();
    },
  };
}
