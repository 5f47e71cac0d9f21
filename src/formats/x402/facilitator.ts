/** What is asked of a facilitator and what it answers (x402 specification, "Facilitator interface"). */
import type { PaymentPayload } from './payment.ts';
import type { RequirementV1, RequirementV2 } from './requirements.ts';

export interface FacilitatorRequest {
  readonly x402Version: 1 | 2;
  readonly paymentPayload: PaymentPayload;
  readonly paymentRequirements: RequirementV1 | RequirementV2;
}

export interface VerifyAnswer {
  readonly isValid: boolean;
  readonly invalidReason?: string;
  readonly payer?: string;
}

export interface SettleAnswer {
  readonly success: boolean;
  readonly errorReason?: string;
  /** Hash of the chain's transaction; empty when it failed. */
  readonly transaction: string;
  readonly network: string;
  readonly payer?: string;
  /** By the `upto` scheme: what was taken. */
  readonly amount?: string;
}

/** `X-PAYMENT-RESPONSE` and `PAYMENT-RESPONSE`: the settlement as base64 JSON. */
export function settlementHeaders(answer: SettleAnswer): Record<string, string> {
  const encoded = Buffer.from(JSON.stringify(answer)).toString('base64');
  return { 'x-payment-response': encoded, 'payment-response': encoded };
}

/** Why a payment is refused, in the protocol's own words. */
export const x402Reasons = {
  paymentRequired: 'X-PAYMENT header is required',
  version: 'invalid_x402_version',
  scheme: 'invalid_scheme',
  network: 'invalid_network',
  requirements: 'invalid_payment_requirements',
  recipient: 'invalid_exact_evm_payload_recipient_mismatch',
  value: 'invalid_exact_evm_payload_authorization_value',
  validAfter: 'invalid_exact_evm_payload_authorization_valid_after',
  validBefore: 'invalid_exact_evm_payload_authorization_valid_before',
  signature: 'invalid_exact_evm_payload_signature',
  funds: 'insufficient_funds',
  nonceUsed: 'invalid_exact_evm_nonce_already_used',
  permitSpender: 'invalid_permit2_spender',
  permitRecipient: 'invalid_permit2_recipient_mismatch',
  permitFacilitator: 'upto_facilitator_mismatch',
  permitToken: 'permit2_token_mismatch',
  permitAmount: 'permit2_amount_mismatch',
  permitValidAfter: 'permit2_not_yet_valid',
  permitDeadline: 'permit2_deadline_expired',
  permitSignature: 'invalid_permit2_signature',
  permitFunds: 'permit2_insufficient_balance',
  permitNonceUsed: 'permit2_invalid_nonce',
  permitExceeded: 'invalid_upto_evm_payload_settlement_exceeds_amount',
  unexpectedVerify: 'unexpected_verify_error',
  unexpectedSettle: 'unexpected_settle_error',
} as const;

const refusedBeforeSending: ReadonlySet<string> = new Set([
  x402Reasons.funds,
  x402Reasons.network,
  x402Reasons.requirements,
  x402Reasons.scheme,
  x402Reasons.version,
  'invalid_payload',
  'unsupported_scheme',
]);

/**
 * Whether the first asking was refused for what the payment itself is, or for want of funds, so that nothing was sent.
 * A nonce that is used up is no such reason: anybody who has read the payment can have it carried out without us.
 */
export const provesNothingSent = ({ errorReason = '' }: SettleAnswer): boolean =>
  (refusedBeforeSending.has(errorReason) || aboutThePayment.test(errorReason)) &&
  !/nonce|used|transaction/.test(errorReason);

const aboutThePayment = /^(?:invalid_exact_evm_payload_|invalid_upto_evm_|upto_|invalid_permit2_|permit2_)/;
