/** `GET /payments`: card, chain and x402 payments in one list. `GET /promo-codes`: what is added to prices. */
import { Type } from 'typebox';
import type { PaymentSummary, PriceChange } from '../../../formats/admin-answers.ts';
import { pageQuery, readPage } from '../../../kernel/admin/paging.ts';
import { HttpError } from '../../../kernel/errors.ts';
import type { App } from '../../../kernel/http/app.ts';
import { isPaymentKind, recentPayments } from '../../../payments/recent-payments.ts';
import { allRows, type CatalogueRow, isActive, usesOfRows } from '../../../pricing/catalogue/rows.ts';
import type { Sql } from '../../../storage/sql/sql.ts';

const shownAtOnce = 1_000;

export function adminPaymentsRoutes(app: App, sql: Sql, now: () => number): void {
  app.get(
    '/payments',
    {
      schema: {
        summary: 'Payments of every kind, the newest first',
        tags: ['admin'],
        querystring: Type.Object({
          ...pageQuery,
          kind: Type.Optional(Type.String({ description: '`card`, `chain` or `x402`' })),
          state: Type.Optional(Type.String({ maxLength: 20, description: 'as its kind calls it' })),
        }),
      },
    },
    async ({ query }): Promise<{ payments: readonly PaymentSummary[]; next: string | null }> => {
      const { kind, state } = query;
      if (kind !== undefined && !isPaymentKind(kind)) throw new HttpError(400, 'Invalid kind');
      const { items, next } = await recentPayments(sql, { kind, state, page: readPage(query), now: now() });
      return { payments: items, next };
    },
  );
  app.get(
    '/promo-codes',
    { schema: { summary: 'Promo codes, fees, discounts and upload adjustments', tags: ['admin'] } },
    async (): Promise<{ codes: readonly PriceChange[] }> => {
      const [rows, uses] = await Promise.all([allRows(sql), usesOfRows(sql)]);
      return { codes: rows.slice(0, shownAtOnce).map((row) => changeOf(row, uses, now())) };
    },
  );
}

function changeOf(row: CatalogueRow, uses: ReadonlyMap<string, number>, now: number): PriceChange {
  const { id, kind, name, description, operator, priority, startsAt, endsAt } = row;
  const promo = row.kind === 'promo' ? row : undefined;
  return {
    ...{ id, kind, name, description, operator, priority, startsAt },
    code: promo?.promoCode ?? null,
    magnitude: row.magnitudeText,
    active: isActive(row, now),
    endsAt: endsAt ?? null,
    uses: uses.get(id) ?? 0,
    maxUses: promo?.maxUses ?? 0,
    targetGroup: promo?.targetGroup ?? null,
    minimumPayment: promo?.minimumPayment ?? 0,
    maximumDiscount: Number(promo?.maximumDiscount ?? 0),
  };
}
