/** The gateway as a surface: opens its database, makes its parts, starts and stops them in order. */
import { setInterval } from 'node:timers';
import type { Config } from '../config/config.ts';
import { StartupError } from '../kernel/errors.ts';
import { networks } from '../kernel/http/client-network.ts';
import { createHttpServer, type HttpServer } from '../kernel/http/server.ts';
import type { Logger } from '../kernel/log.ts';
import { Metrics } from '../kernel/metrics.ts';
import type { Surface } from '../kernel/part.ts';
import { openDatabase } from '../storage/sql/open.ts';
import { ChunkSource } from './chain/chunk-source.ts';
import { NodeChunks } from './chain/node-chunks.ts';
import { NodePool } from './chain/node-pool.ts';
import { SqlGatewayIndex } from './chain-index/sql-index.ts';
import type { CreatePart, GatewayContext, GatewayPart } from './context.ts';
import { type Filter, FilterError, parseFilterText } from './filters/filter.ts';
import { createGraphqlPart } from './graphql/part.ts';
import { createWriters } from './import/part.ts';
import { freeMeter } from './metering/token-meter.ts';
import { gatewayMigrations } from './migrations.ts';
import { createGatewayRoutes } from './routes/gw.ts';
import { createChainReads } from './routes/part.ts';
import { answerErrorsAsText, answerOtherMethods, refuseAsText } from './routes/text-errors.ts';

export interface GatewayDeps {
  readonly log: Logger;
  /** Arweave nodes in order of preference: the configured ones or the local one. */
  readonly nodeUrls: readonly string[];
  /** For `/gw/info`. */
  readonly release: string;
  /** This process is one of several on the port. */
  readonly sharePort?: boolean;
  /** Further parts: content, admin, published indexes, metering. */
  readonly parts?: readonly CreatePart[];
}

/** How often another process's imports are noticed. */
const refreshIntervalMs = 1_000;

export function createGatewaySurface(config: Config, deps: GatewayDeps): Surface {
  networks('TRUSTED_PROXIES', config.TRUSTED_PROXIES);
  const filters = {
    unbundle: readFilter('ANS104_UNBUNDLE_FILTER', config.ANS104_UNBUNDLE_FILTER),
    index: readFilter('ANS104_INDEX_FILTER', config.ANS104_INDEX_FILTER),
  };
  let running: { server: HttpServer; parts: GatewayPart[]; context: GatewayContext } | undefined;
  let refreshing: NodeJS.Timeout | undefined;

  async function start(): Promise<void> {
    const sql = await openDatabase({
      databaseUrl: config.DATABASE_URL,
      dataDir: config.DATA_DIR,
      name: 'gateway',
      migrations: gatewayMigrations,
      log: deps.log,
      byIndexOnly: true,
    });
    const nodes = new NodePool({
      urls: deps.nodeUrls,
      log: deps.log,
      timeoutMs: config.GATEWAY_NODE_TIMEOUT_MS,
      requestsPerSecond: config.GATEWAY_NODE_REQUESTS_PER_SECOND,
    });
    const index = new SqlGatewayIndex(sql);
    const chunks = new NodeChunks(nodes);
    const context: GatewayContext = {
      config,
      log: deps.log,
      metrics: new Metrics(),
      index,
      nodes,
      chunks,
      bytes: new ChunkSource(index, chunks),
      writers: undefined,
      blocklist: undefined,
      dropCopies: async () => {},
      contentHash: async () => undefined,
      meter: freeMeter,
      apex: undefined,
      info: {},
      peers: () => [],
    };
    const server = createHttpServer({
      name: 'gateway',
      title: 'Gateway',
      description: 'Chain reads, content, GraphQL (interface §4.4).',
      host: config.HOST,
      port: config.GATEWAY_PORT,
      portVariable: 'GATEWAY_PORT',
      sharePort: deps.sharePort ?? false,
      log: deps.log,
      metrics: context.metrics,
      refusal: refuseAsText,
      trustedProxies: config.TRUSTED_PROXIES,
      cors: { methods: ['GET', 'HEAD', 'POST', 'OPTIONS'], exposeHeaders: ['*'] },
    });
    const parts: GatewayPart[] = [];
    running = { server, parts, context };
    const makers: readonly CreatePart[] = [
      createChainReads,
      createGraphqlPart,
      (made) => createWriters(made, filters),
      ...(deps.parts ?? []),
      (made) => createGatewayRoutes(made, { filters, release: deps.release, parts }),
    ];
    for (const make of makers) parts.push(make(context));
    server.mount(async (app) => {
      answerErrorsAsText(app);
      for (const part of parts) await part.routes?.(app);
      answerOtherMethods(app);
    });
    await index.refresh();
    await nodes.start();
    for (const part of parts) await part.start?.();
    refreshing = setInterval(() => {
      index.refresh().catch((error: unknown) => deps.log.warn({ err: error }, 'the index cannot be read'));
    }, refreshIntervalMs);
    await server.listen();
  }

  return {
    name: 'gateway',
    get url() {
      return running?.server.url ?? `http://${config.HOST}:${config.GATEWAY_PORT}`;
    },
    start,
    async drain(timeoutMs) {
      return (await running?.server.drain(timeoutMs)) ?? true;
    },
    async stop() {
      if (running === undefined) return;
      clearInterval(refreshing);
      const { server, parts, context } = running;
      await server.close();
      for (const part of parts.toReversed()) await part.stop?.();
      await context.nodes.stop();
      await context.index.sql.close();
    },
  };
}

function readFilter(name: string, text: string): Filter {
  try {
    return parseFilterText(text);
  } catch (error) {
    if (error instanceof FilterError) throw new StartupError(`${name} ${error.message}`);
    throw error;
  }
}
