/** How a payment is asked for and refused, in the protocol's own shapes and the same on every surface. */
import { settlementHeaders } from '../../formats/x402/facilitator.ts';
import { MalformedPayment } from '../../formats/x402/payment.ts';
import { HttpError } from '../../kernel/errors.ts';
import {
  X402InProgress,
  type X402Payments,
  type X402Quote,
  X402Refused,
  X402SettlementFailed,
  X402SignatureInvalid,
} from './x402.ts';

const noStore = { 'cache-control': 'no-store' };

export const invalidPayment = () =>
  new HttpError(403, 'Invalid signature or missing required headers', { headers: noStore });

/** The 402 that asks for a payment, or says why the one that came was not taken. */
export function paymentRequired(x402: X402Payments, quote: X402Quote, reason?: string): HttpError {
  const { body, headers } = x402.challenge(quote, reason);
  return new HttpError(402, body, { headers: { ...noStore, ...headers } });
}

/** Failures of a payment as answers; anything else is passed on. `unreadable` answers a payment that is none. */
export function paymentAnswer(
  error: unknown,
  x402: X402Payments,
  quote: X402Quote,
  unreadable: () => HttpError = invalidPayment,
): unknown {
  if (error instanceof MalformedPayment || error instanceof X402SignatureInvalid) return unreadable();
  if (error instanceof X402Refused) return paymentRequired(x402, quote, error.reason);
  // Not 402, which would invite a second payment while the first may have been made.
  if (error instanceof X402SettlementFailed) {
    const headers = { ...noStore, ...settlementHeaders(error.settlement) };
    return new HttpError(503, 'Payment settlement failed', { cause: error, retryAfter: 10, headers });
  }
  if (error instanceof X402InProgress) {
    return new HttpError(409, 'Payment settlement in progress', { retryAfter: 2, headers: noStore });
  }
  return error;
}
