/** A router between stub gateways, on free ports in a temporary folder, for tests. */
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'undici';
import { readConfig } from '../../config/config.ts';
import { testLogLevel } from '../../config/testing.ts';
import type { FollowedBlocklist } from '../../delivery/moderation/blocklist.ts';
import { createLogger } from '../../kernel/log.ts';
import { createRouterSurface, type RouterSurface } from '../surface.ts';
import { StubGateway, type TestItem } from './stub-gateway.ts';

export interface RouterBench {
  readonly router: RouterSurface;
  readonly gateways: readonly StubGateway[];
  readonly dataDir: string;
  /** GET, unless said otherwise, at a path of the router, with the host a reader would use. */
  get(path: string, options?: GetOptions): Promise<Got>;
  /** Stops the router and starts it on the same data. */
  restart(environment?: Record<string, string>): Promise<void>;
  stop(): Promise<void>;
}

export interface GetOptions {
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'DELETE' | 'PUT' | 'OPTIONS';
  readonly host?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

export interface Got {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: Buffer;
  json(): Record<string, unknown>;
}

export interface BenchOptions {
  readonly items?: readonly TestItem[];
  readonly count?: number;
  /** Further gateways, beside the stubs. */
  readonly others?: readonly string[];
  readonly environment?: Record<string, string>;
  /** A gateway's list that the router obeys. */
  readonly followed?: FollowedBlocklist;
}

export async function startRouterBench(options: BenchOptions = {}): Promise<RouterBench> {
  const dataDir = mkdtempSync(join(tmpdir(), 'turnpike-router-'));
  const gateways: StubGateway[] = [];
  for (let index = 0; index < (options.count ?? 3); index += 1) {
    gateways.push(await new StubGateway(options.items).start());
  }
  // As turns go: the first is asked first.
  gateways.sort((a, b) => (a.url < b.url ? -1 : 1));
  const create = (environment: Record<string, string> = {}) =>
    createRouterSurface(
      readConfig({
        DATA_DIR: dataDir,
        PORT: '0',
        ADMIN_PORT: '0',
        ROUTING_STATIC_GATEWAYS: [...gateways.map(({ url }) => url), ...(options.others ?? [])].join(','),
        PING_ENABLED: 'false',
        ...options.environment,
        ...environment,
      }),
      {
        log: createLogger({
          name: 'test',
          level: testLogLevel(),
          format: 'pretty',
        }),
        version: '0.0.0-test',
        localGatewayUrl: () => undefined,
        followed: () => options.followed,
      },
    );
  let router = create();
  await router.start();
  return {
    get router() {
      return router;
    },
    gateways,
    dataDir,
    get: (path, given = {}) => get(router.url, path, given),
    async restart(environment) {
      await router.stop();
      router = create(environment);
      await router.start();
    },
    async stop() {
      await router.stop();
      await Promise.all(gateways.map((gateway) => gateway.stop()));
      // A download that was cut off may still be clearing up after itself.
      await rm(dataDir, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

export async function get(origin: string, path: string, options: GetOptions = {}): Promise<Got> {
  const answer = await request(`${origin}${path}`, {
    method: options.method ?? 'GET',
    headers: { ...(options.host === undefined ? {} : { host: options.host }), ...options.headers },
    ...(options.body === undefined ? {} : { body: options.body }),
  });
  const body = Buffer.from(await answer.body.arrayBuffer());
  return {
    status: answer.statusCode,
    headers: answer.headers,
    body,
    json: () => JSON.parse(body.toString('utf8')) as Record<string, unknown>,
  };
}
