/**
 * The ledger on SQL. One file per kind of change, each a function of the caller's transaction; this one
 * binds them to a database and a clock.
 */
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import type { CreditChanges, Credits, SpendRequest } from '../credits.ts';
import { approve, revoke } from './approvals.ts';
import { assign } from './assign.ts';
import { expireApprovals, readApprovals, readApprovalsOf, readBalance } from './balance.ts';
import { clawback, credit } from './credit.ts';
import { hasPaid, readEntries, readPayments } from './history.ts';
import { previewSpending } from './payers.ts';
import { refund } from './refund.ts';
import { selfCheck } from './self-check.ts';
import { settle, take } from './spend.ts';
import { readSpending, renderSpending } from './spendings.ts';

export interface CreditsOptions {
  /** The `ledger` database, with `creditsMigrations`. */
  readonly sql: Sql;
  /** Unix milliseconds. */
  readonly now?: () => number;
}

const EXPIRED_AT_ONCE = 1_000;

export function createCredits({ sql, now = Date.now }: CreditsOptions): Credits {
  const within = (tx: SqlExecutor): CreditChanges => ({
    credit: (request) => credit(tx, request, now()),
    clawback: (request) => clawback(tx, request, now()),
    reserve: (request) => take(tx, request, 'reserved', now()),
    settle: (reason, id, amount) => settle(tx, reason, id, amount, now()),
    spend: (request) => take(tx, request, 'settled', now()),
    refund: (reason, id) => refund(tx, reason, id, now()),
    assign: (reason, from, to, amount) => assign(tx, reason, from, to, amount, now()),
    approve: (request) => approve(tx, request, now()),
    revoke: (request) => revoke(tx, request, now()),
  });
  return {
    within,
    credit: (request) => sql.transaction((tx) => credit(tx, request, now())),
    clawback: (request) => sql.transaction((tx) => clawback(tx, request, now())),
    reserve: (request) => sql.transaction((tx) => take(tx, request, 'reserved', now())),
    settle: (reason, id, amount) => sql.transaction((tx) => settle(tx, reason, id, amount, now())),
    spend: (request) => sql.transaction((tx) => take(tx, request, 'settled', now())),
    refund: (reason, id) => sql.transaction((tx) => refund(tx, reason, id, now())),
    assign: (reason, from, to, amount) =>
      sql.transaction((tx) => assign(tx, reason, from, to, amount, now())),
    approve: (request) => sql.transaction((tx) => approve(tx, request, now())),
    revoke: (request) => sql.transaction((tx) => revoke(tx, request, now())),

    balance: (address) => readBalance(sql, address, now()),
    preview: (request: SpendRequest) => previewSpending(sql, request, now()),
    async spending(reason, id) {
      const row = await readSpending(sql, reason, id);
      return row === undefined ? undefined : renderSpending(row, false);
    },
    approvals: (payer, approved) => readApprovals(sql, payer, approved, now()),
    approvalsOf: (address) => readApprovalsOf(sql, address, now()),
    expireApprovals: (limit = EXPIRED_AT_ONCE) => expireApprovals(sql, now(), limit),
    entries: (account, page) => readEntries(sql, account, page),
    payments: (address, page) => readPayments(sql, address, page),
    hasPaid,
    selfCheck: () => selfCheck(sql),
  };
}
