/** What the router is and how it is set up, without secrets or paths (interface §4.5). */
import type { App } from '../../kernel/http/server.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import type { RouterSettings } from '../settings.ts';
import { type RouterHealth, stateRoute, uptimeOf } from './health.ts';

export type RouterInfo = ReturnType<typeof routerInfo>;

/** `hasDisk`: whether content is kept. */
export function routerInfo(settings: RouterSettings, health: RouterHealth, hasDisk: boolean) {
  const { gateways, version } = health;
  const { config, baseDomain } = settings;
  const restricted = config.RESTRICT_TO_ROOT_HOST;
  return {
    name: 'Turnpike Router',
    version,
    description: 'Serves permanent content by id and by name, from gateways it does not have to trust',
    uptime: uptimeOf(health),
    baseDomain,
    endpoints: {
      arns: restricted ? null : `https://{arnsName}.${baseDomain}`,
      txid: restricted ? null : `https://${baseDomain}/{txId}`,
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

export function infoRoutes(app: App, info: () => RouterInfo): void {
  for (const url of ['/info', '']) {
    stateRoute(app, url, 'Configuration, version, uptime and operating mode', info);
  }
}

export function metricsRoute(app: App, metrics: Metrics): void {
  stateRoute(app, '/metrics', 'Prometheus metrics', (reply) => {
    reply.header('content-type', metrics.contentType);
    return metrics.text();
  });
}
