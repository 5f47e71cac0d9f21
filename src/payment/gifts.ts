/**
 * Credits bought for an email address: kept until someone redeems them who knows the address and the receipt, or the
 * quote they were bought with. Nothing is mailed from here: the buyer, who has the quote, passes it on, or the operator
 * does, to whom `turnpike ledger gifts` lists what waits.
 */

import { Type } from 'typebox';
import { type Credits, type FiatPayment, type Winc, winc } from '../credits/credits.ts';
import { readFiatPayment } from '../credits/ledger/history.ts';
import { changeOne } from '../storage/sql/change-one.ts';
import { insertion } from '../storage/sql/columns.ts';
import { columnsOf, fieldsReader, optionalText } from '../storage/sql/fields.ts';
import type { Sql, SqlExecutor } from '../storage/sql/sql.ts';
import { amountText } from '../storage/sql/typed-rows.ts';
import type { RequestWallet } from './auth/request-wallet.ts';
import { giftFailure, giftRedeemed } from './errors.ts';

/** A gift that nobody fetched in a year is void. */
const LIFE_MS = 365 * 86_400_000;

export interface Redemption {
  /** Of the receipt or of the quote. */
  readonly id: string;
  readonly email: string;
  readonly wallet: RequestWallet;
}

export interface Gift {
  readonly receiptId: string;
  /** The quote it was bought with, which its buyer knows. */
  readonly quoteId: string;
  /** HTML-escaped, as it is compared on redemption. */
  readonly email: string;
  readonly amount: Winc;
  /** Shown in the history of whoever redeems it; carries the gift's message. */
  readonly payment: FiatPayment;
}

const storedGift = Type.Object({
  receiptId: Type.String(),
  quoteId: optionalText,
  email: Type.String(),
  amount: amountText,
  payment: Type.String(),
  createdAt: Type.Integer(),
  redeemedBy: optionalText,
  redeemedType: optionalText,
});
const readGift = fieldsReader('a gift', storedGift);

export interface GiftsOptions {
  readonly sql: Sql;
  readonly credits: Credits;
  readonly now?: () => number;
}

export type Gifts = ReturnType<typeof createGifts>;

export function createGifts({ sql, credits, now = Date.now }: GiftsOptions) {
  return {
    /** Called in the transaction that stores the receipt. */
    async createIn(tx: SqlExecutor, gift: Gift) {
      const values = columnsOf({ ...gift, payment: JSON.stringify(gift.payment), createdAt: now() });
      const statement = `INSERT INTO payment_gifts ${insertion(values)} ON CONFLICT (receipt_id) DO NOTHING`;
      await tx.run(statement, ...Object.values(values));
    },

    /**
     * The payment behind a gift was taken back: an unredeemed gift is deleted, of a redeemed one the wallet
     * that has the winc is answered, so that the clawback hits it.
     */
    async withdrawIn(tx: SqlExecutor, receiptId: string): Promise<RequestWallet | undefined> {
      const row = await lockGift(tx, receiptId);
      if (row === undefined) return undefined;
      if (row.redeemedBy !== undefined)
        return { address: row.redeemedBy, addressType: row.redeemedType ?? '' };
      await changeOne(tx, 'DELETE FROM payment_gifts WHERE receipt_id = ?', row.receiptId);
      return undefined;
    },

    /** Throws the answers of `/redeem`. Redeeming twice credits once. */
    redeem({ id, email, wallet }: Redemption) {
      return sql.transaction(async (tx) => {
        const row = await lockGift(tx, id);
        if (row === undefined || row.email !== escapeHtml(email)) throw giftFailure();
        if (row.redeemedBy !== undefined) throw giftRedeemed();
        if (row.createdAt + LIFE_MS <= now()) throw giftFailure();
        await changeOne(
          tx,
          `UPDATE payment_gifts SET redeemed_by = ?, redeemed_type = ?, redeemed_at = ?
           WHERE receipt_id = ? AND redeemed_by IS NULL`,
          wallet.address,
          wallet.addressType,
          now(),
          row.receiptId,
        );
        const { balance } = await credits.within(tx).credit({
          ...wallet,
          amount: winc(BigInt(row.amount)),
          reason: 'gifted_payment_redemption',
          id: row.receiptId,
          payment: readFiatPayment(row.payment, row.receiptId),
        });
        const account = await tx.get(
          'SELECT created_at FROM credits_accounts WHERE address = ?',
          wallet.address,
        );
        const createdAt = account?.created_at;
        return {
          amount: BigInt(row.amount),
          balance,
          accountCreatedAt: typeof createdAt === 'number' ? createdAt : now(),
        };
      });
    },
  };
}

/** By its receipt or its quote. */
async function lockGift(tx: SqlExecutor, id: string) {
  const row = await tx.get(
    `SELECT * FROM payment_gifts WHERE receipt_id = ? OR quote_id = ? ${tx.forUpdate}`,
    id,
    id,
  );
  return row && readGift(row);
}

/** Gifts that wait to be redeemed, the oldest first; those that are void are left out. */
export async function waitingGifts(executor: SqlExecutor, now: number, limit: number) {
  const rows = await executor.all(
    `SELECT * FROM payment_gifts WHERE redeemed_by IS NULL AND created_at > ?
     ORDER BY created_at, receipt_id LIMIT ?`,
    now - LIFE_MS,
    limit,
  );
  return rows.map(readGift).map(({ receiptId, quoteId = null, email, amount, createdAt }) => {
    return { receiptId, quoteId, email, amount: BigInt(amount), createdAt, expiresAt: createdAt + LIFE_MS };
  });
}

/** Addresses are kept and compared escaped, as they are shown in mails. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** One @, something on both sides, a dot in the domain, nothing invisible; mail itself tells the rest. */
export const isEmail = (text: string): boolean =>
  text.length <= 254 && /^[^\s@"<>\p{C}]{1,64}@[^\s@"<>\p{C}]+\.[^\s@"<>.\p{C}]{2,}$/u.test(text);
