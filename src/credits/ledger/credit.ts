/** Winc given, and winc taken back whatever the balance. */
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { readAmount, readText } from '../../storage/sql/typed-rows.ts';
import {
  ChangeConflict,
  type Changed,
  type ClawbackRequest,
  type CreditRequest,
  MAX_WINC,
  type Winc,
  winc,
} from '../credits.ts';
import { accountOfAddress, append, type NewEntry, readNotice, setBalance } from './accounts.ts';
import { callBackLent } from './approvals.ts';
import { tellIfLow, tellPaid, tellTaken } from './notices.ts';
import { openAccount } from './open-account.ts';
import { takeOwn } from './spend.ts';
import { beginSpending } from './spendings.ts';

export async function credit(tx: SqlExecutor, request: CreditRequest, now: number): Promise<Changed> {
  const { address, addressType, amount, reason, id, payment, note, reserve } = request;
  assertAmount(amount);
  if (reserve !== undefined && (reserve.amount < 1n || reserve.amount > amount)) {
    throw new RangeError(`cannot reserve ${reserve.amount} of ${amount} winc`);
  }
  const entry = { account: address, amount, reason, changeId: id, line: 0, payment, note };
  const { account, ...changed } = await change(tx, entry, addressType, now);
  if (!changed.applied) return changed;
  const after =
    reserve === undefined ? changed : { applied: true, balance: await reserveOf(tx, account, reserve, now) };
  await tellPaid(tx, { ...request, address: account }, after, now);
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
  const { account, ...changed } = await change(tx, entry, addressType, now);
  if (!changed.applied) return changed;
  const { balance } = changed;
  const after = {
    applied: true,
    balance: balance >= 0n ? balance : winc(await callBackLent(tx, account, balance, id, now)),
  };
  await tellTaken(tx, { ...request, address: account }, after, now);
  const noticeAt = (await readNotice(tx, account)) ?? usualNotice;
  await tellIfLow(tx, { address: account, before: balance + amount, after: after.balance, noticeAt }, now);
  return after;
}

async function change(
  tx: SqlExecutor,
  entry: NewEntry,
  type: string,
  now: number,
): Promise<Changed & { readonly account: string }> {
  const { account, balance } = await openAccount(tx, entry.account, type, now);
  if (await append(tx, { ...entry, account }, now)) {
    const after = balance + entry.amount;
    await setBalance(tx, account, after);
    return { applied: true, balance: winc(after), account };
  }
  const made = await tx.get(
    'SELECT account, amount FROM credits_entries WHERE change_id = ? AND reason = ? AND line = 0',
    entry.changeId,
    entry.reason,
  );
  // It may have been made under another form of the wallet.
  const madeFor = await accountOfAddress(tx, readText(made?.account));
  if (madeFor !== account || readAmount(made?.amount) !== entry.amount) {
    throw new ChangeConflict(`${entry.reason} ${entry.changeId} was made for another wallet or amount`);
  }
  return { applied: false, balance: winc(balance), account };
}

function assertAmount(amount: bigint): void {
  if (amount < 1n || amount > MAX_WINC) throw new RangeError(`a change cannot be of ${amount} winc`);
}
