/** What operators watch of the meter, under the names that dashboards know. */
import type { Metrics } from '../../kernel/metrics.ts';
import type { Buckets } from './buckets.ts';

export function createMeterMetrics(metrics: Metrics, byClient: Buckets, byResource: Buckets) {
  metrics.shareGauge('rate_limit_clients', 'Clients that the meter remembers', () => byClient.size);
  metrics.shareGauge('rate_limit_resources', 'Resources that the meter remembers', () => byResource.size);
  return {
    requests: metrics.plainCounter('rate_limit_requests_total', 'Requests that came to the meter'),
    tokens: metrics.plainCounter('rate_limit_tokens_consumed_total', 'Regular tokens taken (KiB of body)'),
    paidTokens: metrics.plainCounter(
      'rate_limit_paid_tokens_consumed_total',
      'Paid tokens taken (KiB of body)',
    ),
    blockedBytes: metrics.plainCounter('rate_limit_bytes_blocked_total', 'Bytes that were refused'),
    exceeded: metrics.counter('rate_limit_exceeded_total', 'Requests that were refused', ['limit_type']),
    payments: metrics.counter('rate_limit_payments_total', 'Payments for reading', ['result']),
  };
}

export type MeterMetrics = ReturnType<typeof createMeterMetrics>;
