/** Webhooks and listed events, reduced to which payment they speak of. Nothing else they say is believed. */
import type Stripe from 'stripe';

/** A webhook, reduced to where to look. */
export interface ProviderEvent {
  readonly id: string;
  readonly type: string;
  readonly created: number;
  readonly quoteId: string | undefined;
  readonly intentId: string | undefined;
  readonly sessionId: string | undefined;
}

/** Where a payment carries the id of its quote. */
export const quoteIdKey = 'quoteId';

/** The events that say something about a payment; others are taken in and ignored. */
export const watchedEvents: readonly Stripe.EventListParams['type'][] & readonly string[] = [
  'payment_intent.succeeded',
  'payment_intent.payment_failed',
  'payment_intent.canceled',
  'checkout.session.completed',
  'checkout.session.expired',
  'checkout.session.async_payment_succeeded',
  'checkout.session.async_payment_failed',
  'charge.refunded',
  'charge.dispute.created',
  'charge.dispute.updated',
  'charge.dispute.closed',
  'charge.dispute.funds_reinstated',
  'refund.failed',
  'refund.updated',
];

export function reduced(event: Stripe.Event): ProviderEvent {
  const object: unknown = event.data.object;
  const kind = textOf(object, 'object');
  const id = textOf(object, 'id');
  const metadata =
    typeof object === 'object' && object !== null && 'metadata' in object ? object.metadata : null;
  return {
    id: event.id,
    type: event.type,
    created: event.created,
    quoteId: textOf(metadata, quoteIdKey),
    intentId: kind === 'payment_intent' ? id : textOf(object, 'payment_intent'),
    sessionId: kind === 'checkout.session' ? id : undefined,
  };
}

function textOf(value: unknown, key: string): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const member: unknown = Reflect.get(value, key);
  return typeof member === 'string' && member.length <= 255 ? member : undefined;
}
