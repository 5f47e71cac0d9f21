/** What a server answers a request whose payment it did not take: the same on every surface, in both versions. */
import { type SettleAnswer, settlementHeaders, x402Reasons } from './facilitator.ts';
import type { X402Challenge } from './requirements.ts';

/** Why a payment was not taken. */
export type PaymentProblem =
  /** It is no payment, or its signature is not the payer's. */
  | { readonly kind: 'unreadable' }
  /** There is none, or it cannot be taken; `reason` is the protocol's word for why. */
  | {
      readonly kind: 'refused';
      readonly reason: string;
      /** More that the payer is told, beside what the protocol names. */
      readonly fields?: Readonly<Record<string, string>>;
    }
  /** The transfer was not carried out, or it is not known whether it was. */
  | { readonly kind: 'not-settled'; readonly settlement: SettleAnswer }
  /** The same payment is being settled right now. */
  | { readonly kind: 'in-progress' };

export const noPayment = {
  kind: 'refused',
  reason: x402Reasons.paymentRequired,
} as const satisfies PaymentProblem;

export interface PaymentAnswer {
  readonly status: 402 | 403 | 409 | 503;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
  /** Seconds. */
  readonly retryAfter?: number;
}

const noStore = { 'cache-control': 'no-store' };

/** `challenge` makes the 402 that asks for the payment, with the reason why there is one. */
export function paymentAnswer(
  problem: PaymentProblem,
  challenge: (reason: string) => X402Challenge,
): PaymentAnswer {
  switch (problem.kind) {
    case 'unreadable':
      return { status: 403, body: 'Invalid signature or missing required headers', headers: noStore };
    case 'refused': {
      const { reason, fields } = problem;
      const { body: asked, headers } = challenge(reason);
      // The reason stays first, and no name of the protocol is taken.
      const body = { error: reason, ...fields, ...asked };
      return { status: 402, body, headers: { ...noStore, ...headers } };
    }
    case 'not-settled': {
      // Not 402, which would invite a second payment while the first may have been made.
      const headers = { ...noStore, ...settlementHeaders(problem.settlement) };
      return { status: 503, body: 'Payment settlement failed', headers, retryAfter: 10 };
    }
    case 'in-progress':
      return { status: 409, body: 'Payment settlement in progress', headers: noStore, retryAfter: 2 };
  }
}
