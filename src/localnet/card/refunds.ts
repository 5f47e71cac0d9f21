/** Refunds of a paid charge, whole or in part. */
import { invalidRequest } from './errors.ts';
import { newId } from './ids.ts';
import type { Charge, PaymentIntent, Refund } from './objects.ts';
import type { Change } from './store.ts';
import { announce, getObject, putObject } from './store.ts';
import { cardByMethod } from './test-cards.ts';

export interface RefundOrder {
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
  const refund: Refund = {
    id: newId.refund(),
    object: 'refund',
    amount,
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
  if (cardByMethod(charge.payment_method)?.outcome.kind !== 'refund-fails') return refund;

  // The bank sends the money back: the charge counts as paid again.
  const failed: Refund = { ...refund, status: 'failed', failure_reason: 'expired_or_canceled_card' };
  await putObject(change, failed);
  await putObject(change, charge);
  await announce(change, 'refund.failed', failed);
  return refund;
}
