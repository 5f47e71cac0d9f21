/**
 * Proves that the ledger adds up, while it is being used: a balance and the number of its last entry are
 * read in one statement, and since entries are only appended and each account's are made one after the
 * other, the entries up to that number must sum to that balance.
 *
 * 1. Every balance is the sum of its entries; a balance below zero was clawed back. The operator's loss account is
 *    one of them, and never above zero: no more is booked back than was lost. Another form of a wallet has nothing on it,
 *    and leads to what is no form itself.
 * 2. 0 ≤ used ≤ approved; an approval is active exactly while something is left and it has not ended; its
 *    account holds what is left, or nothing once it ended.
 * 3. A spending's entries sum to what it took; a refunded one's to nothing.
 * 4. No entry belongs to an account that is not there.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Type } from 'typebox';
import type { Row, SqlReader } from '../../storage/sql/sql.ts';
import {
  amountText,
  integerOrNull,
  readAmount,
  readInteger,
  readText,
  rowReader,
  textOrNull,
} from '../../storage/sql/typed-rows.ts';
import { LOSS_ACCOUNT, type SelfCheck } from '../credits.ts';
import { approvalAccount, isNameOf } from './accounts.ts';
import { approvalColumns, remaining } from './approvals.ts';
import { changeIdOf, spendingColumnList, spendingColumns } from './spendings.ts';

const MAX_PROBLEMS = 100;
const PAGE = 500;
const ROWS_PER_TURN = 50;
const ENTRIES_PAGE = 10_000;

export async function selfCheck(sql: SqlReader): Promise<SelfCheck> {
  const report = { accounts: 0, approvals: 0, spendings: 0, drift: 0n, losses: 0n, problems: [] as string[] };
  const problem = (sentence: string): void => {
    if (report.problems.length < MAX_PROBLEMS) report.problems.push(sentence);
  };
  await checkAccounts(sql, report, problem);
  await checkApprovals(sql, report, problem);
  await checkSpendings(sql, report, problem);
  await checkOrphans(sql, report, problem);
  const counted = await sql.get('SELECT COUNT(*) AS entries FROM credits_entries');
  return { ok: report.problems.length === 0, entries: readInteger(counted?.entries), ...report };
}

type Counted = 'accounts' | 'approvals' | 'spendings' | 'drift' | 'losses';
type Report = { -readonly [Name in Counted]: SelfCheck[Name] };

type Problem = (sentence: string) => void;

const readAccountRow = rowReader(
  'an account',
  Type.Object({
    address: Type.String(),
    balance: amountText,
    same_as: textOrNull,
    further: textOrNull,
    last: integerOrNull,
  }),
);
const readApprovalRow = rowReader('an approval', Type.Object({ ...approvalColumns, last: integerOrNull }));
const readSpendingRow = rowReader('a spending', Type.Object({ ...spendingColumns, last: integerOrNull }));

async function checkAccounts(sql: SqlReader, report: Report, problem: Problem): Promise<void> {
  const pages = keysetPages(readAccountRow, (end) =>
    sql.all(
      `SELECT address, balance, same_as,
         (SELECT next.same_as FROM credits_accounts AS next WHERE next.address = credits_accounts.same_as) AS further,
         (SELECT MAX(sequence) FROM credits_entries WHERE account = credits_accounts.address) AS last
       FROM credits_accounts WHERE address > ? ORDER BY address LIMIT ${PAGE}`,
      end?.address ?? '',
    ),
  );
  for await (const { address, balance, same_as: account, further, last } of pages) {
    if (account === null) report.accounts += 1;
    else if (balance !== '0' || further !== null) {
      problem(
        `${address} is another form of ${account}, which is ${further ?? 'its account'}, and has ${balance} winc`,
      );
    }
    const sum = await sumOf(sql, address, last ?? 0);
    report.drift += BigInt(balance) - sum;
    if (sum !== BigInt(balance)) problem(`${address} has ${balance} winc but its entries sum to ${sum}`);
    if (BigInt(balance) < 0n && !(await wasClawedBack(sql, address))) {
      problem(`${address} is below zero without a clawback`);
    }
    if (address !== LOSS_ACCOUNT.address) continue;
    report.losses = -BigInt(balance);
    if (BigInt(balance) > 0n) problem(`${address} has ${balance} winc: more was booked back than was lost`);
  }
}

async function checkApprovals(sql: SqlReader, report: Report, problem: Problem): Promise<void> {
  const pages = keysetPages(readApprovalRow, (end) =>
    sql.all(
      `SELECT credits_approvals.*,
         (SELECT MAX(sequence) FROM credits_entries WHERE account = 'approval:' || credits_approvals.id) AS last
       FROM credits_approvals WHERE id > ? ORDER BY id LIMIT ${PAGE}`,
      end?.id ?? '',
    ),
  );
  for await (const row of pages) {
    report.approvals += 1;
    const rest = remaining(row);
    const held = row.status === 'active' ? rest : 0n;
    const sum = await sumOf(sql, approvalAccount(row.id), row.last ?? 0);
    report.drift += held - sum;
    if (sum !== held) problem(`approval ${row.id} holds ${held} winc but its entries sum to ${sum}`);
    if (BigInt(row.used) < 0n || rest < 0n)
      problem(`approval ${row.id} has used ${row.used} of ${row.amount}`);
    if ((row.status === 'active' && rest === 0n) || (row.status === 'used' && rest !== 0n)) {
      problem(`approval ${row.id} is ${row.status} with ${rest} winc left`);
    }
  }
}

async function checkSpendings(sql: SqlReader, report: Report, problem: Problem): Promise<void> {
  const pages = keysetPages(readSpendingRow, (end) =>
    sql.all(
      `SELECT ${spendingColumnList},
         (SELECT MAX(sequence) FROM credits_entries
          WHERE change_id = CASE attempt WHEN 1 THEN id ELSE id || '#' || attempt END) AS last
       FROM credits_spendings WHERE (id, reason) > (?, ?) ORDER BY id, reason LIMIT ${PAGE}`,
      end?.id ?? '',
      end?.reason ?? '',
    ),
  );
  for await (const row of pages) {
    report.spendings += 1;
    const entries = await sql.all(
      'SELECT amount FROM credits_entries WHERE change_id = ? AND reason IN (?, ?) AND sequence <= ?',
      changeIdOf(row),
      row.reason,
      `refunded_${row.reason}`,
      row.last ?? 0,
    );
    const taken = entries.reduce((sum, { amount }) => sum - readAmount(amount), 0n);
    const expected = row.state === 'refunded' ? 0n : BigInt(row.amount);
    if (taken !== expected) {
      problem(`${row.reason} ${row.id} is ${row.state} with ${expected} winc but its entries took ${taken}`);
    }
  }
}

async function checkOrphans(sql: SqlReader, report: Report, problem: Problem): Promise<void> {
  const orphans = await sql.all(
    `SELECT DISTINCT account FROM credits_entries
     WHERE NOT EXISTS (SELECT 1 FROM credits_accounts WHERE address = credits_entries.account)
       AND NOT EXISTS (SELECT 1 FROM credits_approvals WHERE 'approval:' || id = credits_entries.account)
     LIMIT ${MAX_PROBLEMS}`,
  );
  for (const orphan of orphans) {
    const account = readText(orphan.account);
    report.drift -= await sumOf(sql, account, Number.MAX_SAFE_INTEGER);
    problem(`${account} has entries but no account`);
  }
}

async function wasClawedBack(sql: SqlReader, address: string): Promise<boolean> {
  const row = await sql.get(
    `SELECT 1 AS found FROM credits_entries
     WHERE ${isNameOf('account')} AND reason IN ('chargeback', 'card_refund') LIMIT 1`,
    address,
    address,
  );
  return row !== undefined;
}

/** Sum of an account's entries up to one of them, read in pages. */
async function sumOf(sql: SqlReader, account: string, last: number): Promise<bigint> {
  let sum = 0n;
  let after = 0;
  for (;;) {
    const rows = await sql.all(
      `SELECT sequence, amount FROM credits_entries
       WHERE account = ? AND sequence > ? AND sequence <= ? ORDER BY sequence LIMIT ${ENTRIES_PAGE}`,
      account,
      after,
      last,
    );
    for (const row of rows) sum += readAmount(row.amount);
    const end = rows.at(-1);
    if (end === undefined || rows.length < ENTRIES_PAGE) return sum;
    after = readInteger(end.sequence);
  }
}

/** Rows in the order of their key, page by page; each page begins after the end of the one before. */
async function* keysetPages<T>(
  read: (row: unknown) => T,
  page: (end: T | undefined) => Promise<Row[]>,
): AsyncGenerator<T> {
  let end: T | undefined;
  for (;;) {
    const rows = (await page(end)).map(read);
    for (const [index, row] of rows.entries()) {
      // Embedded reads finish within the turn; others are let in between.
      if (index % ROWS_PER_TURN === 0) await nextTurn();
      yield row;
    }
    end = rows.at(-1);
    if (rows.length < PAGE) return;
  }
}
