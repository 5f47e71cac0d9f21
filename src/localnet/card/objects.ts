/**
 * The objects the provider keeps and answers: a subset of Stripe's members with Stripe's types, so that the
 * compiler notices when one drifts from what the official client expects. References are plain ids here;
 * `expand` replaces them in an answer.
 */
import type Stripe from 'stripe';

type Common = 'id' | 'object' | 'amount' | 'created' | 'currency' | 'metadata';

export interface PaymentIntent
  extends Pick<
    Stripe.PaymentIntent,
    | Common
    | 'amount_received'
    | 'canceled_at'
    | 'cancellation_reason'
    | 'capture_method'
    | 'confirmation_method'
    | 'description'
    | 'livemode'
    | 'payment_method_types'
    | 'receipt_email'
  > {
  readonly client_secret: string;
  customer: null;
  last_payment_error: PaymentError | null;
  latest_charge: string | null;
  next_action: null;
  payment_method: string | null;
  status: 'canceled' | 'requires_confirmation' | 'requires_payment_method' | 'succeeded';
}

export interface PaymentError {
  readonly type: 'card_error';
  readonly code: string;
  readonly message: string;
  readonly decline_code?: string;
  readonly charge: string;
}

export interface Charge
  extends Pick<
    Stripe.Charge,
    | Common
    | 'amount_captured'
    | 'amount_refunded'
    | 'captured'
    | 'description'
    | 'disputed'
    | 'failure_code'
    | 'failure_message'
    | 'livemode'
    | 'paid'
    | 'refunded'
  > {
  payment_intent: string;
  payment_method: string;
  payment_method_details: { type: 'card'; card: { brand: string; last4: string } };
  status: 'failed' | 'succeeded';
}

export interface Refund extends Pick<Stripe.Refund, Common | 'failure_reason'> {
  charge: string;
  payment_intent: string;
  reason: string | null;
  status: 'failed' | 'succeeded';
}

export interface Dispute
  extends Pick<Stripe.Dispute, Common | 'is_charge_refundable' | 'livemode' | 'reason'> {
  charge: string;
  evidence: { uncategorized_text: string | null };
  evidence_details: { due_by: number; has_evidence: boolean; submission_count: number };
  payment_intent: string;
  status: 'lost' | 'needs_response' | 'won';
}

export interface CheckoutSession
  extends Pick<
    Stripe.Checkout.Session,
    | 'id'
    | 'object'
    | 'amount_subtotal'
    | 'cancel_url'
    | 'client_reference_id'
    | 'client_secret'
    | 'created'
    | 'customer_email'
    | 'expires_at'
    | 'livemode'
    | 'metadata'
    | 'mode'
    | 'payment_method_types'
    | 'redirect_on_completion'
    | 'return_url'
    | 'success_url'
    | 'ui_mode'
    | 'url'
  > {
  amount_total: number;
  automatic_tax: { enabled: boolean; status: 'complete' | null };
  currency: string;
  payment_intent: string | null;
  payment_status: 'paid' | 'unpaid';
  status: 'complete' | 'expired' | 'open';
}

export type CardObject = Charge | CheckoutSession | Dispute | PaymentIntent | Refund;

/** What one checkout sells, shown on its page; kept beside the session, answered by its `line_items`. */
export interface LineItem {
  readonly id: string;
  readonly object: 'item';
  readonly amount_subtotal: number;
  readonly amount_total: number;
  readonly currency: string;
  readonly description: string;
  readonly details: string | null;
  readonly quantity: number;
}

export interface CardEvent {
  readonly id: string;
  readonly object: 'event';
  readonly api_version: string;
  readonly created: number;
  readonly data: { readonly object: CardObject };
  readonly livemode: false;
  readonly pending_webhooks: number;
  readonly request: { readonly id: string | null; readonly idempotency_key: string | null };
  readonly type: string;
}
