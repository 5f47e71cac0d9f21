/** Returns of unused credits: the wallet's routes, the operator's, and the work of sending. */
import type { RequestSignatures } from '../../credits/signatures/request-signatures.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import type { Part } from '../../kernel/part.ts';
import type { CreditReturns } from '../../payments/returns/credit-returns.ts';
import type { CreditReturn } from '../../payments/returns/returns.ts';
import { countReturns } from '../../payments/returns/rows.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import type { Authenticator } from '../auth/request-wallet.ts';
import { accountReturnsRoutes } from '../routes/account-returns.ts';
import { adminReturnsRoutes } from '../routes/admin/returns.ts';

export interface ReturnsPartDeps {
  readonly sql: Sql;
  readonly returns: CreditReturns;
  readonly auth: Authenticator;
  readonly signatures: RequestSignatures;
}

export function createReturnsPart(deps: ReturnsPartDeps): Part {
  const { sql, returns } = deps;
  return {
    name: 'returns',
    routes: (app) => accountReturnsRoutes(app, deps),
    adminRoutes: (app) => adminReturnsRoutes(app, sql, returns),
    start: async () => returns.start(),
    stop: () => returns.stop(),
    reports: () => returns.reports(),
  };
}

/** Counts how returns end, and those that wait for a person. */
export function returnMetrics(metrics: Metrics, sql: Sql): (order: CreditReturn) => void {
  const moved = metrics.counter('credit_returns_total', 'Returns of unused credits by how they ended', [
    'kind',
    'state',
  ]);
  metrics.slowGauge(
    'credit_returns_by_hand',
    'Returns that the operator has to send',
    () => countReturns(sql, 'by_hand'),
    2_000,
  );
  return ({ kind, state }) => moved.inc({ kind, state });
}
