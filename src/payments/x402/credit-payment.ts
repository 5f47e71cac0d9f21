/** Ending a payment with its credit: the row and the ledger change together, once. */
import type { Credits } from '../../credits/credits.ts';
import type { SettleAnswer } from '../../formats/x402/facilitator.ts';
import { toText } from '../../pricing/decimal.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { endCredited, type PaymentRow } from './payment-rows.ts';

/** Decimals of the token. */
const usdcScale = 6;

/**
 * False when it was credited before. Whoever knows of the transfer may, with a lease or without, and also after another
 * gave the payment up: what was paid is credited. `purchase`: whether the price of what it is for is reserved out of it.
 */
export async function creditPayment(
  tx: SqlExecutor,
  credits: Credits,
  row: PaymentRow,
  settlement: SettleAnswer,
  purchase: 'reserved' | 'returned',
  now: number,
): Promise<boolean> {
  if (!(await endCredited(tx, row, settlement, purchase, now))) return false;
  const { applied } = await credits.within(tx).credit({
    address: row.address,
    addressType: row.addressType,
    amount: row.winc,
    reason: 'x402_payment',
    id: row.id,
    ...(row.reserved === undefined || purchase === 'returned'
      ? {}
      : { reserve: { reason: 'upload', id: row.id, amount: row.reserved } }),
    payment: {
      type: 'crypto',
      tokenType: 'usdc',
      tokenQuantity: row.value.toString(),
      usdEquivalent: toText({ digits: row.value, scale: usdcScale }),
      senderAddress: row.payer,
      transactionId: settlement.transaction,
    },
  });
  if (!applied) throw new Error(`x402 payment ${row.id} was credited before it was settled`);
  return true;
}

/** What the protocol answers for a payment that was carried out, or was not. */
export function settled(row: PaymentRow, transaction: string): SettleAnswer {
  const { network, scheme } = row.request.paymentRequirements;
  const taken = scheme === 'upto' ? { amount: row.value.toString() } : {};
  return { success: true, transaction, network, payer: row.payer, ...taken };
}

export function notSettled(row: PaymentRow, errorReason: string): SettleAnswer {
  const { network } = row.request.paymentRequirements;
  return { success: false, errorReason, transaction: '', network, payer: row.payer };
}
