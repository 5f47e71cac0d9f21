/** What a wallet has and may use. Reads never show an expired approval: it is ended first. */
import type { Sql } from '../../storage/sql/sql.ts';
import { readAmount, readText } from '../../storage/sql/typed-rows.ts';
import { type Approval, type Balance, winc } from '../credits.ts';
import { accountOfAddress, accountsOf, lockAccount } from './accounts.ts';
import {
  type ApprovalRow,
  activeBetween,
  activeOf,
  balanceAndApprovals,
  expireGivenBy,
  hasExpired,
  remaining,
  renderApproval,
} from './approvals.ts';

/** Most wallets share nothing and have one form, so that their balance is one small statement. */
const ownBalance = `SELECT
  (SELECT balance FROM credits_accounts WHERE address = ?) AS own,
  (SELECT same_as FROM credits_accounts WHERE address = ?) AS same_as,
  EXISTS (SELECT 1 FROM credits_approvals WHERE payer = ? AND status = 'active')
    OR EXISTS (SELECT 1 FROM credits_approvals WHERE approved = ? AND status = 'active')
    OR EXISTS (SELECT 1 FROM credits_accounts
      JOIN credits_approvals ON credits_approvals.approved = credits_accounts.address
      WHERE credits_accounts.same_as = ? AND credits_approvals.status = 'active') AS shares`;

const nothing: readonly Approval[] = [];

export async function readBalance(sql: Sql, address: string, now: number): Promise<Balance | undefined> {
  const row = await sql.get(ownBalance, address, address, address, address, address);
  if (typeof row?.same_as === 'string') return readBalance(sql, row.same_as, now);
  if (row?.shares === 1) return readSharedBalance(sql, address, now);
  if (row === undefined || row.own === null) return undefined;
  const own = readAmount(row.own);
  return {
    winc: winc(own),
    controlledWinc: winc(own),
    effectiveBalance: winc(atLeastZero(own)),
    givenApprovals: nothing,
    receivedApprovals: nothing,
  };
}

async function readSharedBalance(sql: Sql, address: string, now: number): Promise<Balance | undefined> {
  const read = await afterExpiry(sql, () => balanceAndApprovals(sql, address), now);
  const { given, received } = bySide(read.approvals, address);
  if (read.own === undefined && received.length === 0) return undefined;
  const own = read.own ?? 0n;
  const lent = given.reduce((sum, row) => sum + remaining(row), 0n);
  const borrowed = received.reduce((sum, row) => sum + remaining(row), 0n);
  return {
    winc: winc(own),
    controlledWinc: winc(own + lent),
    effectiveBalance: winc(atLeastZero(own) + borrowed),
    givenApprovals: given.map(renderApproval),
    receivedApprovals: received.map(renderApproval),
  };
}

const atLeastZero = (amount: bigint): bigint => (amount > 0n ? amount : 0n);

export async function readApprovals(
  sql: Sql,
  payer: string,
  approved: string,
  now: number,
): Promise<Approval[]> {
  const accounts = await accountsOf(sql, [payer, approved]);
  const between = [accounts.get(payer) ?? payer, accounts.get(approved) ?? approved] as const;
  const read = async () => ({ approvals: await activeBetween(sql, ...between) });
  return (await afterExpiry(sql, read, now)).approvals.map(renderApproval);
}

export async function readApprovalsOf(
  sql: Sql,
  address: string,
  now: number,
): Promise<Pick<Balance, 'givenApprovals' | 'receivedApprovals'>> {
  const account = await accountOfAddress(sql, address);
  const read = async () => ({ approvals: await activeOf(sql, account) });
  const { given, received } = bySide((await afterExpiry(sql, read, now)).approvals, account);
  return { givenApprovals: given.map(renderApproval), receivedApprovals: received.map(renderApproval) };
}

/** Ends what has expired, payer by payer; answers how many approvals. */
export async function expireApprovals(sql: Sql, now: number, limit: number): Promise<number> {
  const rows = await sql.all(
    `SELECT payer FROM credits_approvals WHERE status = 'active' AND expires_at <= ?
     ORDER BY expires_at LIMIT ?`,
    now,
    limit,
  );
  await expirePayers(sql, new Set(rows.map((row) => readText(row.payer))), now);
  return rows.length;
}

/** What is read once every approval in it that has expired is ended. */
async function afterExpiry<T extends { readonly approvals: readonly ApprovalRow[] }>(
  sql: Sql,
  read: () => Promise<T>,
  now: number,
): Promise<T> {
  const seen = await read();
  const expired = seen.approvals.filter((row) => hasExpired(row, now));
  if (expired.length === 0) return seen;
  await expirePayers(sql, new Set(expired.map(({ payer }) => payer)), now);
  const again = await read();
  return { ...again, approvals: again.approvals.filter((row) => !hasExpired(row, now)) };
}

async function expirePayers(sql: Sql, payers: Iterable<string>, now: number): Promise<void> {
  for (const payer of payers) {
    await sql.transaction(async (tx) => {
      const balance = await lockAccount(tx, payer);
      if (balance !== undefined) await expireGivenBy(tx, payer, balance, now);
    });
  }
}

function bySide(rows: readonly ApprovalRow[], account: string) {
  return {
    given: rows.filter((row) => row.payer === account),
    received: rows.filter((row) => row.payer !== account),
  };
}
