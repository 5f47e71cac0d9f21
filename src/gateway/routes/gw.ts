/** `GET /`, `/gw/info`, `/gw/healthcheck`, `/gw/completeness`, `/gw/peers`, `/gw/__gateway_metrics`, each also under the aliases. */
import { type Static, Type } from 'typebox';
import { redactUrl } from '../../config/redact.ts';
import { originOf } from '../../kernel/http/app.ts';
import { type Greeting, greet } from '../../kernel/http/page/greeting.ts';
import type { App, Reply, Request } from '../../kernel/http/server.ts';
import { mount } from '../../kernel/http/server.ts';
import { fatalProblems, type Part, problemsOf } from '../../kernel/part.ts';
import type { GatewayContext } from '../chain/context.ts';
import type { AskedHeights, CompletenessReader } from '../chain-index/completeness.ts';
import { type PeerGateway, unknownWeight } from '../content/sources/gateways.ts';
import type { Filters } from '../filters/filter.ts';
import { gatewayPrefixes } from '../paths.ts';

export type Handler = (request: Request, reply: Reply) => Promise<unknown>;

export interface GatewayRoutesDeps extends Pick<GatewayContext, 'config' | 'metrics' | 'nodes'> {
  readonly filters: Filters;
  readonly completeness: CompletenessReader;
  readonly release: string;
  /** What other parts add to `/gw/info`. */
  info(): object;
  /** Asked for what is wrong, in this order. */
  readonly parts: () => readonly Part[];
  /** Gateways that this one asks, for `/gw/peers`. */
  peers(): readonly PeerGateway[];
  /** Answers `GET /` in place of the gateway info, where an apex is configured. */
  readonly apex: Handler | undefined;
}

const Height = Type.Optional(Type.String({ pattern: '^[0-9]{1,10}$', description: 'a block height' }));
const Heights = Type.Object({ min: Height, max: Height });

const startedAt = process.uptime();

export function createGatewayRoutes(deps: GatewayRoutesDeps): Part {
  const { config, nodes, metrics, filters, apex, completeness } = deps;

  function info(): Record<string, unknown> {
    return {
      wallet: config.GATEWAY_WALLET,
      processId: config.GATEWAY_PROCESS_ID,
      ans104UnbundleFilter: filters.unbundle,
      ans104IndexFilter: filters.index,
      supportedManifestVersions: ['0.1.0', '0.2.0'],
      release: deps.release,
      ...deps.info(),
    };
  }

  async function healthcheck(request: Request, reply: Reply): Promise<Reply> {
    const found = await problemsOf(deps.parts());
    const strict = config.HEALTHCHECK_STRICT || queryOf(request, 'strict') === 'true';
    return reply
      .code((strict ? found : fatalProblems(deps.parts())).length > 0 ? 503 : 200)
      .header('cache-control', 'no-store')
      .send({
        status: found.length === 0 ? 'ok' : 'unhealthy',
        uptime: process.uptime() - startedAt,
        date: new Date().toISOString(),
        reasons: found,
      });
  }

  /** Nobody else to name: clients that choose among peers are left with this one. */
  function itself(request: Request): PeerGateway[] {
    const url = config.GATEWAY_URL ?? originOf(request);
    return URL.canParse(url) ? [{ url, dataWeight: unknownWeight, chunkWeight: unknownWeight }] : [];
  }

  function peers(request: Request): object {
    const arweaveNodes: Record<string, object> = {};
    for (const { url, blocks, height, lastSeen } of nodes.status) {
      arweaveNodes[hostAndPort(url)] = { url: redactUrl(url), blocks, height, lastSeen };
    }
    const others = deps.peers();
    const gateways = Object.fromEntries(
      (others.length > 0 ? others : itself(request)).map((peer) => [
        hostAndPort(peer.url),
        { ...peer, url: redactUrl(peer.url) },
      ]),
    );
    return { gateways, arweaveNodes };
  }

  return {
    name: 'gateway',
    async routes(app) {
      const root = async (request: Request, reply: Reply): Promise<unknown> => {
        if (apex !== undefined) return apex(request, reply);
        if (greet(request, reply, greeting)) return reply;
        return reply.header('cache-control', 'public, max-age=30').send(info());
      };
      app.get('/', { schema: { summary: 'Gateway info, or the apex content', tags: ['gateway'] } }, root);

      mount(
        app,
        (scope: App) => {
          const add = (path: string, summary: string, handler: Handler): void => {
            scope.get(path, { schema: { summary, tags: ['gateway'] } }, handler);
          };
          add('/healthcheck', 'Health, with reasons', healthcheck);
          add('/info', 'What this gateway is', async (_request, reply) =>
            reply.header('cache-control', 'public, max-age=30').send(info()),
          );
          scope.get(
            '/completeness',
            {
              schema: {
                summary: 'Which heights are indexed without gaps',
                tags: ['gateway'],
                querystring: Heights,
              },
            },
            async (request, reply) =>
              reply.header('cache-control', 'no-store').send(await completeness.of(heightsOf(request.query))),
          );
          add('/peers', 'Gateways and nodes that this one asks', async (request, reply) =>
            reply.header('cache-control', 'public, max-age=30').send(peers(request)),
          );
          add('/__gateway_metrics', 'Metrics for Prometheus', async (_request, reply) =>
            reply
              .header('content-type', metrics.contentType)
              .header('cache-control', 'no-store')
              .send(await metrics.text()),
          );
        },
        gatewayPrefixes(config.GW_ALIAS_PREFIXES),
      );
    },
  };
}

function heightsOf({ min, max }: Static<typeof Heights>): AskedHeights {
  const heightOf = (text: string | undefined) => (text === undefined ? undefined : Number(text));
  return { min: heightOf(min), max: heightOf(max) };
}

function queryOf(request: Request, name: string): unknown {
  const { query } = request;
  return typeof query === 'object' && query !== null ? Reflect.get(query, name) : undefined;
}

function hostAndPort(url: string): string {
  const { hostname, port, protocol } = new URL(url);
  return `${hostname}:${port === '' ? (protocol === 'https:' ? '443' : '80') : port}`;
}

function greeting(request: Request): Greeting {
  return {
    title: 'Gateway',
    about:
      'Reads the chain: content by id and by name, transactions and blocks, and an index to search by GraphQL.',
    links: [
      { path: '/api-docs', what: 'every route, to read' },
      { path: '/graphql', what: 'search, in a page of its own' },
      { path: '/gw/info', what: 'what this gateway is' },
      { path: '/gw/healthcheck', what: 'whether it is well, with reasons' },
    ],
    next: {
      text: 'Whatever is stored is here under its id at once:',
      command: `curl ${originOf(request)}/{id}`,
    },
  };
}
