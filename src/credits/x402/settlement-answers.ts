/** What is said about a payment: the protocol's answer for each end it can have, and the receipt. */
import type { SettleAnswer } from '../../formats/x402/facilitator.ts';
import { findX402Network, type X402Network } from '../../formats/x402/networks.ts';
import type { PaymentRow } from './payment-rows.ts';
import type { X402Receipt } from './x402.ts';

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
  };
}

/** Atomic units as dollars with six decimals. */
export function dollars(value: bigint): string {
  const text = value.toString().padStart(7, '0');
  return `${text.slice(0, -6)}.${text.slice(-6)}`;
}
