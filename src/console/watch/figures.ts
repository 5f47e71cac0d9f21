/** What the metrics of a surface say to people: rates between two readings, shares, and what waits. */
import type { FigureName, OperatorService } from '../api.ts';
import { increases, quantile, type Samples } from './prometheus.ts';

export interface Reading {
  /** By the clock of `performance.now`. */
  readonly at: number;
  readonly samples: Samples;
}

export interface SurfaceFigures {
  readonly figures: Readonly<Record<FigureName, number | undefined>>;
  readonly queues: Readonly<Record<string, number>>;
}

/** Routes by which services are watched rather than used: of probes, of this console, of documents. */
const watching =
  /^(?:\/v1)?\/(?:health|metrics|bundler_metrics|info|openapi\.json|api-docs.*|admin\/.*|gw\/.*|ar-io\/.*|router(?:\/.*)?|tx\/pending|block\/current|api\/.*)?$/;

export const isUse = (route: string): boolean => route !== '/' && !watching.test(route);

const counted = 'http_request_duration_seconds_count';
const bucketed = 'http_request_duration_seconds_bucket';

/** Counters of reads that were and were not in the cache. */
const caches: Readonly<Partial<Record<OperatorService, readonly [hits: string, misses: string]>>> = {
  gateway: ['contiguous_data_cache_hit_total', 'contiguous_data_cache_miss_total'],
  router: ['router_cache_hits_total', 'router_cache_misses_total'],
};

/** Gauges of what waits; those with a label are told by its value. */
const queues: Readonly<
  Record<OperatorService, readonly { readonly metric: string; readonly label?: string }[]>
> = {
  gateway: [
    { metric: 'queue_length', label: 'queue_name' },
    { metric: 'operator_queue_length', label: 'queue_name' },
    { metric: 'chain_import_lag_blocks' },
  ],
  payment: [{ metric: 'card_refunds_owed' }, { metric: 'card_refunds_given_up' }],
  upload: [
    { metric: 'upload_items_waiting' },
    { metric: 'upload_items_overdue' },
    { metric: 'upload_bundles_waiting' },
  ],
  router: [{ metric: 'router_http_in_flight' }],
};

/** Without an earlier reading there are no rates. */
export function figuresOf(
  service: OperatorService,
  before: Reading | undefined,
  { at, samples }: Reading,
): SurfaceFigures {
  const seconds = before === undefined ? 0 : (at - before.at) / 1_000;
  const isRated = before !== undefined && seconds > 0;
  const grown = (metric: string) => (isRated ? increases(before.samples, samples, metric) : []);
  const perSecond = (amount: number): number | undefined => (isRated ? amount / seconds : undefined);
  const requests = grown(counted).filter(({ labels }) => isUse(labels.route ?? ''));
  const buckets = bucketsOf(grown(bucketed).filter(({ labels }) => isUse(labels.route ?? '')));
  const failed = requests.filter(({ labels }) => Number(labels.status) >= 500);
  const cpu = grown('process_cpu_seconds_total');
  const [hits, misses] = (caches[service] ?? []).map((metric) => total(grown(metric)));
  return {
    figures: {
      requestsPerSecond: perSecond(total(requests)),
      errorsPerSecond: perSecond(total(failed)),
      latencyP50: quantile(0.5, buckets),
      latencyP95: quantile(0.95, buckets),
      inFlight: withoutOwn(samples.sum('http_requests_in_flight')),
      cacheHitShare: shareOf(hits, misses),
      eventLoopLag: samples.sum('nodejs_eventloop_lag_p99_seconds'),
      memoryBytes: samples.sum('process_resident_memory_bytes'),
      cpu: cpu.length === 0 ? undefined : perSecond(total(cpu)),
    },
    queues: Object.fromEntries(queues[service].flatMap((queue) => waiting(samples, queue))),
  };
}

const total = (grown: readonly { readonly value: number }[]): number =>
  grown.reduce((sum, { value }) => sum + value, 0);

/** The request that asks is in flight too. */
const withoutOwn = (count: number | undefined): number | undefined =>
  count === undefined ? undefined : Math.max(0, count - 1);

function bucketsOf(grown: ReturnType<typeof increases>): Map<number, number> {
  const buckets = new Map<number, number>();
  for (const { labels, value } of grown) {
    const bound = labels.le === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels.le);
    if (!Number.isNaN(bound)) buckets.set(bound, (buckets.get(bound) ?? 0) + value);
  }
  return buckets;
}

function shareOf(hits: number | undefined, misses: number | undefined): number | undefined {
  if (hits === undefined || misses === undefined || hits + misses === 0) return undefined;
  return hits / (hits + misses);
}

/** Bounded: the names of queues come from a service. */
const maxQueues = 20;

function waiting(
  samples: Samples,
  { metric, label }: { readonly metric: string; readonly label?: string },
): [string, number][] {
  return samples
    .all(metric)
    .filter(({ value }) => Number.isFinite(value))
    .slice(0, maxQueues)
    .map(({ labels, value }) => [label === undefined ? metric : (labels[label] ?? metric), value]);
}
