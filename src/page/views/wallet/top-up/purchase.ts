/**
 * A purchase of credits from its beginning to the credits, kept in this browser: a tab that is closed in between loses
 * nothing, since the next look goes on where it stood.
 */

import { ServiceError } from '../../../services/console.ts';
import { kept } from '../../../services/kept.ts';
import {
  balanceOf,
  type CardState,
  cardState,
  payX402,
  type ReportedPayment,
  reportTransaction,
  type X402Settled,
} from '../../../services/payment.ts';

interface Common {
  readonly id: string;
  readonly madeAt: number;
  /** Who is credited: a wallet, of a gift an email address. */
  readonly to: string;
  /** What is paid, as people read it. */
  readonly paid: string;
  readonly winc: bigint;
  /** `open`: nothing is known to be paid. `paid`: on its way. The others are final. */
  readonly state: 'open' | 'paid' | 'credited' | 'failed' | 'cancelled';
  readonly endedAt?: number;
  readonly problem?: string;
}

export interface CardPurchase extends Common {
  readonly way: 'card' | 'gift';
  readonly quoteId: string;
  /** Of the page to pay at. */
  readonly url: string;
  readonly expiresAt: number;
  /** Of the wallet, before: for services that do not tell how a payment stands. */
  readonly wincBefore: bigint;
}

export interface CoinPurchase extends Common {
  readonly way: 'coin';
  readonly token: string;
  readonly transactionId: string;
}

export interface X402Purchase extends Common {
  readonly way: 'x402';
  readonly credits: string;
  /** Signed for this purchase alone; sent again it answers the same. */
  readonly payment: string;
  readonly transactionId?: string;
}

export type Purchase = CardPurchase | CoinPurchase | X402Purchase;

export const purchases = kept<Purchase>('purchases');

export const isFinal = ({ state }: Pick<Purchase, 'state'>): boolean => state !== 'open' && state !== 'paid';

/** Newest first. */
export async function listPurchases(): Promise<readonly Purchase[]> {
  return (await purchases.all()).sort((left, right) => right.madeAt - left.madeAt);
}

/** What a look needs to ask; the real services unless a test gives others. */
export interface PurchaseServices {
  cardState(quoteId: string): Promise<CardState | undefined>;
  balance(address: string): Promise<bigint>;
  report(token: string, transactionId: string): Promise<ReportedPayment>;
  pay(credits: string, address: string, payment: string): Promise<X402Settled>;
  now(): number;
}

const services: PurchaseServices = {
  cardState,
  balance: async (address) => (await balanceOf(address)).winc,
  report: reportTransaction,
  pay: payX402,
  now: Date.now,
};

/** Looks how it stands now. Throws what may pass; the purchase is then as it was. */
export function look(purchase: Purchase, asked: PurchaseServices = services): Promise<Purchase> {
  if (isFinal(purchase)) return Promise.resolve(purchase);
  switch (purchase.way) {
    case 'card':
    case 'gift':
      return lookAtCard(purchase, asked);
    case 'coin':
      return lookAtCoin(purchase, asked);
    case 'x402':
      return lookAtX402(purchase, asked);
  }
}

/** A webhook may come this long after the checkout has ended. */
const graceMs = 10 * 60_000;

async function lookAtCard(purchase: CardPurchase, asked: PurchaseServices): Promise<Purchase> {
  const told = await asked.cardState(purchase.quoteId);
  if (told?.state === 'paid') return ended(purchase, 'credited', asked);
  if (told?.state === 'failed' || told?.state === 'refunded') return ended(purchase, 'failed', asked);
  const isUntold = told === undefined && purchase.way === 'card';
  if (isUntold && (await asked.balance(purchase.to)) >= purchase.wincBefore + purchase.winc) {
    return ended(purchase, 'credited', asked);
  }
  return asked.now() > purchase.expiresAt + graceMs ? ended(purchase, 'cancelled', asked) : purchase;
}

/** A transaction that the service cannot find yet may be on its way for so long. */
const findingMs = 30 * 60_000;

async function lookAtCoin(purchase: CoinPurchase, asked: PurchaseServices): Promise<Purchase> {
  try {
    const { state, winc, reason } = await asked.report(purchase.token, purchase.transactionId);
    const found = { ...purchase, winc, state: 'paid' as const };
    if (state === 'pending') return found;
    if (state === 'credited') return ended(found, 'credited', asked);
    return { ...ended(found, 'failed', asked), ...(reason !== undefined && { problem: reason }) };
  } catch (error) {
    if (!(error instanceof ServiceError) || !isRefusal(error)) throw error;
    const isYoung = asked.now() - purchase.madeAt < findingMs;
    if (error.status === 404 && isYoung) return purchase;
    return { ...ended(purchase, 'failed', asked), problem: error.message };
  }
}

async function lookAtX402(purchase: X402Purchase, asked: PurchaseServices): Promise<Purchase> {
  try {
    const { creditedWinc, x402SettlementResponse } = await asked.pay(
      purchase.credits,
      purchase.to,
      purchase.payment,
    );
    const { transaction } = x402SettlementResponse;
    return { ...ended(purchase, 'credited', asked), winc: BigInt(creditedWinc), transactionId: transaction };
  } catch (error) {
    // 409: it is being settled right now.
    if (!(error instanceof ServiceError) || !isRefusal(error) || error.status === 409) throw error;
    return { ...ended(purchase, 'failed', asked), problem: error.message };
  }
}

/** What will not get better by asking again. */
const isRefusal = ({ status }: ServiceError): boolean => status >= 400 && status < 500 && status !== 429;

const ended = <P extends Purchase>(purchase: P, state: Purchase['state'], { now }: PurchaseServices): P => ({
  ...purchase,
  state,
  endedAt: now(),
});
