/** What a wallet has and may use. Reads never show an expired approval: it is ended first. */
import type { Approval } from '../../formats/approval.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { readText } from '../../storage/sql/typed-rows.ts';
import { type Balance, winc } from '../credits.ts';
import type { AccountReads } from './account-reads.ts';
import { accountOfAddress, accountsOf, lockAccount } from './accounts.ts';
import {
  type ActiveApproval,
  activeBetween,
  activeOf,
  expireGivenBy,
  hasExpired,
  remaining,
  renderApproval,
} from './approvals.ts';

export async function readBalance(
  sql: Sql,
  accounts: AccountReads,
  address: string,
  now: number,
): Promise<Balance | undefined> {
  const read = await afterExpiry(sql, () => accounts.read(address), now);
  if (read.sameAs !== undefined) return readBalance(sql, accounts, read.sameAs, now);
  const { given, received } = bySide(read.approvals, address);
  if (read.own === undefined && received.length === 0) return undefined;
  const own = read.own ?? 0n;
  return {
    winc: winc(own),
    controlledWinc: winc(given.reduce((sum, row) => sum + remaining(row), own)),
    effectiveBalance: winc(received.reduce((sum, row) => sum + remaining(row), atLeastZero(own))),
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
async function afterExpiry<T extends { readonly approvals: readonly ActiveApproval[] }>(
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

function bySide(rows: readonly ActiveApproval[], account: string) {
  return {
    given: rows.filter((row) => row.payer === account),
    received: rows.filter((row) => row.payer !== account),
  };
}
