/** A wallet's past, newest first, in pages by the sequence of its entries. */
import { Type } from 'typebox';
import { columnList, fieldsReader, optionalText } from '../../storage/sql/fields.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { amountText, jsonReader } from '../../storage/sql/typed-rows.ts';
import {
  cryptoPayment,
  type Entry,
  entryReasons,
  fiatPayment,
  type Page,
  type PageRequest,
  type Payment,
  winc,
} from '../credits.ts';
import { accountOfAddress, isNameOf, namesOf } from './accounts.ts';

const storedEntry = Type.Object({
  sequence: Type.Integer(),
  account: Type.String(),
  amount: amountText,
  reason: Type.Enum(entryReasons),
  changeId: Type.String(),
  payment: optionalText,
  note: optionalText,
  createdAt: Type.Integer(),
});
const readEntry = fieldsReader('an entry of the ledger', storedEntry);
type StoredEntry = ReturnType<typeof readEntry>;

/** A payment as an entry, or a gift that waits, keeps it. */
export const readFiatPayment = jsonReader('card payment', fiatPayment);
const readPayment = jsonReader('payment', Type.Union([cryptoPayment, fiatPayment]));

export async function readEntries(
  executor: SqlExecutor,
  address: string,
  page: PageRequest,
): Promise<Page<Entry>> {
  return toPage(
    await entriesOf(executor, address, page, ''),
    page.limit,
    ({ payment: _payment, ...row }) => ({
      ...row,
      amount: winc(BigInt(row.amount)),
    }),
  );
}

export async function readPayments(
  executor: SqlExecutor,
  address: string,
  page: PageRequest,
): Promise<Page<Payment>> {
  const rows = await entriesOf(executor, address, page, 'AND payment IS NOT NULL');
  return toPage(rows, page.limit, (row) => ({
    date: new Date(row.createdAt).toISOString(),
    wincCredited: row.amount,
    record: readPayment(row.payment ?? '', row.changeId),
  }));
}

/** One more than the page holds, so that it is known whether there are more. */
async function entriesOf(
  executor: SqlExecutor,
  address: string,
  { before = Number.MAX_SAFE_INTEGER, limit }: PageRequest,
  only: '' | 'AND payment IS NOT NULL',
) {
  const found: StoredEntry[] = [];
  // A few names at most, each with a place of its own in the index.
  for (const account of await namesOf(executor, address)) {
    const rows = await executor.all(
      `SELECT ${columnList(storedEntry.properties)} FROM credits_entries
       WHERE account = ? ${only} AND sequence < ? ORDER BY sequence DESC LIMIT ?`,
      account,
      before,
      limit + 1,
    );
    found.push(...rows.map(readEntry));
  }
  return found.sort((a, b) => b.sequence - a.sequence).slice(0, limit + 1);
}

export async function hasPaid(executor: SqlExecutor, address: string): Promise<boolean> {
  const account = await accountOfAddress(executor, address);
  const row = await executor.get(
    `SELECT 1 AS paid FROM credits_entries WHERE ${isNameOf('account')} AND payment IS NOT NULL LIMIT 1`,
    account,
    account,
  );
  return row !== undefined;
}

function toPage<R extends { readonly sequence: number }, T>(
  rows: readonly R[],
  limit: number,
  render: (row: R) => T,
): Page<T> {
  const shown = rows.slice(0, limit);
  return { items: shown.map(render), next: rows.length > limit ? shown.at(-1)?.sequence : undefined };
}
