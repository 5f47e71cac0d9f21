/** Payment intents, the charges they cause with test cards, and what may follow: refunds and disputes. */
import { cardFee, disputeFee, recordMovement } from './balance.ts';
import { invalidRequest } from './errors.ts';
import type { Charge, Dispute, PaymentError, PaymentIntent, PaymentMethod, Refund } from './objects.ts';
import { cardOf } from './payment-methods.ts';
import { announce, type Change, clientSecretFor, getObject, newId, putObject } from './store.ts';
import { cardByFingerprint, cardByMethod } from './test-cards.ts';

/** What a payment is for; a checkout keeps it until its page is paid. */
export interface IntentOrder {
  readonly amount: number;
  readonly currency: string;
  readonly customer?: string | null;
  readonly description: string | null;
  readonly metadata: Record<string, string>;
  readonly methodTypes: readonly string[];
  readonly receiptEmail: string | null;
}

/** Smallest charge per currency (https://docs.stripe.com/currencies#minimum-and-maximum-charge-amounts). */
const smallest = new Map([
  ...['aud', 'brl', 'cad', 'eur', 'inr', 'jpy', 'sgd', 'usd'].map((currency) => [currency, 50] as const),
  ['gbp', 30],
  ['hkd', 400],
]);
const largest = 99_999_999;

export function checkAmount(amount: number, currency: string): void {
  const minimum = smallest.get(currency);
  if (minimum === undefined) throw invalidRequest(`Invalid currency: ${currency}`, { param: 'currency' });
  const refuse = (text: string, code: string) =>
    invalidRequest(`Amount must be ${text} ${currency}`, { code, param: 'amount' });
  if (amount < minimum) throw refuse(`at least ${minimum}`, 'amount_too_small');
  if (amount > largest) throw refuse(`no more than ${largest}`, 'amount_too_large');
}

export async function createIntent(change: Change, order: IntentOrder): Promise<PaymentIntent> {
  checkAmount(order.amount, order.currency);
  const id = newId.paymentIntent();
  const intent: PaymentIntent = {
    id,
    object: 'payment_intent',
    amount: order.amount,
    amount_received: 0,
    canceled_at: null,
    cancellation_reason: null,
    capture_method: 'automatic',
    client_secret: clientSecretFor(id),
    confirmation_method: 'automatic',
    created: change.now,
    currency: order.currency,
    customer: order.customer ?? null,
    description: order.description,
    last_payment_error: null,
    latest_charge: null,
    livemode: false,
    metadata: order.metadata,
    next_action: null,
    payment_method: null,
    payment_method_types: [...order.methodTypes],
    receipt_email: order.receiptEmail,
    status: 'requires_payment_method',
  };
  await putObject(change, intent);
  await announce(change, 'payment_intent.created', intent);
  return intent;
}

export interface Confirmation {
  readonly intent: PaymentIntent;
  /** Set when the card refused; the intent can then be confirmed again with another card. */
  readonly declined: PaymentError | undefined;
}

/** Charges the card. A refusal is an outcome that is kept, not an error that undoes the change. */
export async function confirmIntent(
  change: Change,
  intent: PaymentIntent,
  method: PaymentMethod,
): Promise<Confirmation> {
  requireOpen(intent, 'confirm');
  const card = cardOf(method);
  const charge = newCharge(change, intent, method);
  if (card.outcome.kind === 'decline') {
    const { code, message, declineCode } = card.outcome;
    const declined: PaymentError = {
      type: 'card_error',
      code,
      message,
      charge: charge.id,
      ...(declineCode === undefined ? {} : { decline_code: declineCode }),
    };
    const failed: Charge = { ...charge, failure_code: code, failure_message: message };
    const waiting = await record(change, failed, 'payment_failed', {
      ...intent,
      last_payment_error: declined,
      payment_method: null,
      status: 'requires_payment_method',
    });
    return { intent: waiting, declined };
  }

  const disputed = card.outcome.kind === 'dispute';
  const movement = await recordMovement(change, {
    type: 'charge',
    category: 'charge',
    amount: intent.amount,
    fee: cardFee(intent.amount),
    currency: intent.currency,
    source: charge.id,
    description: intent.description,
  });
  const paid: Charge = {
    ...charge,
    amount_captured: intent.amount,
    balance_transaction: movement.id,
    captured: true,
    disputed,
    paid: true,
    receipt_url: `${change.publicUrl}/receipts/${charge.id}`,
    status: 'succeeded',
  };
  const succeeded = await record(change, paid, 'succeeded', {
    ...intent,
    amount_received: intent.amount,
    last_payment_error: null,
    payment_method: method.id,
    status: 'succeeded',
  });
  if (card.outcome.kind === 'dispute') await openDispute(change, paid, card.outcome.reason);
  return { intent: succeeded, declined: undefined };
}

