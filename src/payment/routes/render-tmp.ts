/** Interface §2 "Payment transaction" and its credited and failed forms. */
import type { ChainPaymentRow } from '../../payments/chain/store.ts';

/** `transactionQuantity` is a number in the contract; as a bigint it keeps all digits on the wire. */
export function renderTransaction(row: ChainPaymentRow) {
  const common = {
    transactionId: row.transaction_id,
    transactionQuantity: BigInt(row.quantity),
    createdAt: iso(row.created_at),
    tokenType: row.token,
    destinationAddress: row.destination,
    destinationAddressType: row.destination_type,
    winstonCreditAmount: row.winc,
    adjustments: JSON.parse(row.adjustments) as unknown,
    transactionSenderAddress: row.sender,
  };
  switch (row.state) {
    case 'pending':
      return common;
    case 'credited':
      return { ...common, blockHeight: row.block_height ?? 0, creditedAt: iso(row.ended_at ?? 0) };
    case 'failed':
      return {
        ...common,
        failedAt: iso(row.ended_at ?? 0),
        failureReason: row.failure_reason ?? '',
        // The name under which published services send it.
        failedReason: row.failure_reason ?? '',
      };
  }
}

const iso = (milliseconds: number): string => new Date(milliseconds).toISOString();
