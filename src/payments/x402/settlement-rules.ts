/** What a payment's end means: the protocol's answers and the receipt, what is credited, what a refusal proves. */

import type { Credits } from '../../credits/credits.ts';
import type { SettleAnswer } from '../../formats/x402/facilitator.ts';
import { x402Reasons } from '../../formats/x402/facilitator.ts';
import { findX402Network, type X402Network } from '../../formats/x402/networks.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import type { PaymentRow } from './payment-rows.ts';
import type { SignedPayment, X402Receipt } from './x402.ts';
import { X402Refused } from './x402.ts';

/** What a payment is known by: no two of one payer on one chain have the same nonce. */
export const paymentId = ({ network, payer, payment }: SignedPayment): string =>
  `${network.caip2}:${payer}:${payment.authorization.nonce}`;

export function networkOf(row: PaymentRow): X402Network {
  const network = findX402Network(row.network);
  if (network === undefined) throw new Error(`x402 payment on unknown network ${row.network}`);
  return network;
}

export function success(row: PaymentRow, transaction: string): SettleAnswer {
  return { success: true, transaction, network: row.request.paymentRequirements.network, payer: row.payer };
}

export function failure(row: PaymentRow, errorReason: string): SettleAnswer {
  const { network } = row.request.paymentRequirements;
  return { success: false, errorReason, transaction: '', network, payer: row.payer };
}

export function receipt(
  row: PaymentRow,
  settlement: SettleAnswer,
  payTo: string,
  applied: boolean,
): X402Receipt {
  return {
    id: row.id,
    payer: row.payer,
    walletAddress: row.address,
    creditedWinc: row.winc,
    value: row.value,
    settlement,
    payTo,
    applied,
    ...(row.purchase === undefined || row.reserved === undefined
      ? {}
      : { purchase: { state: row.purchase, reserved: row.reserved, item: row.item } }),
  };
}

/** In the transaction that ends the payment. `purchase`: whether the price of what it is for is reserved out of it. */
export async function creditPaymentIn(
  tx: SqlExecutor,
  credits: Credits,
  row: PaymentRow,
  settlement: SettleAnswer,
  purchase: 'reserved' | 'returned',
): Promise<void> {
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
      usdEquivalent: dollars(row.value),
      senderAddress: row.payer,
      transactionId: settlement.transaction,
    },
  });
  if (!applied) throw new Error(`x402 payment ${row.id} was credited before it was settled`);
}

/**
 * A payment buys once what it was first sent for, for whom it was sent. Its signature is on the chain for all to read
 * once it is settled, so that whoever sends it again for something else need not be its payer, and is not told whom
 * it credited.
 */
export function refuseOtherUse(first: PaymentRow, now: PaymentRow): void {
  if (!isSameUse(first, now)) throw new X402Refused(x402Reasons.nonceUsed);
}

export const isSameUse = (first: PaymentRow, now: PaymentRow): boolean =>
  first.purpose === now.purpose && first.reference === now.reference && first.address === now.address;

/**
 * Whether the first asking was refused for what the payment itself is, or for want of funds, so that nothing was sent.
 * A nonce that is used up is no such reason: whoever has read the payment can have it carried out without us.
 */
export const provesNothingSent = ({ errorReason = '' }: SettleAnswer): boolean =>
  (harmless.has(errorReason) || errorReason.startsWith('invalid_exact_evm_payload_')) &&
  !/nonce|used/.test(errorReason);

const harmless: ReadonlySet<string> = new Set([
  x402Reasons.funds,
  x402Reasons.network,
  x402Reasons.requirements,
  x402Reasons.scheme,
  x402Reasons.version,
  'invalid_payload',
  'unsupported_scheme',
]);

/** Atomic units as dollars with six decimals. */
function dollars(value: bigint): string {
  const text = value.toString().padStart(7, '0');
  return `${text.slice(0, -6)}.${text.slice(-6)}`;
}
