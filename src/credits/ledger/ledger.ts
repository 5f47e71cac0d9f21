/**
 * The ledger on SQL. One file per kind of change, each a function of the caller's transaction; this one
 * binds them to a database and a clock.
 */
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import { type CreditChanges, type Credits, type SpendRequest, winc } from '../credits.ts';
import { AccountReads } from './account-reads.ts';
import { readHolds, sinceDays, spendingByDay } from './account-use.ts';
import { accountOfAddress, namesOf, readNotice, setNotice } from './accounts.ts';
import { approve, revoke } from './approvals.ts';
import { expireApprovals, readApprovals, readApprovalsOf, readBalance } from './balance.ts';
import { clawback, credit } from './credit.ts';
import { hasPaid, readEntries, readPayments } from './history.ts';
import { previewSpending, settlingQueue, spendingQueue } from './payers.ts';
import { refund } from './refund.ts';
import { selfCheck } from './self-check.ts';
import { createSold } from './sold.ts';
import { assign, settle, take } from './spend.ts';
import { readSpending, renderSpending } from './spendings.ts';
import { Uniting } from './unite.ts';

export interface CreditsOptions {
  /** The `ledger` database, with `creditsMigrations`. */
  readonly sql: Sql;
  /** Unix milliseconds. */
  readonly now?: () => number;
  /** Wallets that have not chosen are told when their balance falls below this; 0: they are not. */
  readonly noticeWinc?: bigint;
}

const EXPIRED_AT_ONCE = 1_000;

export function createCredits({ sql, now = Date.now, noticeWinc = 0n }: CreditsOptions): Credits {
  const within = (tx: SqlExecutor, letNext?: () => void): CreditChanges => ({
    credit: (request) => credit(tx, request, now()),
    clawback: (request) => clawback(tx, request, now(), noticeWinc),
    reserve: (request) => take(tx, request, 'reserved', { now: now(), usualNotice: noticeWinc, letNext }),
    settle: (reason, id, amount) => settle(tx, reason, id, amount, now()),
    spend: (request) => take(tx, request, 'settled', { now: now(), usualNotice: noticeWinc, letNext }),
    refund: (reason, id) => refund(tx, reason, id, now()),
    assign: (reason, from, to, amount) => assign(tx, reason, from, to, amount, now()),
    approve: (request) => approve(tx, request, now(), noticeWinc),
    revoke: (request) => revoke(tx, request, now()),
  });
  const uniting = new Uniting(sql, now);
  const accounts = new AccountReads(sql);
  const alone = <T>(change: (changes: CreditChanges) => Promise<T>, queue?: string): Promise<T> =>
    sql.transaction((tx, letNext) => change(within(tx, letNext)), queue);
  return {
    within,
    credit: (request) => alone((changes) => changes.credit(request)),
    clawback: (request) => alone((changes) => changes.clawback(request)),
    reserve: (request) => alone((changes) => changes.reserve(request), spendingQueue(request)),
    settle: (reason, id, amount) =>
      alone((changes) => changes.settle(reason, id, amount), settlingQueue(reason, id, amount)),
    spend: (request) => alone((changes) => changes.spend(request), spendingQueue(request)),
    refund: (reason, id) => alone((changes) => changes.refund(reason, id)),
    assign: (reason, from, to, amount) => alone((changes) => changes.assign(reason, from, to, amount)),
    approve: (request) => alone((changes) => changes.approve(request)),
    revoke: (request) => alone((changes) => changes.revoke(request)),

    unite: ({ wallet, others }) => uniting.unite({ account: wallet.address, others }),
    namesOf: (address) => namesOf(sql, address),
    uniteStored: () => uniting.uniteStored(),

    async balance(address) {
      await uniting.uniteAddress(address);
      return readBalance(sql, accounts, address, now());
    },
    preview: (request: SpendRequest) => previewSpending(sql, request, now()),
    async spending(reason, id) {
      const row = await readSpending(sql, reason, id);
      return row === undefined ? undefined : renderSpending(row, false);
    },
    approvals: (payer, approved) => readApprovals(sql, payer, approved, now()),
    async approvalsOf(address) {
      await uniting.uniteAddress(address);
      return readApprovalsOf(sql, address, now());
    },
    expireApprovals: (limit = EXPIRED_AT_ONCE) => expireApprovals(sql, now(), limit),
    async notice(address) {
      const own = await readNotice(sql, await accountOfAddress(sql, address));
      return { winc: winc(own ?? noticeWinc), own: own !== undefined };
    },
    async setNotice(address, amount) {
      return setNotice(sql, await accountOfAddress(sql, address), amount);
    },
    entries: (account, page) => readEntries(sql, account, page),
    async payments(address, page) {
      await uniting.uniteAddress(address);
      return readPayments(sql, address, page);
    },
    hasPaid,
    spendingByDay: (address, days) => spendingByDay(sql, address, sinceDays(days, now())),
    holds: (address, limit) => readHolds(sql, address, limit),
    sold: createSold(sql, now),
    selfCheck: () => selfCheck(sql),
  };
}
