/** Winc given, and winc taken back whatever the balance. */
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { readAmount } from '../../storage/sql/typed-rows.ts';
import {
  ChangeConflict,
  type Changed,
  type ClawbackRequest,
  type CreditRequest,
  MAX_WINC,
  type Winc,
  winc,
} from '../credits.ts';
import { append, type NewEntry, openAccount, readNotice, setBalance } from './accounts.ts';
import { callBackLent } from './approvals.ts';
import { tellIfLow, tellPaid, tellTaken } from './notices.ts';
import { takeOwn } from './spend.ts';
import { beginSpending } from './spendings.ts';

export async function credit(tx: SqlExecutor, request: CreditRequest, now: number): Promise<Changed> {
  const { address, addressType, amount, reason, id, payment, note, reserve } = request;
  assertAmount(amount);
  if (reserve !== undefined && (reserve.amount < 1n || reserve.amount > amount)) {
    throw new RangeError(`cannot reserve ${reserve.amount} of ${amount} winc`);
  }
  const entry = { account: address, amount, reason, changeId: id, line: 0, payment, note };
  const changed = await change(tx, entry, addressType, now);
  if (!changed.applied) return changed;
  const after =
    reserve === undefined ? changed : { applied: true, balance: await reserveOf(tx, address, reserve, now) };
  await tellPaid(tx, request, after, now);
  return after;
}

/** Part of what was just given; what the wallet had or owed before is not touched. */
async function reserveOf(
  tx: SqlExecutor,
  signer: string,
  { reason, id, amount }: NonNullable<CreditRequest['reserve']>,
  now: number,
): Promise<Winc> {
  const spending = { id, reason, state: 'reserved', signer, amount: amount.toString(), split: null } as const;
  const { row, began } = await beginSpending(tx, spending, undefined, now);
  if (!began || row.attempt > 1) throw new ChangeConflict(`${reason} ${id} was reserved before`);
  return winc(await takeOwn(tx, row, now));
}

export async function clawback(
  tx: SqlExecutor,
  request: ClawbackRequest,
  now: number,
  usualNotice: bigint,
): Promise<Changed> {
  const { address, addressType, amount, reason, id, note } = request;
  assertAmount(amount);
  const entry = { account: address, amount: -amount, reason, changeId: id, line: 0, note };
  const changed = await change(tx, entry, addressType, now);
  if (!changed.applied) return changed;
  const { balance } = changed;
  const after = {
    applied: true,
    balance: balance >= 0n ? balance : winc(await callBackLent(tx, address, balance, id, now)),
  };
  await tellTaken(tx, request, after, now);
  const noticeAt = (await readNotice(tx, address)) ?? usualNotice;
  await tellIfLow(tx, { address, before: balance + amount, after: after.balance, noticeAt }, now);
  return after;
}

async function change(tx: SqlExecutor, entry: NewEntry, type: string, now: number): Promise<Changed> {
  const balance = await openAccount(tx, entry.account, type, now);
  if (await append(tx, entry, now)) {
    const after = balance + entry.amount;
    await setBalance(tx, entry.account, after);
    return { applied: true, balance: winc(after) };
  }
  const made = await tx.get(
    'SELECT account, amount FROM credits_entries WHERE change_id = ? AND reason = ? AND line = 0',
    entry.changeId,
    entry.reason,
  );
  if (made?.account !== entry.account || readAmount(made.amount) !== entry.amount) {
    throw new ChangeConflict(`${entry.reason} ${entry.changeId} was made for another wallet or amount`);
  }
  return { applied: false, balance: winc(balance) };
}

function assertAmount(amount: bigint): void {
  if (amount < 1n || amount > MAX_WINC) throw new RangeError(`a change cannot be of ${amount} winc`);
}
