/** Giving back along the split: each share to where it came from, or to its payer when the approval ended. */
import { forgetUploadUses } from '../../pricing/catalogue/upload-uses.ts';
import { changeOne } from '../../storage/sql/change-one.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { readInteger } from '../../storage/sql/typed-rows.ts';
import type { PayerShare, Spending, SpendReason } from '../credits.ts';
import { accountsOf, appendNew, approvalAccount, Locked, lockAccounts, setBalance } from './accounts.ts';
import { type ApprovalRow, hasExpired, readApproval } from './approvals.ts';
import { tellRefunded } from './notices.ts';
import {
  changeIdOf,
  endSpending,
  readSpending,
  readSplit,
  renderSpending,
  type SpendingRow,
  useKeyOf,
} from './spendings.ts';

export async function refund(
  tx: SqlExecutor,
  reason: SpendReason,
  id: string,
  now: number,
): Promise<Spending | undefined> {
  const row = await lockSpending(tx, reason, id);
  if (row === undefined || row.state === 'refunded') return undefined;
  const { locked, returned } = await giveBack(tx, row, readSplit(row), now);
  // An upload that was paid for and failed is told by whoever gives it up.
  if (reason !== 'upload' || row.state === 'reserved') await tellRefunded(tx, row, returned, locked, now);
  await endSpending(tx, row, 'refunded', BigInt(row.amount), row.split, now);
  await forgetUploadUses(tx, useKeyOf(row));
  return renderSpending({ ...row, state: 'refunded' }, true);
}

/** The spending's row with everyone who paid: accounts first, the order in which spending locks them. */
export async function lockSpending(
  tx: SqlExecutor,
  reason: SpendReason,
  id: string,
): Promise<SpendingRow | undefined> {
  const seen = await readSpending(tx, reason, id);
  if (seen === undefined || seen.state === 'refunded') return seen;
  const named = [seen.signer, ...readSplit(seen).map(({ payer }) => payer)];
  await lockAccounts(tx, [...(await accountsOf(tx, named)).values()]);
  return readSpending(tx, reason, id, true);
}

/** The payers' balances since, and the shares with their payers as their accounts are called. */
interface GivenBack {
  readonly locked: Locked;
  readonly returned: readonly PayerShare[];
}

/** Writes the entries and moves the balances and approvals back. */
export async function giveBack(
  tx: SqlExecutor,
  row: SpendingRow,
  shares: readonly PayerShare[],
  now: number,
): Promise<GivenBack> {
  if (shares.length === 0) return { locked: new Locked(), returned: [] };
  const accounts = await accountsOf(
    tx,
    shares.map(({ payer }) => payer),
  );
  const locked = await lockAccounts(tx, [...accounts.values()]);
  const reason = `refunded_${row.reason}` as const;
  const changeId = changeIdOf(row);
  let line = await nextLine(tx, reason, changeId);
  for (const { payer: named, amount, approvalId } of shares) {
    const payer = accounts.get(named) ?? named;
    const owes = (locked.get(payer) ?? 0n) < 0n;
    const restored = approvalId !== undefined && (await restoreApproval(tx, approvalId, amount, owes, now));
    if (!restored) {
      const balance = (locked.get(payer) ?? 0n) + amount;
      locked.set(payer, balance);
      await setBalance(tx, payer, balance);
    }
    const account = restored ? approvalAccount(approvalId) : payer;
    await appendNew(tx, { account, amount, reason, changeId, line }, now);
    line += 1;
  }
  const returned = shares.map((share) => ({ ...share, payer: accounts.get(share.payer) ?? share.payer }));
  return { locked, returned };
}

/** Lowers what was used; false when the approval ended, or its payer owes, so that the winc is the payer's again. */
async function restoreApproval(
  tx: SqlExecutor,
  id: string,
  amount: bigint,
  payerOwes: boolean,
  now: number,
): Promise<boolean> {
  const row = await readApproval(tx, id);
  const used = (BigInt(row.used) - amount).toString();
  // One that is used up holds nothing, so that its expiry is only a label; an active one still holds its rest.
  const lives = row.status === 'active' || (row.status === 'used' && !payerOwes && !hasExpired(row, now));
  const status = lives ? 'active' : row.status === 'used' ? endOf(row, now) : row.status;
  await changeOne(
    tx,
    'UPDATE credits_approvals SET used = ?, status = ?, ended_at = ? WHERE id = ?',
    used,
    status,
    lives ? null : (row.ended_at ?? now),
    id,
  );
  return lives;
}

const endOf = (row: ApprovalRow, now: number) => (hasExpired(row, now) ? 'expired' : 'revoked');

/** The first line number that a change has not used yet. */
async function nextLine(tx: SqlExecutor, reason: string, changeId: string): Promise<number> {
  const row = await tx.get(
    'SELECT COALESCE(MAX(line) + 1, 0) AS next FROM credits_entries WHERE change_id = ? AND reason = ?',
    changeId,
    reason,
  );
  return readInteger(row?.next);
}
