/** What the router is and how it is set up, without secrets or paths (interface §4.5). */
import { isIP } from 'node:net';
import type { Greeting } from '../../kernel/http/page/greeting.ts';
import type { App, Request } from '../../kernel/http/server.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import { parseHost } from '../request/host.ts';
import type { RouterSettings } from '../settings.ts';
import { type RouterHealth, stateRoute, uptimeOf } from './health.ts';

export type RouterInfo = ReturnType<typeof routerInfo>;

/** How a client reaches the router, as far as proxies that are trusted say. */
export type Reached = Pick<Request, 'protocol' | 'host'>;

/** `hasDisk`: whether content is kept. */
export function routerInfo(
  settings: RouterSettings,
  health: RouterHealth,
  hasDisk: boolean,
  reached: Reached,
) {
  const { gateways, version } = health;
  const { config, baseDomain } = settings;
  const restricted = config.RESTRICT_TO_ROOT_HOST;
  const addresses = contentAddresses(settings, reached);
  return {
    name: 'Turnpike Router',
    version,
    description: 'Serves permanent content by id and by name, from gateways it does not have to trust',
    uptime: uptimeOf(health),
    baseDomain,
    endpoints: {
      arns: restricted ? null : addresses.arns,
      txid: restricted ? null : addresses.txid,
      health: '/router/health',
      ready: '/router/ready',
      metrics: '/router/metrics',
      stats: '/router/stats/gateways',
      info: '/router/info',
    },
    mode: config.DEFAULT_MODE,
    allowModeOverride: config.ALLOW_MODE_OVERRIDE,
    rootHostContent: settings.rootContent ?? null,
    restrictToRootHost: restricted,
    routing: {
      strategy: config.ROUTING_STRATEGY,
      gatewaySource: settings.routing.source,
      gatewayCount: gateways.routing.length,
    },
    verification: {
      enabled: config.VERIFICATION_ENABLED,
      gatewaySource: settings.verification.source,
      gatewayCount: gateways.verification.length,
      consensusThreshold: settings.consensusThreshold,
      quorum: config.VERIFICATION_QUORUM,
    },
    cache: {
      enabled: hasDisk,
      diskBacked: hasDisk,
      maxSizeBytes: config.CONTENT_CACHE_MAX_SIZE_BYTES,
    },
    moderation: { enabled: config.MODERATION_ENABLED },
    rateLimit: { enabled: config.RATE_LIMIT_ENABLED },
  };
}

/**
 * Addresses that work for whoever asks: with the scheme and port that led here. Ids are served at some hosts other than
 * `BASE_DOMAIN` too; names have that domain alone.
 */
export function contentAddresses(
  { baseDomain, basePort, config }: Pick<RouterSettings, 'baseDomain' | 'basePort' | 'config'>,
  { protocol, host }: Reached,
): { readonly arns: string | null; readonly txid: string } {
  const own = parseHost(host, { baseDomain, allowUnknownHosts: config.ALLOW_UNKNOWN_HOSTS });
  const port = basePort ?? /:[0-9]{1,5}$/.exec(host)?.[0] ?? '';
  const domain = `${baseDomain}${port}`;
  const root = own.kind === 'root' && !own.hasSubdomains ? own.authority : domain;
  return {
    arns: isIP(baseDomain) === 0 ? `${protocol}://{arnsName}.${domain}` : null,
    txid: `${protocol}://${root}/{txId}`,
  };
}

export function routerGreeting({ endpoints }: RouterInfo): Greeting {
  const addresses = [endpoints.txid, endpoints.arns].filter((address) => address !== null);
  return {
    title: 'Content router',
    about:
      'Serves permanent content by id and by name, from gateways that it does not have to trust: what it calls verified it has proven.',
    links: [
      { path: '/api-docs', what: 'every route, to read' },
      { path: '/router/info', what: 'how it is set up' },
      { path: '/router/stats/gateways', what: 'how its gateways do' },
      { path: '/router/health', what: 'whether it is well' },
    ],
    next: {
      text: 'Whatever is stored can be read here:',
      ...(addresses.length > 0 && { command: addresses.map((address) => `curl ${address}`).join('\n') }),
    },
  };
}

export function infoRoutes(app: App, info: (reached: Reached) => RouterInfo): void {
  for (const url of ['/info', '']) {
    stateRoute(app, url, 'Configuration, version, uptime and operating mode', ({ request }) => info(request));
  }
}

export function metricsRoute(app: App, metrics: Metrics): void {
  stateRoute(app, '/metrics', 'Prometheus metrics', (reply) => {
    reply.header('content-type', metrics.contentType);
    return metrics.text();
  });
}
