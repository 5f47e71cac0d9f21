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
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import {
  amountOrNull,
  integerOrNull,
  readText,
  rowReader,
  textOrNull,
} from '../../storage/sql/typed-rows.ts';
import { PurchaseOver } from './errors.ts';

export const purchaseState = Type.Enum(['reserved', 'spent', 'returned']);
export type PurchaseState = Static<typeof purchaseState>;

const readStored = rowReader(
  'the purchase of an x402 payment',
  Type.Object({
    purchase: Type.Union([purchaseState, Type.Null()]),
    reserved: amountOrNull,
    session: textOrNull,
    item: textOrNull,
    claim: textOrNull,
    credited_at: integerOrNull,
  }),
);

export interface Purchase {
  /** Undefined: nothing was ever reserved. */
  readonly state: PurchaseState | undefined;
  readonly reserved: Winc;
  /** The upload in parts that it began. */
  readonly session: string | undefined;
  /** The item that it was spent on, or that was there already when it came. */
  readonly item: string | undefined;
  readonly claim: string | undefined;
  /** Unix milliseconds. */
  readonly creditedAt: number;
}

/** Locks the payment's row. Undefined when there is no such payment. */
export async function readPurchase(tx: SqlExecutor, payment: string): Promise<Purchase | undefined> {
  const stored = await tx.get(
    `SELECT purchase, reserved, session, item, claim, credited_at FROM x402_payments WHERE id = ? ${tx.forUpdate}`,
    payment,
  );
  if (stored === undefined) return undefined;
  const row = readStored(stored);
  return {
    state: row.purchase ?? undefined,
    reserved: winc(BigInt(row.reserved ?? 0)),
    session: row.session ?? undefined,
    item: row.item ?? undefined,
    claim: row.claim ?? undefined,
    creditedAt: row.credited_at ?? 0,
  };
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
