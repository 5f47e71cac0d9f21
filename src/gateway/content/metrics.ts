/** What operators watch of the content side, under the names that dashboards know. */
import type { Metrics } from '../../kernel/metrics.ts';

export function createContentMetrics(metrics: Metrics) {
  const opened = metrics.counter('get_data_stream_successes_total', 'Reads that a source answered', [
    'source',
  ]);
  const failed = metrics.counter('get_data_errors_total', 'Reads that a source failed', ['source']);
  return {
    sharedFailures: metrics.counter('shared_content_failures_total', 'Times that the shared store failed'),
    cacheHits: metrics.counter('contiguous_data_cache_hit_total', 'Reads answered from the cache'),
    cacheMisses: metrics.counter('contiguous_data_cache_miss_total', 'Reads that were not in the cache'),
    cacheFailures: metrics.counter(
      'contiguous_data_cache_failures_total',
      'Times that the cache could not be written or read, and reads went on without it',
    ),
    cacheCorruption: metrics.counter(
      'contiguous_data_cache_corruption_total',
      'Cached files that were damaged, removed and not served',
    ),
    disconnects: metrics.counter('client_disconnects_total', 'Readers that left before the end'),
    nameHits: metrics.counter('arns_cache_hit_total', 'Names answered from memory'),
    nameMisses: metrics.counter('arns_cache_miss_total', 'Names that were asked for'),
    opened: (source: string) => opened.inc({ source }),
    failed: (source: string) => failed.inc({ source }),
  };
}

export type ContentMetrics = ReturnType<typeof createContentMetrics>;
