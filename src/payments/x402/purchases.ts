/**
 * What a payment bought, kept in its row for good. The price was reserved when the payment was credited; it is spent on
 * the item that the payment was for, or goes back to the wallet that the payment credited, once.
 *
 *   reserved → spent (on an item), or returned
 *
 * A row without any of it bought nothing but credits, or is of a time when nothing was reserved: nothing can be had
 * for such a payment any more, and nobody is charged for it. Each function runs in the caller's transaction, so that the
 * purchase and what it is for change together.
 */

import { type Static, Type } from 'typebox';
import { type Credits, type Winc, winc } from '../../credits/credits.ts';
import { changeOne } from '../../storage/sql/change-one.ts';
import {
  columnList,
  fieldsReader,
  optionalAmount,
  optionalInteger,
  optionalText,
} from '../../storage/sql/fields.ts';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import { readText } from '../../storage/sql/typed-rows.ts';
import { PurchaseOver } from './errors.ts';

export const purchaseState = Type.Enum(['reserved', 'spent', 'returned']);
export type PurchaseState = Static<typeof purchaseState>;

const storedPurchase = Type.Object({
  /** Undefined: nothing was ever reserved. */
  purchase: Type.Union([purchaseState, Type.Undefined()]),
  reserved: optionalAmount,
  /** The upload in parts that it began. */
  session: optionalText,
  /** The item that it was spent on, or that was there already when it came. */
  item: optionalText,
  claim: optionalText,
  /** Unix milliseconds. */
  creditedAt: optionalInteger,
});
const readStored = fieldsReader('the purchase of an x402 payment', storedPurchase);

/** Locks the payment's row. Undefined when there is no such payment. */
export async function readPurchase(tx: SqlExecutor, payment: string) {
  const stored = await tx.get(
    `SELECT ${columnList(storedPurchase.properties)} FROM x402_payments WHERE id = ? ${tx.forUpdate}`,
    payment,
  );
  if (stored === undefined) return undefined;
  const { purchase: state, reserved = '0', creditedAt = 0, ...row } = readStored(stored);
  return { ...row, state, reserved: winc(BigInt(reserved)), creditedAt };
}

/** The payment has begun an upload in parts: this one, and never another. */
export function beginSession(tx: SqlExecutor, payment: string, session: string): Promise<void> {
  return changeOne(
    tx,
    "UPDATE x402_payments SET session = ? WHERE id = ? AND purchase = 'reserved' AND session IS NULL",
    session,
    payment,
  );
}

/**
 * Spends what was reserved on an item, `amount` of it, and gives the rest back. The spending is the item's own
 * afterwards: if the item fails for good, it is refunded like any other. Throws `PurchaseOver`.
 */
export async function spendPurchase(
  tx: SqlExecutor,
  credits: Credits,
  payment: string,
  item: string,
  amount: Winc,
): Promise<void> {
  const purchase = await readPurchase(tx, payment);
  if (purchase?.state !== 'reserved') throw new PurchaseOver(payment);
  await credits.within(tx).assign('upload', payment, item, amount);
  await endPurchase(tx, payment, 'spent', item);
}

/** Gives what was reserved back to the wallet that the payment credited; false when it was spent or given back before. */
export async function returnPurchase(
  tx: SqlExecutor,
  credits: Credits,
  payment: string,
  item?: string,
): Promise<boolean> {
  const purchase = await readPurchase(tx, payment);
  if (purchase?.state !== 'reserved') return false;
  const refunded = await credits.within(tx).refund('upload', payment);
  if (refunded?.amount !== purchase.reserved) {
    throw new Error(`the reservation of x402 payment ${payment} is not in the ledger`);
  }
  await endPurchase(tx, payment, 'returned', item);
  return true;
}

function endPurchase(
  tx: SqlExecutor,
  payment: string,
  state: 'spent' | 'returned',
  item: string | undefined,
): Promise<void> {
  return changeOne(
    tx,
    "UPDATE x402_payments SET purchase = ?, item = ? WHERE id = ? AND purchase = 'reserved'",
    state,
    item ?? null,
    payment,
  );
}

/** Gives back what was reserved until `before` and of which nothing came, not even an upload in parts; answers how many. */
export async function returnAbandoned(
  sql: Sql,
  credits: Credits,
  before: number,
  limit: number,
): Promise<number> {
  const rows = await sql.all(
    `SELECT id FROM x402_payments WHERE purchase = 'reserved' AND session IS NULL AND credited_at <= ?
     ORDER BY credited_at LIMIT ?`,
    before,
    limit,
  );
  let returned = 0;
  for (const row of rows) {
    const id = readText(row.id);
    const done = await sql.transaction(async (tx) => {
      const purchase = await readPurchase(tx, id);
      return purchase?.session === undefined && (await returnPurchase(tx, credits, id));
    });
    if (done) returned += 1;
  }
  return returned;
}
