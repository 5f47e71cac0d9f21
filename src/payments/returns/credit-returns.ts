/** Returns put together: rules, the ways back, and the worker that makes them crash-safe. */
import type { Config } from '../../config/config.ts';
import { type Credits, winc } from '../../credits/credits.ts';
import type { RunReport } from '../../kernel/background/run-record.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { refuseReturn, retryReturn, settleReturn } from './by-hand.ts';
import { type ReturnRequest, requestReturn } from './request.ts';
import { type ReturnablePayment, returnablePayments } from './returnable.ts';
import type { CreditReturn, ReturnRules } from './returns.ts';
import { returnsOf } from './rows.ts';
import type { WaysBack } from './ways/ways.ts';
import { ReturnWorker } from './worker.ts';

export interface CreditReturns {
  readonly rules: ReturnRules;
  /** Payments of a wallet within the window, and what of each can be returned. */
  returnable(address: string): Promise<readonly ReturnablePayment[]>;
  /** Returns of a wallet, the newest first. */
  of(address: string, limit: number): Promise<readonly CreditReturn[]>;
  /** Throws `ReturnRefused`; nothing has changed then. */
  request(request: ReturnRequest): Promise<{ readonly made: CreditReturn; readonly isNew: boolean }>;
  /** Whether the service sends it by itself. */
  isSentByService(order: Pick<ReturnablePayment, 'kind' | 'chain' | 'token'>): boolean;
  /** For the operator: see `by-hand.ts`. */
  settle(id: string, transaction: string): Promise<boolean>;
  refuse(id: string, reason: string): Promise<boolean>;
  retry(id: string): Promise<boolean>;
  start(): void;
  stop(): Promise<void>;
  /** Resolves when everything that was due has been dealt with or put off. */
  settled(): Promise<void>;
  reports(): readonly RunReport[];
}

export interface CreditReturnsDeps {
  /** The `ledger` database, with `returnsMigrations`. */
  readonly sql: Sql;
  readonly credits: Credits;
  readonly log: Logger;
  readonly ways: WaysBack;
  onMoved?(order: CreditReturn): void;
  /** Unix milliseconds. */
  readonly now?: () => number;
}

const dayMs = 86_400_000;
const recheckMs = 1_000;

export function returnRules(
  config: Pick<Config, 'RETURN_WINDOW_DAYS' | 'RETURN_FEE_PERCENT' | 'RETURN_MINIMUM_CREDITS'>,
): ReturnRules {
  return {
    windowMs: config.RETURN_WINDOW_DAYS * dayMs,
    feeBasisPoints: BigInt(Math.round(config.RETURN_FEE_PERCENT * 100)),
    minimumWinc: winc(BigInt(Math.round(config.RETURN_MINIMUM_CREDITS * 1e12))),
  };
}

export function createCreditReturns(rules: ReturnRules, deps: CreditReturnsDeps): CreditReturns {
  const { sql, credits, log, ways, onMoved, now = Date.now } = deps;
  const worker = new ReturnWorker({
    ...{ sql, credits, log, now, recheckMs, wayOf: (order) => ways.wayOf(order) },
    ...(onMoved && { onMoved }),
  });
  const byHand = { sql, credits, now, readerOf: (order: CreditReturn) => ways.readerOf(order) };
  return {
    rules,
    returnable: (address) => returnablePayments(sql, address, rules, now()),
    of: (address, limit) => returnsOf(sql, address, limit),
    async request(request) {
      const answer = await requestReturn({ sql, credits, rules, now }, request);
      if (answer.isNew) worker.wake();
      return answer;
    },
    isSentByService: (order) => ways.wayOf(order) !== undefined,
    settle: (id, transaction) => settleReturn(byHand, id, transaction),
    refuse: (id, reason) => refuseReturn(byHand, id, reason),
    async retry(id) {
      const isDue = await retryReturn(sql, id, now());
      if (isDue) worker.wake();
      return isDue;
    },
    start: () => worker.start(),
    async stop() {
      await worker.stop();
      await ways.close();
    },
    settled: () => worker.settled(),
    reports: () => worker.reports(),
  };
}
