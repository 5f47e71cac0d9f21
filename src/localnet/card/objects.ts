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
  customer: string | null;
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
  balance_transaction: string | null;
  customer: string | null;
  payment_intent: string;
  payment_method: string;
  payment_method_details: { type: 'card'; card: { brand: string; fingerprint: string; last4: string } };
  receipt_url: string | null;
  status: 'failed' | 'succeeded';
}

export interface Refund extends Pick<Stripe.Refund, Common | 'failure_reason'> {
  balance_transaction: string | null;
  charge: string;
  payment_intent: string;
  reason: string | null;
  status: 'failed' | 'succeeded';
}

export interface Dispute
  extends Pick<Stripe.Dispute, Common | 'is_charge_refundable' | 'livemode' | 'reason'> {
  balance_transactions: BalanceTransaction[];
  charge: string;
  evidence: Record<string, string | null>;
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
  customer: string | null;
  customer_details: { email: string | null; name: string | null } | null;
  payment_intent: string | null;
  payment_status: 'paid' | 'unpaid';
  status: 'complete' | 'expired' | 'open';
}

/** How one movement changed the balance: `net` is what stays of it after the provider's fee. */
export interface BalanceTransaction
  extends Pick<
    Stripe.BalanceTransaction,
    | 'id'
    | 'object'
    | 'amount'
    | 'available_on'
    | 'created'
    | 'currency'
    | 'description'
    | 'exchange_rate'
    | 'fee'
    | 'fee_details'
    | 'net'
    | 'reporting_category'
    | 'status'
    | 'type'
  > {
  source: string;
}

export interface Customer
  extends Pick<
    Stripe.Customer,
    | 'id'
    | 'object'
    | 'balance'
    | 'created'
    | 'delinquent'
    | 'description'
    | 'email'
    | 'livemode'
    | 'metadata'
    | 'name'
    | 'phone'
  > {}

export interface PaymentMethod
  extends Pick<Stripe.PaymentMethod, 'id' | 'object' | 'created' | 'livemode' | 'metadata'> {
  billing_details: { address: null; email: string | null; name: string | null; phone: string | null };
  card: Pick<
    Stripe.PaymentMethod.Card,
    'brand' | 'country' | 'display_brand' | 'exp_month' | 'exp_year' | 'funding' | 'last4'
  > & { fingerprint: string };
  customer: string | null;
  type: 'card';
}

export interface Product
  extends Pick<
    Stripe.Product,
    | 'id'
    | 'object'
    | 'active'
    | 'created'
    | 'description'
    | 'images'
    | 'livemode'
    | 'metadata'
    | 'name'
    | 'updated'
    | 'url'
  > {
  default_price: string | null;
}

export interface Price
  extends Pick<
    Stripe.Price,
    | 'id'
    | 'object'
    | 'active'
    | 'billing_scheme'
    | 'created'
    | 'currency'
    | 'livemode'
    | 'lookup_key'
    | 'metadata'
    | 'nickname'
    | 'recurring'
    | 'tax_behavior'
    | 'type'
  > {
  product: string;
  unit_amount: number;
  unit_amount_decimal: string;
}

export interface WebhookEndpoint
  extends Pick<
    Stripe.WebhookEndpoint,
    | 'id'
    | 'object'
    | 'api_version'
    | 'created'
    | 'description'
    | 'enabled_events'
    | 'livemode'
    | 'metadata'
    | 'url'
  > {
  status: 'disabled' | 'enabled';
}

/** What is left of an object that was deleted. */
export interface Deleted {
  readonly id: string;
  readonly object: 'customer' | 'product' | 'webhook_endpoint';
  readonly deleted: true;
}

export type CardObject =
  | BalanceTransaction
  | Charge
  | CheckoutSession
  | Customer
  | Deleted
  | Dispute
  | PaymentIntent
  | PaymentMethod
  | Price
  | Product
  | Refund
  | WebhookEndpoint;

/** What one checkout sells, shown on its page; kept beside the session, answered by its `line_items`. */
export interface LineItem {
  readonly id: string;
  readonly object: 'item';
  readonly amount_subtotal: number;
  readonly amount_total: number;
  readonly currency: string;
  readonly description: string;
  readonly details: string | null;
  readonly price: string | null;
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
