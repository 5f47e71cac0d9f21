/** What the admin page shows, as data. */
import { describeConfig, showValue } from '../../config/config.ts';
import type { BlobCache } from '../../storage/blobs/cache/cache.ts';
import type { Gateway } from '../gateways/gateway.ts';
import type { GatewaySet } from '../gateways/gateway-set.ts';
import type { RouterMetrics } from '../metrics.ts';
import type { Moderation } from '../moderation/block-content.ts';
import type { NameResolver } from '../names/resolver.ts';
import { type RouterHealth, uptimeOf } from '../routes/health.ts';
import type { RouterSettings } from '../settings.ts';
import { summarize, totals } from '../telemetry/summary.ts';
import { bucketOf, type Telemetry } from '../telemetry/telemetry.ts';

const hourMs = 3_600_000;
export const ranges: Readonly<Record<string, number>> = { '1h': 1, '6h': 6, '24h': 24, '7d': 168 };

/** What the page shows something of. */
export interface ViewDeps {
  readonly settings: RouterSettings;
  readonly health: RouterHealth;
  readonly gateways: GatewaySet;
  readonly names: NameResolver;
  /** What is kept on disk; undefined where nothing is. */
  readonly disk: BlobCache | undefined;
  readonly metrics: RouterMetrics;
  readonly telemetry: Telemetry | undefined;
  readonly moderation: Moderation | undefined;
}

export function statusView(deps: ViewDeps) {
  const { settings, health, gateways, disk, names } = deps;
  const { config } = settings;
  const stored = disk?.statistics();
  const hits = deps.metrics.hits.value;
  const misses = deps.metrics.misses.value;
  return {
    version: health.version,
    uptimeMs: uptimeOf(health).ms,
    uptime: uptimeOf(health).human,
    draining: health.isDraining(),
    problems: health.problems(),
    mode: config.DEFAULT_MODE,
    baseDomain: settings.baseDomain,
    verificationEnabled: config.VERIFICATION_ENABLED,
    verificationCount: gateways.verification.length,
    routingStrategy: config.ROUTING_STRATEGY,
    gateways: gateways.counts(),
    names: names.size,
    cache: {
      enabled: disk !== undefined,
      entries: stored?.entries ?? 0,
      sizeBytes: stored?.bytes ?? 0,
      maxSizeBytes: config.CONTENT_CACHE_MAX_SIZE_BYTES,
      evictions: stored?.evictions ?? 0,
      hits,
      misses,
      hitRate: hits + misses === 0 ? 0 : hits / (hits + misses),
    },
    moderation: deps.moderation?.blocklist.stats() ?? null,
  };
}

export function gatewaysView({ gateways }: ViewDeps) {
  const routing = new Set<Gateway>(gateways.routing);
  const verification = new Set<Gateway>(gateways.verification);
  return gateways.all.map((gateway) => ({
    gateway: gateway.origin,
    state: gateway.health.state,
    routing: routing.has(gateway),
    verification: verification.has(gateway),
    latencyMs: gateway.health.latencyMs ?? null,
    errorRate: gateway.health.errorRate,
    inFlight: gateway.inFlight,
    lastFailure: gateway.health.lastFailure ?? null,
  }));
}

/** Figures of the last hours with one series per gateway for the charts. */
export async function telemetryView({ telemetry }: ViewDeps, hours: number) {
  if (telemetry === undefined) return { enabled: false as const };
  const end = new Date();
  const start = new Date(end.getTime() - (hours - 1) * hourMs);
  const kept = await telemetry.hours(start, end);
  const buckets = Array.from({ length: hours }, (_, index) =>
    bucketOf(new Date(start.getTime() + index * hourMs)),
  );
  const gateways = summarize(kept, { start, end });
  const series = gateways.map(({ gateway }) => {
    const own = new Map(
      kept.filter((hour) => hour.gateway === gateway).map((hour) => [hour.hourBucket, hour.figures]),
    );
    return {
      gateway,
      points: buckets.map((bucket) => {
        const hour = own.get(bucket);
        if (hour === undefined || hour.totalRequests === 0)
          return { requests: 0, latencyMs: null, errorRate: null };
        const failures = hour.serverErrors + hour.timeouts + hour.connectionErrors;
        return {
          requests: hour.totalRequests,
          latencyMs: hour.latencyCount === 0 ? null : hour.latencySum / hour.latencyCount,
          errorRate: failures / hour.totalRequests,
        };
      }),
    };
  });
  return { enabled: true as const, buckets, gateways, series, totals: totals(gateways) };
}

/** The router's variables, addresses without their keys; whether a secret is set is said, never what it is. */
export function configView({ settings }: ViewDeps) {
  const { config } = settings;
  return describeConfig()
    .filter(({ group }) => group === 'Router' || group === 'General' || group === 'Ports')
    .map(({ group, name, kind, meaning, defaultText }) => {
      const value: unknown = Object.getOwnPropertyDescriptor(config, name)?.value;
      const secret = kind === 'secret' || /TOKEN|SECRET|KEY/.test(name);
      const shown = value === undefined ? '' : secret ? '(set)' : showValue(name, String(value));
      return { group, name, meaning, value: shown, isDefault: shown === defaultText };
    });
}
