/** What an item is paid with: a payment of its own, the free allowance, or credits. */
import { type Winc, winc } from '../../credits/credits.ts';
import type { Pricing } from '../../pricing/pricing.ts';
import { uploadErrors } from '../errors.ts';
import type { FreeTier } from './free-tier.ts';
import type { Admitted, Payers, SettledPayment } from './intake.ts';
import type { Payment } from './store-item.ts';

/** `free`: whether the allowance may be asked for. Takes the payment that came with the request. */
export async function paymentFor(
  { freeTier, pricing }: { readonly freeTier: FreeTier; readonly pricing: Pricing },
  { prepaid, charged, paidBy, clientAddress }: Payers,
  { id, signer, header }: Admitted,
  size: number,
  free: boolean,
): Promise<{ readonly payment: Payment; readonly answer: SettledPayment['answer'] }> {
  if (prepaid !== undefined) {
    if (prepaid.bytes !== size) throw uploadErrors.sizeMismatch();
    const { account, winc: amount, answer } = await prepaid.settle(id);
    const spend = { signer: account.address, signerType: account.kind, amount };
    return { payment: { kind: 'prepaid', spend }, answer };
  }
  if (charged !== undefined) {
    const { address, kind } = charged.account;
    // As it was offered when it was paid: without what is limited per user, which this account is not.
    const { winc: price } = await pricing.quoteBytes(size);
    const spend = { signer: address, signerType: kind, amount: atMost(price, charged.most) };
    return { payment: { kind: 'prepaid', spend }, answer: charged.answer };
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

export const atMost = (price: Winc, most: bigint): Winc => (price < most ? price : winc(most));
