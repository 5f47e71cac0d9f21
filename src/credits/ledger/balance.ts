/** What a wallet has and may use. Reads never show an expired approval: it is ended first. */
import type { Sql } from '../../storage/sql/sql.ts';
import { type Approval, type Balance, winc } from '../credits.ts';
import { lockAccount } from './accounts.ts';
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

interface OwnRow {
  readonly own: string | null;
  readonly shares: number;
}

/** Most wallets share nothing, so their balance is one small statement. */
const ownBalance = `SELECT
  (SELECT balance FROM credits_accounts WHERE address = ?) AS own,
  EXISTS (SELECT 1 FROM credits_approvals WHERE payer = ? AND status = 'active')
    OR EXISTS (SELECT 1 FROM credits_approvals WHERE approved = ? AND status = 'active') AS shares`;

const nothing: readonly Approval[] = [];

export async function readBalance(sql: Sql, address: string, now: number): Promise<Balance | undefined> {
  const row = await sql.get<OwnRow>(ownBalance, address, address, address);
  if (row?.shares === 1) return readSharedBalance(sql, address, now);
  if (row === undefined || row.own === null) return undefined;
  const own = BigInt(row.own);
  return {
    winc: winc(own),
    controlledWinc: winc(own),
    effectiveBalance: winc(atLeastZero(own)),
    givenApprovals: nothing,
    receivedApprovals: nothing,
  };
}

/** Balance and approvals in one statement, so that winc on its way between them is seen exactly once. */
async function readSharedBalance(sql: Sql, address: string, now: number): Promise<Balance | undefined> {
  const rows = await liveApprovals(sql, () => balanceAndApprovals(sql, address), now);
  const { given, received } = bySide(rows, address);
  const account = rows[0]?.own;
  if (account == null && received.length === 0) return undefined;
  const own = BigInt(account ?? '0');
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

async function liveApprovals<T extends ApprovalRow>(
  sql: Sql,
  read: () => Promise<T[]>,
  now: number,
): Promise<T[]> {
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
