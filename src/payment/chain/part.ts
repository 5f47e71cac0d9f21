/** Topping up by a chain transaction: the report route, and the job that looks again at what waits. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../config/config.ts';
import { createJob } from '../../kernel/background/job.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Part } from '../../kernel/part.ts';
import { ChainPayments, type ChainPaymentsOptions } from '../../payments/chain/chain-payments.ts';
import { normalizeAddress } from '../../wallets/address.ts';
import type { PaymentMetrics } from '../metrics.ts';
import { reportTransactionRoute } from '../routes/report-transaction.ts';

export interface ChainPartDeps extends Pick<ChainPaymentsOptions, 'sql' | 'credits' | 'pricing' | 'tokens'> {
  readonly log: Logger;
  readonly metrics: PaymentMetrics;
}

export interface ChainPart extends Required<Pick<Part, 'name' | 'routes' | 'jobs' | 'stop'>> {
  readonly payments: ChainPayments;
}

/** In normal form. */
export const excludedWallets = (
  config: Pick<Config, 'CRYPTO_FUND_EXCLUDED_ADDRESSES'>,
): ReadonlySet<string> =>
  new Set(config.CRYPTO_FUND_EXCLUDED_ADDRESSES.map((address) => normalizeAddress(address) ?? address));

export function createChainPart(config: Config, deps: ChainPartDeps): ChainPart {
  const { sql, log, credits, pricing, tokens, metrics } = deps;
  const payments = new ChainPayments({
    sql,
    credits,
    pricing,
    tokens,
    excludedSenders: excludedWallets(config),
    attempts: config.MAX_PAYMENT_TX_POLLING_ATTEMPTS,
    firstPauseMs: config.PAYMENT_TX_POLLING_WAIT_TIME_MS,
    maxPauseMs: config.MAX_PAYMENT_TX_POLLING_DELAY_MS,
    forgetAfterMs: config.PENDING_PAYMENT_FORGET_MS,
    recheckMs: config.PENDING_PAYMENT_RECHECK_MS,
    rateMs: config.PENDING_PAYMENT_RATE_MS,
    lookUpsPerMinute: config.UNKNOWN_PAYMENTS_PER_MINUTE,
    sleep,
    onCredited({ token, winc, transaction_id: id, destination }) {
      metrics.chainCredited.inc({ token });
      metrics.topUps.inc(Number(winc));
      log.info({ token, winc, id, destination }, 'chain payment credited');
    },
    onFailed({ token, transaction_id: id }, reason) {
      metrics.chainFailed.inc({ token, reason });
      log.warn({ token, id, reason }, 'chain payment failed');
    },
  });
  const creditPending = createJob({
    name: 'credit pending transactions',
    everyMs: config.PENDING_PAYMENT_RECHECK_MS,
    log,
    run: () => payments.checkPending(),
    onFailure: () => metrics.pendingJobFailures.inc(),
  });
  return {
    name: 'chain',
    payments,
    routes: (app) => reportTransactionRoute(app, payments, config.TRUSTED_PROXY_COUNT),
    jobs: [creditPending],
    async stop() {
      await Promise.all([...tokens.values()].map(({ reader }) => reader.close?.()));
    },
  };
}
