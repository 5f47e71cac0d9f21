/**
 * What was reserved before it was known for what becomes the spending of what it turned out to be: a payment reserves
 * the price of an upload, and the item takes it over when it is stored.
 */
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { ChangeConflict, type Spending, SpendingNotFound, type SpendReason, type Winc } from '../credits.ts';
import { appendNew, lockAccount, setBalance } from './accounts.ts';
import { giveBack, lockSpending } from './refund.ts';
import {
  changeIdOf,
  endSpending,
  insertSpending,
  readSpending,
  readSplit,
  renderSpending,
  restartSpending,
  type SpendingRow,
} from './spendings.ts';

/** The balance before and after differs only by what was reserved and is not kept: the wallet may owe meanwhile. */
export async function assign(
  tx: SqlExecutor,
  reason: SpendReason,
  from: string,
  to: string,
  amount: Winc,
  now: number,
): Promise<Spending> {
  const held = await lockSpending(tx, reason, from);
  if (held === undefined) throw new SpendingNotFound(`there is no ${reason} ${from}`);
  if (held.state !== 'reserved') throw new ChangeConflict(`${reason} ${from} is ${held.state}`);
  if (held.split !== null) throw new ChangeConflict(`${reason} ${from} was not paid by its signer alone`);
  const reserved = BigInt(held.amount);
  if (amount < 0n || amount > reserved)
    throw new ChangeConflict(`${reason} ${from} reserved only ${reserved}`);
  await giveBack(tx, held, readSplit(held), now);
  await endSpending(tx, held, 'refunded', reserved, null, now);
  const row = await beginSettled(tx, { ...held, id: to, amount: amount.toString() }, now);
  if (amount > 0n) await takeOwn(tx, row, now);
  return renderSpending(row, true);
}

async function beginSettled(
  tx: SqlExecutor,
  { id, reason, signer, amount }: Pick<SpendingRow, 'id' | 'reason' | 'signer' | 'amount'>,
  now: number,
): Promise<SpendingRow> {
  const first: SpendingRow = { id, reason, attempt: 1, state: 'settled', signer, amount, split: null };
  if (await insertSpending(tx, first, undefined, now)) return first;
  const standing = await readSpending(tx, reason, id, true);
  if (standing?.state !== 'refunded') throw new ChangeConflict(`${reason} ${id} is paid for already`);
  const next = { ...first, attempt: standing.attempt + 1 };
  await restartSpending(tx, next, undefined, now);
  return next;
}

/** Takes a spending from its signer whatever the balance. The caller has just given at least as much. */
export async function takeOwn(tx: SqlExecutor, row: SpendingRow, now: number): Promise<bigint> {
  const { signer, reason } = row;
  const amount = BigInt(row.amount);
  const balance = await lockAccount(tx, signer);
  if (balance === undefined) throw new Error(`${signer} has no account to be charged`);
  await setBalance(tx, signer, balance - amount);
  await appendNew(tx, { account: signer, amount: -amount, reason, changeId: changeIdOf(row), line: 0 }, now);
  return balance - amount;
}
