/** What the router tells Prometheus, beside the request metrics that every surface has. */
import { Counter, Gauge } from 'prom-client';
import type { Metrics } from '../kernel/metrics.ts';
import type { BlobCache } from '../storage/blobs/cache/cache.ts';
import type { Attempt, Gateway } from './gateways/gateway.ts';
import type { GatewaySet } from './gateways/gateway-set.ts';
import type { Health } from './gateways/health.ts';
import type { HedgeEvent } from './gateways/hedged-ask.ts';
import type { StrategyName } from './gateways/strategy.ts';

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

export function createRouterMetrics(metrics: Metrics, strategy: StrategyName) {
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
  const firstPicks = new Map<string, number>();
  collected(
    metrics,
    'router_first_picks_total',
    'Requests by the gateway that the strategy sent them to first',
    ['strategy', 'gateway'],
    () => [...firstPicks].map(([gateway, value]) => ({ labels: { strategy, gateway }, value })),
  );
  const hedgesSent = metrics.plainCounter(
    'router_hedges_sent_total',
    'Second gateways asked because the first was slow',
  );
  const hedged = metrics.counter(
    'router_hedged_requests_total',
    'The same, by whether the answer of the second was used',
    ['won'],
  );
  const shed = metrics.counter('router_shed_total', 'Requests refused to stay alive', ['reason']);
  const hits = metrics.plainCounter('router_cache_hits_total', 'Content found in the cache');
  const misses = metrics.plainCounter('router_cache_misses_total', 'Content fetched from gateways');
  const corrupt = metrics.plainCounter('router_cache_corruption_total', 'Cached files that were damaged');
  const limited = metrics.plainCounter('router_rate_limited_total', 'Requests beyond the rate limit');
  const series = seriesNames();
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
    firstPick(gateway: string): void {
      const named = series(gateway);
      firstPicks.set(named, (firstPicks.get(named) ?? 0) + 1);
    },
    hedge(event: HedgeEvent): void {
      if (event === 'sent') hedgesSent.add();
      else hedged.inc({ won: String(event === 'won') });
    },
    shed: (reason: string) => shed.inc({ reason }),
    gauge: (name: string, help: string, read: () => number) => void metrics.gauge(name, help, [], read),
    /** Of what each process has for itself. */
    shareGauge: (name: string, help: string, read: () => number) => metrics.shareGauge(name, help, read),
    /** Something that only grows, and that others count. */
    total: (name: string, help: string, read: () => number) =>
      collected(metrics, name, help, [], () => [{ labels: {}, value: read() }]),
    /** Who is in quarantine and why, and who was caught with what is not so. */
    watchLiars: (gateways: () => readonly Watched[]) => watchLiars(metrics, gateways),
  };
}

/** The name of a gateway in a metric: its origin, for as many as there may be. */
function seriesNames(): (gateway: string) => string {
  const seen = new Set<string>();
  return (gateway) => {
    if (!seen.has(gateway) && seen.size >= maxGatewaySeries) return 'other';
    seen.add(gateway);
    return gateway;
  };
}

type Watched = Pick<Gateway, 'origin'> & { readonly health: Pick<Health, 'lies' | 'quarantineReason'> };

function watchLiars(metrics: Metrics, gateways: () => readonly Watched[]): void {
  // Apart from the others, so that a liar has a name however many gateways there are.
  const liars = seriesNames();
  collected(
    metrics,
    'router_gateway_lies_total',
    'Answers of a gateway that were proven wrong: other bytes than the id has, or forged signed fields',
    ['gateway'],
    () =>
      gateways()
        .filter(({ health }) => health.lies > 0)
        .map(({ origin, health }) => ({ labels: { gateway: liars(origin) }, value: health.lies })),
  );
  new Gauge({
    name: 'router_gateway_quarantined',
    help: '1 for a gateway in quarantine, with the reason; 0 for the others. "other" counts those beyond the first',
    labelNames: ['gateway', 'reason'],
    registers: [metrics.registry],
    aggregator: 'max',
    collect() {
      this.reset();
      const quarantined = gateways().filter(({ health }) => health.quarantineReason !== undefined);
      const free = gateways().filter(({ health }) => health.quarantineReason === undefined);
      [...quarantined, ...free].forEach(({ origin, health: { quarantineReason } }, index) => {
        const gateway = index < maxGatewaySeries ? origin : 'other';
        const value = quarantineReason === undefined ? 0 : 1;
        this.inc({ gateway, reason: quarantineReason ?? 'none' }, value);
      });
    },
  });
}

export type RouterMetrics = ReturnType<typeof createRouterMetrics>;

/** A counter whose values are asked for at each scrape. */
function collected<L extends string>(
  metrics: Metrics,
  name: string,
  help: string,
  labelNames: readonly L[],
  read: () => readonly { readonly labels: Readonly<Record<L, string>>; readonly value: number }[],
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
  readonly health: {
    readonly gateways: Pick<GatewaySet, 'counts' | 'all' | 'failedReads'>;
    readonly isDraining: () => boolean;
  };
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
  gauge(
    'router_gateway_list_failed_reads',
    'Reads of a list of gateways in a row that failed; meanwhile what was known is used',
    () => gateways.failedReads,
  );
  metrics.watchLiars(() => gateways.all);
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
