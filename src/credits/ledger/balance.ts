/** What a wallet has and may use. Reads never show an expired approval: it is ended first. */
import type { Sql } from '../../storage/sql/sql.ts';
import { type Approval, type Balance, winc } from '../credits.ts';
import { lockAccount } from './accounts.ts';
import {
  type ApprovalRow,
  activeBetween,
  activeOf,
  expireGivenBy,
  hasExpired,
  remaining,
  renderApproval,
} from './approvals.ts';

export async function readBalance(sql: Sql, address: string, now: number): Promise<Balance | undefined> {
  const approvals = await liveApprovals(sql, () => activeOf(sql, address), now);
  const account = await sql.get<{ balance: string }>(
    'SELECT balance FROM credits_accounts WHERE address = ?',
    address,
  );
  const { given, received } = bySide(approvals, address);
  if (account === undefined && received.length === 0) return undefined;
  const own = BigInt(account?.balance ?? '0');
  const lent = given.reduce((sum, row) => sum + remaining(row), 0n);
  const borrowed = received.reduce((sum, row) => sum + remaining(row), 0n);
  return {
    winc: winc(own),
    controlledWinc: winc(own + lent),
    effectiveBalance: winc((own > 0n ? own : 0n) + borrowed),
    givenApprovals: given.map(renderApproval),
    receivedApprovals: received.map(renderApproval),
  };
}

export async function readApprovals(
  sql: Sql,
  payer: string,
  approved: string,
  now: number,
): Promise<Approval[]> {
  const rows = await liveApprovals(sql, () => activeBetween(sql, payer, approved), now);
  return rows.map(renderApproval);
}

export async function readApprovalsOf(
  sql: Sql,
  address: string,
  now: number,
): Promise<Pick<Balance, 'givenApprovals' | 'receivedApprovals'>> {
  const { given, received } = bySide(await liveApprovals(sql, () => activeOf(sql, address), now), address);
  return { givenApprovals: given.map(renderApproval), receivedApprovals: received.map(renderApproval) };
}

/** Ends what has expired, payer by payer; answers how many approvals. */
export async function expireApprovals(sql: Sql, now: number, limit: number): Promise<number> {
  const rows = await sql.all<{ payer: string }>(
    `SELECT payer FROM credits_approvals WHERE status = 'active' AND expires_at <= ?
     ORDER BY expires_at LIMIT ?`,
    now,
    limit,
  );
  await expirePayers(sql, new Set(rows.map(({ payer }) => payer)), now);
  return rows.length;
}

async function liveApprovals(
  sql: Sql,
  read: () => Promise<ApprovalRow[]>,
  now: number,
): Promise<ApprovalRow[]> {
  const rows = await read();
  const expired = rows.filter((row) => hasExpired(row, now));
  if (expired.length === 0) return rows;
  await expirePayers(sql, new Set(expired.map(({ payer }) => payer)), now);
  return (await read()).filter((row) => !hasExpired(row, now));
}

async function expirePayers(sql: Sql, payers: Iterable<string>, now: number): Promise<void> {
  for (const payer of payers) {
    await sql.transaction(async (tx) => {
      const balance = await lockAccount(tx, payer);
      if (balance !== undefined) await expireGivenBy(tx, payer, balance, now);
    });
  }
}

function bySide(rows: readonly ApprovalRow[], address: string) {
  return {
    given: rows.filter((row) => row.payer === address),
    received: rows.filter((row) => row.approved === address),
  };
}
