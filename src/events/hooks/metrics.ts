import type { Counter, Metrics } from '../../kernel/metrics.ts';

export interface HookMetrics {
  readonly delivered: Pick<Counter<string>, 'inc'>;
  readonly failed: Pick<Counter<string>, 'inc'>;
  readonly dead: Pick<Counter<string>, 'inc'>;
}

export function createHookMetrics(metrics: Metrics): HookMetrics {
  return {
    delivered: metrics.counter('webhook_events_delivered_total', 'Events that webhooks took'),
    failed: metrics.counter(
      'webhook_attempts_failed_total',
      'Messages that a webhook did not take, each try',
    ),
    dead: metrics.counter('webhook_dead_letters_total', 'Messages that were given up'),
  };
}
