/** Counters and gauges of the names surface, on the registry of the server it is mounted on. */
import type { Metrics } from '../kernel/metrics.ts';

export interface NamesMetrics {
  action(action: string, outcome: string): void;
  refund(reason: string): void;
  quote(outcome: 'success' | 'failed'): void;
  sponsor(lamports: bigint, tokens: bigint): void;
}

/** Of what a chain is asked for. */
const freshMs = 10_000;

/** `names`: how many are registered. */
export function createNamesMetrics(metrics: Metrics, names: () => Promise<number>): NamesMetrics {
  metrics.slowGauge('arns_names', 'Names that are registered', names, freshMs);
  const actions = metrics.counter('arns_actions_total', 'Name actions by outcome', ['action', 'outcome']);
  const refunds = metrics.counter('arns_action_refunds_total', 'Refunded name actions by reason', ['reason']);
  const quoted = metrics.counter('arns_purchase_quote_success', 'Card quotes for names');
  const unquoted = metrics.counter('arns_purchase_quote_failed', 'Card quotes for names that failed');
  const lamports = metrics.gauge('arns_sponsor_lamports', 'Lamports of the key that pays for names');
  const tokens = metrics.gauge(
    'arns_sponsor_mtokens',
    'Name tokens, in their smallest unit, of the same key',
  );
  return {
    action: (action, outcome) => actions.inc({ action, outcome }),
    refund: (reason) => refunds.inc({ reason }),
    quote: (outcome) => (outcome === 'success' ? quoted : unquoted).inc(),
    sponsor: (sol, mtoken) => {
      lamports.set(Number(sol));
      tokens.set(Number(mtoken));
    },
  };
}
