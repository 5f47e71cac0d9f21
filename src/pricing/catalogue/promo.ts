/** Promo codes: who may use which, and what becomes of a use. */
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { PromoCodeRefused, type PromoContext, type PromoHold, type PromoUses } from '../pricing.ts';
import { type FiatPrices, toCents } from '../quotes/fiat.ts';
import { lockPromo, type PromoCode, promoRow } from './rows.ts';

export interface PromoJudge {
  /** Whether a payment was ever credited to the wallet. */
  hasPaid(executor: SqlExecutor, address: string): Promise<boolean>;
  now(): number;
}

/** More codes than this in one request are refused unread. */
const MAX_PROMO_CODES = 10;

/** The rows of the codes, in the order given; throws `PromoCodeRefused` with the answer's text. */
export async function judgePromoCodes(
  sql: SqlExecutor,
  judge: PromoJudge,
  { codes, address }: PromoContext,
  amount: bigint,
  prices: FiatPrices,
): Promise<PromoCode[]> {
  if (codes.length > MAX_PROMO_CODES) {
    throw new PromoCodeRefused(`No more than ${MAX_PROMO_CODES} promo codes can be used on one payment`);
  }
  const rows: PromoCode[] = [];
  for (const code of codes) {
    const row = await promoRow(sql, code, judge.now());
    if (row === undefined) throw new PromoCodeRefused(`No promo code found with code '${code}'`);
    if (row.endsAt !== undefined && row.endsAt <= judge.now()) {
      throw new PromoCodeRefused(
        `The promo code '${code}' expired on '${new Date(row.endsAt).toISOString()}'`,
      );
    }
    await checkUses(sql, row);
    if (!(await isEligible(sql, judge, row, address))) throw ineligible(row, address);
    if (row.minimumPayment > 0 && toCents(amount, prices) < BigInt(row.minimumPayment)) {
      throw new PromoCodeRefused(
        `The promo code '${code}' can only used on payments above '${row.minimumPayment}'`,
      );
    }
    rows.push(row);
  }
  return rows;
}

export function promoUses(judge: PromoJudge): PromoUses {
  return {
    async holdIn(tx: SqlExecutor, { quoteId, address, expiresAt, adjustments }: PromoHold) {
      for (const { promoCode, catalogueId } of adjustments) {
        if (promoCode === undefined) continue;
        await tx.run(
          `INSERT INTO pricing_promo_uses (quote_id, catalogue_id, code, address, state, expires_at)
           VALUES (?, ?, ?, ?, 'held', ?) ON CONFLICT (quote_id, catalogue_id) DO NOTHING`,
          quoteId,
          catalogueId,
          promoCode,
          address,
          expiresAt,
        );
      }
    },

    async useIn(tx: SqlExecutor, quoteId: string) {
      const held = await tx.all<{ catalogue_id: string; code: string; address: string }>(
        `SELECT catalogue_id, code, address FROM pricing_promo_uses WHERE quote_id = ? AND state = 'held'
         ORDER BY catalogue_id`,
        quoteId,
      );
      for (const use of held) {
        const row = await lockPromo(tx, use.catalogue_id);
        if (row === undefined) throw new PromoCodeRefused(`No promo code found with code '${use.code}'`);
        await checkUses(tx, row);
        if (!(await isEligible(tx, judge, row, use.address))) throw ineligible(row, use.address);
      }
      await tx.run("UPDATE pricing_promo_uses SET state = 'used' WHERE quote_id = ?", quoteId);
    },

    async releaseIn(tx: SqlExecutor, quoteId: string) {
      await tx.run("DELETE FROM pricing_promo_uses WHERE quote_id = ? AND state = 'held'", quoteId);
    },
  };
}

/**
 * Only what was paid counts. A quote costs nothing: if open ones counted, anybody could use up a code for everybody,
 * and a buyer who opens the checkout twice would be refused. Of two who pay the last use, the later one is refunded.
 */
async function checkUses(sql: SqlExecutor, row: PromoCode): Promise<void> {
  if (row.maxUses === 0) return;
  const counted = await sql.get<{ uses: number }>(
    "SELECT COUNT(*) AS uses FROM pricing_promo_uses WHERE catalogue_id = ? AND state = 'used'",
    row.id,
  );
  if (Number(counted?.uses ?? 0) >= row.maxUses) {
    throw new PromoCodeRefused(
      `The promo code '${row.promoCode}' has already been used the maximum number of times (${row.maxUses})`,
    );
  }
}

async function isEligible(
  sql: SqlExecutor,
  judge: PromoJudge,
  row: PromoCode,
  address: string,
): Promise<boolean> {
  if (row.targetGroup !== 'all') {
    const paid = await judge.hasPaid(sql, address);
    if (paid !== (row.targetGroup === 'existing')) return false;
  }
  const used = await sql.get(
    "SELECT 1 AS used FROM pricing_promo_uses WHERE catalogue_id = ? AND address = ? AND state = 'used' LIMIT 1",
    row.id,
    address,
  );
  return used === undefined;
}

const ineligible = (row: PromoCode, address: string): PromoCodeRefused =>
  new PromoCodeRefused(`The user '${address}' is ineligible for the promo code '${row.promoCode}'`);
