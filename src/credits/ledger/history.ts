/** A wallet's past, newest first, in pages by the sequence of its entries. */
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import {
  type Entry,
  type EntryReason,
  type Page,
  type PageRequest,
  type Payment,
  type PaymentRecord,
  winc,
} from '../credits.ts';

interface EntryRow {
  readonly sequence: number;
  readonly account: string;
  readonly amount: string;
  readonly reason: EntryReason;
  readonly change_id: string;
  readonly payment: string | null;
  readonly note: string | null;
  readonly created_at: number;
}

export async function readEntries(
  executor: SqlExecutor,
  account: string,
  page: PageRequest,
): Promise<Page<Entry>> {
  const rows = await executor.all<EntryRow>(
    `SELECT sequence, account, amount, reason, change_id, payment, note, created_at FROM credits_entries
     WHERE account = ? AND sequence < ? ORDER BY sequence DESC LIMIT ?`,
    account,
    page.before ?? Number.MAX_SAFE_INTEGER,
    page.limit + 1,
  );
  return toPage(rows, page.limit, (row) => ({
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
  const rows = await executor.all<EntryRow & { readonly payment: string }>(
    `SELECT sequence, account, amount, reason, change_id, payment, note, created_at FROM credits_entries
     WHERE account = ? AND payment IS NOT NULL AND sequence < ? ORDER BY sequence DESC LIMIT ?`,
    address,
    page.before ?? Number.MAX_SAFE_INTEGER,
    page.limit + 1,
  );
  return toPage(rows, page.limit, (row) => ({
    date: new Date(row.created_at).toISOString(),
    wincCredited: row.amount,
    record: JSON.parse(row.payment) as PaymentRecord,
  }));
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
