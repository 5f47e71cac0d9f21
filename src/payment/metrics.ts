/** What operators count. */
import type { Credits } from '../credits/credits.ts';
import type { Metrics } from '../kernel/metrics.ts';
import type { Pricing } from '../pricing/pricing.ts';

export type PaymentMetrics = ReturnType<typeof paymentMetrics>;

/** Of figures that the ledger is asked for. */
const freshMs = 2_000;

export function paymentMetrics(metrics: Metrics, pricing: Pricing, credits: Pick<Credits, 'sold'>) {
  const sold = async () => Number(await credits.sold());
  metrics.slowGauge('credits_sold_winc', 'Winc that payments have brought, in all', sold, freshMs);
  for (const oracle of ['rates', 'network'] as const) {
    metrics.gauge(`${oracle}_oracle_age_seconds`, `Age of what the ${oracle} oracle last said`, [], () => {
      return pricing.oracleAges()[oracle] ?? -1;
    });
  }
  return {
    topUps: metrics.counter('chain_top_ups_winc_total', 'Winc credited by chain payments'),
    chainCredited: metrics.counter('chain_payment_credited_total', 'Chain payments credited', ['token']),
    chainFailed: metrics.counter('chain_payment_failed_total', 'Chain payments that failed', [
      'token',
      'reason',
    ]),
    pendingJobFailures: metrics.counter(
      'credit_pending_tx_job_failure',
      'Runs of the job that credits pending transactions that failed',
    ),
    ledgerDrift: metrics.gauge(
      'ledger_drift_winc',
      'Winc by which balances differ from their entries; not a number while that is not known',
    ),
    ledgerUnchecked: metrics.gauge(
      'ledger_unchecked',
      'Whether the ledger is damaged or could not be checked',
    ),
  };
}
