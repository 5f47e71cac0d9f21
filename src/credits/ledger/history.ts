/** A wallet's past, newest first, in pages by the sequence of its entries. */
import { Type } from 'typebox';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { amountText, jsonReader, rowReader, textOrNull } from '../../storage/sql/typed-rows.ts';
import { type Entry, entryReasons, type Page, type PageRequest, type Payment, winc } from '../credits.ts';

const readEntry = rowReader(
  'an entry of the ledger',
  Type.Object({
    sequence: Type.Integer(),
    account: Type.String(),
    amount: amountText,
    reason: Type.Enum(entryReasons),
    change_id: Type.String(),
    payment: textOrNull,
    note: textOrNull,
    created_at: Type.Integer(),
  }),
);

const fiatPayment = Type.Object({
  type: Type.Literal('fiat'),
  paymentAmount: Type.String(),
  currencyType: Type.String(),
  paymentProvider: Type.String(),
  receiptId: Type.String(),
  giftMessage: textOrNull,
});
const cryptoPayment = Type.Object({
  type: Type.Literal('crypto'),
  tokenType: Type.String(),
  tokenQuantity: Type.String(),
  usdEquivalent: Type.String(),
  senderAddress: Type.String(),
  transactionId: Type.String(),
  blockHeight: Type.Optional(Type.String()),
});
/** A payment as an entry, or a gift that waits, keeps it. */
export const readFiatPayment = jsonReader('card payment', fiatPayment);
const readPayment = jsonReader('payment', Type.Union([cryptoPayment, fiatPayment]));

export async function readEntries(
  executor: SqlExecutor,
  account: string,
  page: PageRequest,
): Promise<Page<Entry>> {
  return toPage(await entriesOf(executor, account, page, ''), page.limit, (row) => ({
    sequence: row.sequence,
    account: row.account,
    amount: winc(BigInt(row.amount)),
    reason: row.reason,
    changeId: row.change_id,
    note: row.note ?? undefined,
    createdAt: row.created_at,
  }));
}

export async function readPayments(
  executor: SqlExecutor,
  address: string,
  page: PageRequest,
): Promise<Page<Payment>> {
  const rows = await entriesOf(executor, address, page, 'AND payment IS NOT NULL');
  return toPage(rows, page.limit, (row) => ({
    date: new Date(row.created_at).toISOString(),
    wincCredited: row.amount,
    record: readPayment(row.payment ?? '', row.change_id),
  }));
}

/** One more than the page holds, so that it is known whether there are more. */
async function entriesOf(
  executor: SqlExecutor,
  account: string,
  { before = Number.MAX_SAFE_INTEGER, limit }: PageRequest,
  only: '' | 'AND payment IS NOT NULL',
) {
  const rows = await executor.all(
    `SELECT sequence, account, amount, reason, change_id, payment, note, created_at FROM credits_entries
     WHERE account = ? ${only} AND sequence < ? ORDER BY sequence DESC LIMIT ?`,
    account,
    before,
    limit + 1,
  );
  return rows.map(readEntry);
}

export async function hasPaid(executor: SqlExecutor, address: string): Promise<boolean> {
  const row = await executor.get(
    'SELECT 1 AS paid FROM credits_entries WHERE account = ? AND payment IS NOT NULL LIMIT 1',
    address,
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
