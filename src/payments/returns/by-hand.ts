/** What the operator does with returns that the service cannot send: send them, say so, or refuse them. */
import type { Credits } from '../../credits/credits.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import type { ChainReader } from '../chain/chain.ts';
import { ChainUnavailable } from '../chain/errors.ts';
import type { CreditReturn } from './returns.ts';
import { confirmReturn, moveReturn, type ReturnRow, readReturn, undoReturn } from './rows.ts';

/** Why a transaction does not settle a return, in words for the operator. */
export class NotSettled extends Error {
  override readonly name = 'NotSettled';
}

export interface SettlingContext {
  readonly sql: Sql;
  readonly credits: Credits;
  readonly now: () => number;
  /** Undefined where its chain is not configured. */
  readerOf(order: CreditReturn): Pick<ChainReader, 'parseId' | 'read'> | undefined;
}

/**
 * The operator has sent a return by a transaction, which is looked up: it must be final and pay at least what is due to
 * whom it is due, and can settle one return only. False when there is no such return. Throws `NotSettled`.
 */
export async function settleReturn(
  { sql, credits, now, readerOf }: SettlingContext,
  id: string,
  transaction: string,
): Promise<boolean> {
  const row = await readReturn(sql, id);
  if (row?.state !== 'by_hand') return false;
  const reader = readerOf(row);
  if (reader === undefined) throw new NotSettled(`the chain of ${row.token} is not configured here`);
  const reference = reader.parseId(transaction);
  if (reference === undefined) throw new NotSettled('no transaction can have this id');
  await insistOnTransfer(reader, reference, row);
  return sql.transaction(async (tx) => {
    const used = await tx.get('SELECT id FROM payment_returns WHERE reference = ?', reference);
    if (used !== undefined) throw new NotSettled('this transaction has settled another return');
    return confirmReturn(tx, credits, row, reference, now());
  });
}

async function insistOnTransfer(
  reader: Pick<ChainReader, 'read'>,
  reference: string,
  { recipient, amount }: ReturnRow,
): Promise<void> {
  const found = await reader.read(reference).catch((cause: unknown) => {
    throw new ChainUnavailable('the chain cannot be asked', { cause });
  });
  if (found.state !== 'confirmed') throw new NotSettled(`its chain says that it is ${words[found.state]}`);
  const { transfer } = found;
  if (transfer.recipient !== recipient) throw new NotSettled(`it does not pay ${recipient}`);
  if (transfer.quantity < amount) {
    throw new NotSettled(`it pays ${transfer.quantity}, and ${amount} are due`);
  }
}

const words = {
  'not-found': 'not there',
  'not-known': 'not known, as far as it could be asked',
  unreadable: 'not in a block yet',
  pending: 'not final yet',
  reverted: 'failed',
} as const;

/** The operator does not send it: the credits are given back. False when there is no such return that was not sent. */
export async function refuseReturn(
  { sql, credits, now }: Pick<SettlingContext, 'sql' | 'credits' | 'now'>,
  id: string,
  reason: string,
): Promise<boolean> {
  const row = await readReturn(sql, id);
  if (row === undefined || !isWaiting(row, now())) return false;
  return sql.transaction((tx) => undoReturn(tx, credits, row, { state: 'refused', reason }, now()));
}

/** The service tries again to send it, because it has the key by now, or tokens. False as with `refuseReturn`. */
export async function retryReturn(sql: Sql, id: string, now: number): Promise<boolean> {
  const row = await readReturn(sql, id);
  if (row === undefined || !isWaiting(row, now)) return false;
  const change = { state: 'due', tries: 0, dueAt: now, reason: undefined } as const;
  return sql.transaction((tx) => moveReturn(tx, row, change, now));
}

/** Not sent, and nobody is about to. */
const isWaiting = ({ state, leasedUntil }: ReturnRow, now: number): boolean =>
  state === 'by_hand' || (state === 'due' && leasedUntil <= now);
