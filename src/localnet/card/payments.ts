/** Payment intents and the charges they cause: create, confirm with a test card, cancel. */
import { CardApiError, invalidRequest } from './errors.ts';
import { clientSecretFor, newId } from './ids.ts';
import type { Charge, Dispute, PaymentError, PaymentIntent } from './objects.ts';
import type { Change } from './store.ts';
import { announce, putObject } from './store.ts';
import type { TestCard } from './test-cards.ts';
import { cardByMethod } from './test-cards.ts';

/** What a payment is for; a checkout keeps it until its page is paid. */
export interface IntentOrder {
  readonly amount: number;
  readonly currency: string;
  readonly description: string | null;
  readonly metadata: Record<string, string>;
  readonly methodTypes: readonly string[];
  readonly receiptEmail: string | null;
}

/** Smallest charge per currency (https://docs.stripe.com/currencies#minimum-and-maximum-charge-amounts). */
const smallest: Readonly<Record<string, number>> = {
  aud: 50,
  brl: 50,
  cad: 50,
  eur: 50,
  gbp: 30,
  hkd: 400,
  inr: 50,
  jpy: 50,
  sgd: 50,
  usd: 50,
};
const largest = 99_999_999;

export function checkAmount(amount: number, currency: string): void {
  const minimum = smallest[currency];
  if (minimum === undefined) {
    throw invalidRequest(`Invalid currency: ${currency}`, { param: 'currency' });
  }
  if (amount < minimum) {
    throw invalidRequest(`Amount must be at least ${minimum} ${currency}`, {
      code: 'amount_too_small',
      param: 'amount',
    });
  }
  if (amount > largest) {
    throw invalidRequest(`Amount must be no more than ${largest} ${currency}`, {
      code: 'amount_too_large',
      param: 'amount',
    });
  }
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
    customer: null,
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

export function cardForMethod(method: string): TestCard {
  const card = cardByMethod(method);
  if (card === undefined) {
    throw new CardApiError(400, {
      type: 'invalid_request_error',
      code: 'resource_missing',
      message: `No such PaymentMethod: '${method}'`,
      param: 'payment_method',
    });
  }
  return card;
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
  card: TestCard,
  method: string,
): Promise<Confirmation> {
  if (intent.status === 'succeeded' || intent.status === 'canceled') {
    throw unexpectedIntentState(intent, 'confirm');
  }
  const charge = newCharge(change, intent, card, method);
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
    const waiting: PaymentIntent = {
      ...intent,
      last_payment_error: declined,
      latest_charge: charge.id,
      payment_method: null,
      status: 'requires_payment_method',
    };
    await putObject(change, failed, intent.id);
    await putObject(change, waiting);
    await announce(change, 'charge.failed', failed);
    await announce(change, 'payment_intent.payment_failed', waiting);
    return { intent: waiting, declined };
  }

  const disputed = card.outcome.kind === 'dispute';
  const paid: Charge = {
    ...charge,
    amount_captured: intent.amount,
    captured: true,
    disputed,
    paid: true,
    status: 'succeeded',
  };
  const succeeded: PaymentIntent = {
    ...intent,
    amount_received: intent.amount,
    last_payment_error: null,
    latest_charge: charge.id,
    payment_method: method,
    status: 'succeeded',
  };
  await putObject(change, paid, intent.id);
  await putObject(change, succeeded);
  await announce(change, 'charge.succeeded', paid);
  await announce(change, 'payment_intent.succeeded', succeeded);
  if (card.outcome.kind === 'dispute') await openDispute(change, paid, card.outcome.reason);
  return { intent: succeeded, declined: undefined };
}

export async function cancelIntent(
  change: Change,
  intent: PaymentIntent,
  reason: string | undefined,
): Promise<PaymentIntent> {
  if (intent.status === 'succeeded' || intent.status === 'canceled') {
    throw unexpectedIntentState(intent, 'cancel');
  }
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

function newCharge(change: Change, intent: PaymentIntent, card: TestCard, method: string): Charge {
  return {
    id: newId.charge(),
    object: 'charge',
    amount: intent.amount,
    amount_captured: 0,
    amount_refunded: 0,
    captured: false,
    created: change.now,
    currency: intent.currency,
    description: intent.description,
    disputed: false,
    failure_code: null,
    failure_message: null,
    livemode: false,
    metadata: intent.metadata,
    paid: false,
    payment_intent: intent.id,
    payment_method: method,
    payment_method_details: { type: 'card', card: { brand: card.brand, last4: card.number.slice(-4) } },
    refunded: false,
    status: 'failed',
  };
}

async function openDispute(change: Change, charge: Charge, reason: string): Promise<void> {
  const week = 7 * 24 * 3600;
  const dispute: Dispute = {
    id: newId.dispute(),
    object: 'dispute',
    amount: charge.amount,
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

function unexpectedIntentState(intent: PaymentIntent, verb: string): CardApiError {
  return invalidRequest(
    `You cannot ${verb} this PaymentIntent because it has a status of ${intent.status}.`,
    {
      code: 'payment_intent_unexpected_state',
    },
  );
}
