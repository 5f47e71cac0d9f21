/**
 * Which of the winc that came into an account is still there. The oldest is spent first, bought or given alike, so that
 * what is left of a balance is the newest that came in. Nobody can make money of a gift by that order: one that came
 * after the spending is what is left, and one that came before is what was spent.
 */
import { Type } from 'typebox';
import { columnList, fieldsReader } from '../../storage/sql/fields.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { amountText } from '../../storage/sql/typed-rows.ts';
import { creditReasons } from '../credits.ts';
import { namesOf } from './accounts.ts';

const storedLot = Type.Object({
  sequence: Type.Integer(),
  reason: Type.Enum(creditReasons),
  changeId: Type.String(),
  amount: amountText,
  createdAt: Type.Integer(),
});
const readLot = fieldsReader('an entry of the ledger', storedLot);
const columns = columnList(storedLot.properties);

/** Winc that one change brought. */
export type Lot = ReturnType<typeof readLot>;

/**
 * What came in since then (unix milliseconds), under every form of the address, the newest first. What a won dispute gives again is no lot of its own: it
 * was part of the payment that was disputed.
 */
export async function newestLots(
  executor: SqlExecutor,
  address: string,
  since: number,
  limit: number,
): Promise<Lot[]> {
  const lots: Lot[] = [];
  // A few names at most, each with a place of its own in the index.
  for (const account of await namesOf(executor, address)) {
    for (const kind of ['payment IS NOT NULL', "reason = 'arns_excess_payment'"]) {
      const rows = await executor.all(
        `SELECT ${columns} FROM credits_entries WHERE account = ? AND created_at >= ? AND ${kind}
         ORDER BY sequence DESC LIMIT ?`,
        account,
        since,
        limit,
      );
      lots.push(...rows.map(readLot));
    }
  }
  return lots.sort((a, b) => b.sequence - a.sequence).slice(0, limit);
}

/** How much of each lot, the newest first, is in a balance. `size`: what there is of it at most. */
export function unspentOf<L extends { readonly size: bigint }>(
  balance: bigint,
  lots: readonly L[],
): (L & { readonly unspent: bigint })[] {
  let left = balance > 0n ? balance : 0n;
  return lots.map((lot) => {
    const unspent = lot.size < left ? lot.size : left;
    left -= unspent;
    return { ...lot, unspent };
  });
}
