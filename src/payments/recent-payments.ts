/** Payments of every kind in one list, the newest first, for operators. */
import type { PaymentSummary } from '../formats/admin-answers.ts';
import { type Page, pageOf } from '../kernel/admin/paging.ts';
import type { Sql } from '../storage/sql/sql.ts';
import { recentQuotes } from './card/quotes.ts';
import { recentChainPayments } from './chain/store.ts';
import type { NewestQuery } from './newest.ts';
import { recentX402Payments } from './x402/by-hand.ts';

const kinds = ['card', 'chain', 'x402'] as const;
type PaymentKind = (typeof kinds)[number];
export const isPaymentKind = (text: string): text is PaymentKind => kinds.some((kind) => kind === text);

export interface RecentQuery extends NewestQuery {
  readonly kind?: PaymentKind | undefined;
  readonly now: number;
}

export async function recentPayments(
  sql: Sql,
  { kind, now, ...query }: RecentQuery,
): Promise<Page<PaymentSummary>> {
  const asked = (one: PaymentKind) => kind === undefined || kind === one;
  const found = await Promise.all([
    asked('card') ? recentQuotes(sql, query) : [],
    asked('chain') ? recentChainPayments(sql, query, now) : [],
    asked('x402') ? recentX402Payments(sql, query, now) : [],
  ]);
  const newest = found.flat().sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1));
  return pageOf(newest, query.page.limit, ({ createdAt, id }) => ({ at: createdAt, id }));
}
