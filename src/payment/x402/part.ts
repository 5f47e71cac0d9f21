/** Topping up with x402: the route, and the background work of the payments behind it. */
import type { Metrics } from '../../kernel/metrics.ts';
import type { Part } from '../../kernel/part.ts';
import type { X402Deps } from '../../payments/x402/x402-payments.ts';
import { type X402TopUpDeps, x402TopUpRoute } from '../routes/x402-top-up.ts';

export function createX402Part(deps: X402TopUpDeps): Part {
  const { x402 } = deps;
  return {
    name: 'x402',
    routes: (app) => x402TopUpRoute(app, deps),
    start: () => x402.start(),
    stop: () => x402.stop(),
    reports: () => x402.reports(),
  };
}

/** Counts how settlements end. */
export function x402Metrics(metrics: Metrics): NonNullable<X402Deps['onSettlement']> {
  const settled = metrics.counter('x402_settlement_total', 'x402 settlements by how they ended', [
    'network',
    'result',
  ]);
  return (network, result) => settled.inc({ network, result });
}
