/** What the router tells Prometheus, beside the request metrics that every surface has. */
import { Counter } from 'prom-client';
import type { Metrics } from '../kernel/metrics.ts';
import type { BlobCache } from '../storage/blobs/cache/cache.ts';
import type { Attempt } from './gateways/gateway.ts';
import type { GatewaySet } from './gateways/gateway-set.ts';

/** Gateways that have series of their own; the rest share one, so that a registry cannot flood the scrape. */
const maxGatewaySeries = 50;

interface AttemptLabels {
  readonly gateway: string;
  readonly role: string;
  readonly outcome: string;
}

interface Tally {
  readonly labels: AttemptLabels;
  count: number;
  seconds: number;
}

export function createRouterMetrics(metrics: Metrics) {
  // Spelled out when somebody scrapes; an attempt is three look-ups and two additions.
  const attempts: Tally[] = [];
  const tallies = new Map<string, Map<string, Map<string, Tally>>>();
  const addTally = (labels: AttemptLabels): Tally => {
    const { gateway, role, outcome } = labels;
    const tally: Tally = { labels, count: 0, seconds: 0 };
    const roles = tallies.get(gateway) ?? new Map<string, Map<string, Tally>>();
    tallies.set(gateway, roles.set(role, (roles.get(role) ?? new Map<string, Tally>()).set(outcome, tally)));
    attempts.push(tally);
    return tally;
  };
  collected(
    metrics,
    'router_upstream_attempts_total',
    'Questions to gateways, by what came of them',
    ['gateway', 'role', 'outcome'],
    () => attempts.map(({ labels, count }) => ({ labels, value: count })),
  );
  collected(
    metrics,
    'router_upstream_ttfb_seconds_total',
    'Time until gateways began to answer, summed up',
    ['gateway', 'role', 'outcome'],
    () => attempts.map(({ labels, seconds }) => ({ labels, value: seconds })),
  );
  const verifications = metrics.counter('router_verifications_total', 'Content that was checked', [
    'method',
    'outcome',
  ]);
  const names = metrics.counter('router_arns_resolutions_total', 'Names that were asked for', ['outcome']);
  const mismatches = metrics.counter(
    'router_arns_consensus_mismatch_total',
    'Gateways that said something else about a name than the others',
    ['gateway'],
  );
  const blocked = metrics.counter('router_blocked_requests_total', 'Requests for blocked content', ['type']);
  const hedged = metrics.counter(
    'router_hedged_requests_total',
    'Second gateways asked because the first was slow',
    ['won'],
  );
  const shed = metrics.counter('router_shed_total', 'Requests refused to stay alive', ['reason']);
  const hits = metrics.plainCounter('router_cache_hits_total', 'Content found in the cache');
  const misses = metrics.plainCounter('router_cache_misses_total', 'Content fetched from gateways');
  const corrupt = metrics.plainCounter('router_cache_corruption_total', 'Cached files that were damaged');
  const limited = metrics.plainCounter('router_rate_limited_total', 'Requests beyond the rate limit');
  const seen = new Set<string>();
  const series = (gateway: string): string => {
    if (seen.has(gateway)) return gateway;
    if (seen.size >= maxGatewaySeries) return 'other';
    seen.add(gateway);
    return gateway;
  };
  return {
    hits,
    misses,
    corrupt,
    limited,
    attempt({ gateway, role, outcome, latencyMs }: Attempt): void {
      const named = series(gateway);
      const tally =
        tallies.get(named)?.get(role)?.get(outcome) ?? addTally({ gateway: named, role, outcome });
      tally.count += 1;
      tally.seconds += latencyMs / 1_000;
    },
    verified: (method: string, ok: boolean) =>
      verifications.inc({ method, outcome: ok ? 'verified' : 'failed' }),
    resolution: (outcome: string) => names.inc({ outcome }),
    disagreed: (gateway: string) => mismatches.inc({ gateway: series(gateway) }),
    blocked: (type: string) => blocked.inc({ type }),
    hedged: (won: boolean) => hedged.inc({ won: String(won) }),
    shed: (reason: string) => shed.inc({ reason }),
    gauge: (name: string, help: string, read: () => number) => void metrics.gauge(name, help, [], read),
    /** Something that only grows, and that others count. */
    total: (name: string, help: string, read: () => number) =>
      collected(metrics, name, help, [], () => [{ labels: {}, value: read() }]),
  };
}

export type RouterMetrics = ReturnType<typeof createRouterMetrics>;

/** A counter whose values are asked for at each scrape. */
function collected(
  metrics: Metrics,
  name: string,
  help: string,
  labelNames: readonly (keyof AttemptLabels)[],
  read: () => readonly { readonly labels: Partial<AttemptLabels>; readonly value: number }[],
): void {
  new Counter({
    name,
    help,
    labelNames: [...labelNames],
    registers: [metrics.registry],
    collect() {
      this.reset();
      for (const { labels, value } of read()) this.inc({ ...labels }, value);
    },
  });
}

/** What others count, read at each scrape. */
export interface Gauges {
  readonly health: { readonly gateways: Pick<GatewaySet, 'counts'>; readonly isDraining: () => boolean };
  readonly names: { readonly size: number };
  readonly disk: Pick<BlobCache, 'statistics'> | undefined;
  readonly blocklist: { readonly failedReloads: number } | undefined;
  readonly telemetry: { readonly dropped: number } | undefined;
}

export function addGauges(
  metrics: RouterMetrics,
  { health, names, disk, blocklist, telemetry }: Gauges,
): void {
  const { gauge, total } = metrics;
  const { gateways, isDraining } = health;
  gauge('router_gateways', 'Gateways that content may come from', () => gateways.counts().total);
  gauge('router_gateways_healthy', 'Of those, how many may be asked', () => gateways.counts().healthy);
  gauge(
    'router_gateways_circuit_open',
    'Of those, how many are left alone',
    () => gateways.counts().circuitOpen,
  );
  gauge('router_arns_cache_size', 'Names that are remembered', () => names.size);
  gauge('router_cache_bytes', 'Bytes in the content cache', () => disk?.statistics().bytes ?? 0);
  gauge('router_cache_entries', 'Entries of the content cache', () => disk?.statistics().entries ?? 0);
  total(
    'router_cache_evictions_total',
    'Entries that made room for others',
    () => disk?.statistics().evictions ?? 0,
  );
  total(
    'router_blocklist_reload_failures_total',
    'Blocklists that were refused',
    () => blocklist?.failedReloads ?? 0,
  );
  total('router_telemetry_dropped_total', 'Events that could not be kept', () => telemetry?.dropped ?? 0);
  gauge('router_draining', '1 while the router shuts down', () => (isDraining() ? 1 : 0));
}