/** A charge and what it makes of its intent, kept and announced. */
async function record(
  change: Change,
  charge: Charge,
  event: 'payment_failed' | 'succeeded',
  after: PaymentIntent,
): Promise<PaymentIntent> {
  const intent = { ...after, latest_charge: charge.id };
  await putObject(change, charge, intent.id);
  await putObject(change, intent);
  await announce(change, `charge.${charge.status}`, charge);
  await announce(change, `payment_intent.${event}`, intent);
  return intent;
}

export async function cancelIntent(
  change: Change,
  intent: PaymentIntent,
  reason: string | undefined,
): Promise<PaymentIntent> {
  requireOpen(intent, 'cancel');
  const canceled: PaymentIntent = {
    ...intent,
    canceled_at: change.now,
    cancellation_reason: reason ?? null,
    status: 'canceled',
  };
  await putObject(change, canceled);
  await announce(change, 'payment_intent.canceled', canceled);
  return canceled;
}

function newCharge(change: Change, intent: PaymentIntent, method: PaymentMethod): Charge {
  const { brand, fingerprint, last4 } = method.card;
  return {
    id: newId.charge(),
    object: 'charge',
    amount: intent.amount,
    amount_captured: 0,
    amount_refunded: 0,
    balance_transaction: null,
    captured: false,
    created: change.now,
    currency: intent.currency,
    customer: intent.customer,
    description: intent.description,
    disputed: false,
    failure_code: null,
    failure_message: null,
    livemode: false,
    metadata: intent.metadata,
    paid: false,
    payment_intent: intent.id,
    payment_method: method.id,
    payment_method_details: { type: 'card', card: { brand, fingerprint, last4 } },
    receipt_url: null,
    refunded: false,
    status: 'failed',
  };
}

async function openDispute(change: Change, charge: Charge, reason: string): Promise<void> {
  const week = 7 * 24 * 3600;
  const id = newId.dispute();
  const withdrawn = await recordMovement(change, disputed(id, charge, -charge.amount, disputeFee));
  const dispute: Dispute = {
    id,
    object: 'dispute',
    amount: charge.amount,
    balance_transactions: [withdrawn],
    charge: charge.id,
    created: change.now,
    currency: charge.currency,
    evidence: { uncategorized_text: null },
    evidence_details: { due_by: change.now + week, has_evidence: false, submission_count: 0 },
    is_charge_refundable: false,
    livemode: false,
    metadata: {},
    payment_intent: charge.payment_intent,
    reason,
    status: 'needs_response',
  };
  await putObject(change, dispute, charge.payment_intent);
  await announce(change, 'charge.dispute.created', dispute);
  await announce(change, 'charge.dispute.funds_withdrawn', dispute);
}

/** What a dispute takes, and what comes back when it is won. */
const disputed = (source: string, charge: Pick<Charge, 'currency'>, amount: number, fee: number) => ({
  type: 'adjustment' as const,
  category: 'dispute',
  amount,
  fee,
  currency: charge.currency,
  source,
  description: null,
});

export function requireOpen({ status }: PaymentIntent, verb: string): void {
  if (status !== 'succeeded' && status !== 'canceled') return;
  throw invalidRequest(`You cannot ${verb} this PaymentIntent because it has a status of ${status}.`, {
    code: 'payment_intent_unexpected_state',
  });
}

interface RefundOrder {
  readonly amount: number | undefined;
  readonly reason: string | undefined;
  readonly metadata: Record<string, string>;
}

export async function refundIntent(
  change: Change,
  intent: PaymentIntent,
  order: RefundOrder,
): Promise<Refund> {
  if (intent.latest_charge === null || intent.status !== 'succeeded') {
    throw invalidRequest(`This PaymentIntent (${intent.id}) does not have a successful charge to refund.`, {
      param: 'payment_intent',
    });
  }
  return refundCharge(change, await getObject(change.tx, 'charge', intent.latest_charge), order);
}

