/** How an item is paid: by a payment of its own, out of the free allowance, or with credits. */
import type { SpendRequest, Winc } from '../../credits/credits.ts';
import type { ItemHeader } from '../../formats/ans104/item-header.ts';
import type { Pricing } from '../../pricing/pricing.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import type { WalletAddress } from '../../wallets/address.ts';
import { uploadErrors } from '../errors.ts';
import type { FreeTier } from './free-tier.ts';

/** Who pays, and for what is free, whose allowance it counts against. */
export interface Payers {
  /** Wallets to charge first, in order, in normal form. */
  readonly paidBy: readonly string[];
  readonly clientAddress: string;
  /** Runs first in the transaction that stores the item, and throws where that must not happen any more. */
  readonly guard?: (tx: SqlExecutor) => Promise<void>;
  /** A payment that came with the request. */
  readonly prepaid?: Prepaid;
  /** A payment that was taken when the upload began. */
  readonly reserved?: ReservedPayment;
}

/** A payment of the request's own (x402), taken when the item is known to be good. */
export interface Prepaid {
  /** Whether it was made for an item of this size: for exactly one, or for any up to one. */
  covers(size: number): boolean;
  /** Takes the payment, and has the price reserved out of it. */
  settle(itemId: string, size: number): Promise<ReservedPayment>;
}

/** A payment out of which the price of an upload is reserved: nobody else is charged for it. */
export interface ReservedPayment {
  /** The payment's id. */
  readonly payment: string;
  /** What is reserved: the upload costs no more. */
  readonly winc: Winc;
  /** What the receipt says about it. */
  readonly answer: Readonly<Record<string, unknown>>;
}

export type Payment =
  | { readonly kind: 'free'; readonly clientAddress: string }
  | { readonly kind: 'credits'; readonly spend: Omit<SpendRequest, 'id' | 'reason'> }
  /** Paid by a payment of its own, out of what that reserved: the receipt says that no credits were charged. */
  | { readonly kind: 'prepaid'; readonly payment: string; readonly amount: Winc };

/** What the price depends on beside the size. */
interface PricedItem {
  readonly id: string;
  readonly header: Pick<ItemHeader, 'signatureType'>;
  readonly signer: WalletAddress;
}

/** `free`: whether the allowance may be asked for. Takes the payment that came with the request. */
export async function paymentFor(
  { freeTier, pricing }: { readonly freeTier: FreeTier; readonly pricing: Pricing },
  { prepaid, reserved, paidBy, clientAddress }: Payers,
  { id, signer, header }: PricedItem,
  size: number,
  free: boolean,
): Promise<{ readonly payment: Payment; readonly answer: ReservedPayment['answer'] }> {
  if (prepaid !== undefined) {
    if (!prepaid.covers(size)) throw uploadErrors.sizeMismatch();
    const { payment, winc: amount, answer } = await prepaid.settle(id, size);
    return { payment: { kind: 'prepaid', payment, amount }, answer };
  }
  if (reserved !== undefined) {
    const { payment, winc: most, answer } = reserved;
    // As it was offered when it was paid: without what is limited per user, which nobody was then.
    const { winc: price } = await pricing.quoteBytes(size);
    return { payment: { kind: 'prepaid', payment, amount: price < most ? price : most }, answer };
  }
  if (free && freeTier.covers(size, signer.address)) {
    return { payment: { kind: 'free', clientAddress }, answer: {} };
  }
  // Aptos keys (types 5 and 6) have no wallet here that could hold credits.
  if (header.signatureType === 5 || header.signatureType === 6) throw uploadErrors.unpayableType();
  const quote = await pricing.quoteBytes(size, signer.address);
  const spend = {
    signer: signer.address,
    signerType: signer.kind,
    amount: quote.winc,
    networkWinc: quote.networkWinc,
    adjustments: quote.adjustments,
    paidBy,
  };
  return { payment: { kind: 'credits', spend }, answer: {} };
}
