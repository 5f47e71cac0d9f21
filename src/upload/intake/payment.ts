/** What an item is paid with: a payment of its own, the free allowance, or credits. */
import type { Pricing } from '../../pricing/pricing.ts';
import { uploadErrors } from '../errors.ts';
import type { FreeTier } from './free-tier.ts';
import type { Admitted, Payers, ReservedPayment } from './intake.ts';
import type { Payment } from './store-item.ts';

/** `free`: whether the allowance may be asked for. Takes the payment that came with the request. */
export async function paymentFor(
  { freeTier, pricing }: { readonly freeTier: FreeTier; readonly pricing: Pricing },
  { prepaid, reserved, paidBy, clientAddress }: Payers,
  { id, signer, header }: Admitted,
  size: number,
  free: boolean,
): Promise<{ readonly payment: Payment; readonly answer: ReservedPayment['answer'] }> {
  if (prepaid !== undefined) {
    if (prepaid.bytes !== size) throw uploadErrors.sizeMismatch();
    const { payment, winc: amount, answer } = await prepaid.settle(id);
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