export async function refundCharge(change: Change, charge: Charge, order: RefundOrder): Promise<Refund> {
  if (charge.refunded) {
    throw invalidRequest(`Charge ${charge.id} has already been refunded.`, {
      code: 'charge_already_refunded',
    });
  }
  if (charge.disputed) {
    throw invalidRequest(`Charge ${charge.id} has been charged back; cannot issue a refund.`, {
      code: 'charge_disputed',
    });
  }
  const left = charge.amount - charge.amount_refunded;
  const amount = order.amount ?? left;
  if (amount < 1 || amount > left) {
    throw invalidRequest(`Refund amount (${amount}) is greater than unrefunded amount on charge (${left})`, {
      param: 'amount',
    });
  }
  const id = newId.refund();
  const moved = { currency: charge.currency, source: id, description: `Refund of ${charge.id}` };
  const movement = await recordMovement(change, {
    ...moved,
    type: 'refund',
    category: 'refund',
    amount: -amount,
  });
  const refund: Refund = {
    id,
    object: 'refund',
    amount,
    balance_transaction: movement.id,
    charge: charge.id,
    created: change.now,
    currency: charge.currency,
    metadata: order.metadata,
    payment_intent: charge.payment_intent,
    reason: order.reason ?? null,
    status: 'succeeded',
  };
  const refunded: Charge = {
    ...charge,
    amount_refunded: charge.amount_refunded + amount,
    refunded: charge.amount_refunded + amount === charge.amount,
  };
  await putObject(change, refund, charge.payment_intent);
  await putObject(change, refunded);
  await announce(change, 'charge.refunded', refunded);
  await announce(change, 'refund.created', refund);
  // Charges that an earlier release made name a ready-made method instead.
  const card =
    cardByFingerprint(charge.payment_method_details.card.fingerprint) ?? cardByMethod(charge.payment_method);
  if (card?.outcome.kind !== 'refund-fails') return refund;

  // The bank sends the money back: the charge counts as paid again.
  await recordMovement(change, { ...moved, type: 'refund_failure', category: 'refund_failure', amount });
  const failed: Refund = { ...refund, status: 'failed', failure_reason: 'expired_or_canceled_card' };
  await putObject(change, failed);
  await putObject(change, charge);
  await announce(change, 'refund.failed', failed);
  return refund;
}

/** As Stripe's test mode decides: the text `winning_evidence` wins, `losing_evidence` loses, any other waits. */
export async function submitEvidence(
  change: Change,
  dispute: Dispute,
  evidence: Readonly<Record<string, string>>,
): Promise<Dispute> {
  requireUndecided(dispute);
  const { uncategorized_text: text } = evidence;
  const submitted: Dispute = {
    ...dispute,
    evidence: { ...dispute.evidence, ...evidence },
    evidence_details: {
      ...dispute.evidence_details,
      has_evidence: true,
      submission_count: dispute.evidence_details.submission_count + 1,
    },
  };
  if (text === 'winning_evidence') return decide(change, submitted, 'won');
  if (text === 'losing_evidence') return decide(change, submitted, 'lost');
  await putObject(change, submitted);
  await announce(change, 'charge.dispute.updated', submitted);
  return submitted;
}

export async function acceptDispute(change: Change, dispute: Dispute): Promise<Dispute> {
  requireUndecided(dispute);
  return decide(change, dispute, 'lost');
}

async function decide(change: Change, dispute: Dispute, status: 'lost' | 'won'): Promise<Dispute> {
  const returned =
    status === 'won'
      ? [await recordMovement(change, disputed(dispute.id, dispute, dispute.amount, -disputeFee))]
      : [];
  const closed: Dispute = {
    ...dispute,
    // Absent in disputes of an earlier release.
    balance_transactions: [...(dispute.balance_transactions ?? []), ...returned],
    status,
  };
  await putObject(change, closed);
  if (status === 'won') await announce(change, 'charge.dispute.funds_reinstated', closed);
  await announce(change, 'charge.dispute.closed', closed);
  return closed;
}

function requireUndecided(dispute: Dispute): void {
  if (dispute.status !== 'needs_response') throw invalidRequest('This dispute is already closed');
}
