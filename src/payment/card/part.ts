/**
 * Topping up by card: `GET /top-up/…` and the provider's webhooks. The life of a card payment is in
 * `payments/card`, which other surfaces share; what is bought here is credits.
 */

import type { Credits } from '../../credits/credits.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import type { Part } from '../../kernel/part.ts';
import type { CardObservation, CardPayments } from '../../payments/card/card.ts';
import type { Pricing } from '../../pricing/pricing.ts';
import { cardsDisabled } from '../errors.ts';
import type { Gifts } from '../gifts.ts';
import { stripeWebhookRoute } from '../routes/stripe-webhook.ts';
import { thankYouRoute } from '../routes/thank-you.ts';
import { topUpPath, topUpRoute } from '../routes/top-up.ts';
import { topUpPurchases } from './top-up-purchases.ts';

export interface CardPartDeps {
  readonly cards: CardPayments;
  readonly credits: Credits;
  readonly pricing: Pick<Pricing, 'limits' | 'quoteFiat'>;
  readonly gifts: Gifts;
  readonly appUrl: string | undefined;
  /** Wallets that nothing is sold to; none unless given. */
  readonly refuses?: ((address: string) => boolean) | undefined;
}

export function createCardPart(deps: CardPartDeps): Part {
  const { cards, credits, pricing, gifts, appUrl, refuses } = deps;
  const topUps = cards.forPurpose('top-up', topUpPurchases(credits, gifts));
  return {
    name: 'card',
    routes(app) {
      topUpRoute(app, { topUps, pricing, appUrl, refuses });
      thankYouRoute(app, { topUps, credits });
      stripeWebhookRoute(app, cards);
    },
    start: () => cards.start(),
    stop: () => cards.stop(),
    reports: () => cards.reports(),
  };
}

/** For a service without a card provider: the route is there and says so. */
export const noCardPart: Part = {
  name: 'card',
  routes(app) {
    app.get(topUpPath, { schema: { hide: true } }, () => {
      throw cardsDisabled();
    });
  },
};

/** Counts what happens to card payments, under the names published payment services use. */
export function cardMetrics(metrics: Metrics): (observation: CardObservation) => void {
  const succeeded = metrics.counter('payment_intent_succeeded', 'Card payments that were credited');
  const credited = metrics.counter('card_top_ups_winc_total', 'Winc bought by card');
  const refunded = metrics.counter('payment_intent_refunded', 'Card payments given back');
  const refundsFailed = metrics.counter('card_refund_failed_total', 'Refunds of card payments that failed', [
    'final',
  ]);
  const refundsOwed = metrics.gauge(
    'card_refunds_owed',
    'Card payments that have to go back to their payers',
  );
  const refundsGivenUp = metrics.gauge(
    'card_refunds_given_up',
    'Those of them whose refund failed so often that it has to be made by hand',
  );
  const takenBack = metrics.counter('payment_intent_chargeback', 'Card payments disputed or refunded', [
    'reason',
  ]);
  const sessionErrors = metrics.counter(
    'stripe_session_creation_error',
    'Sessions the provider did not make',
  );
  const suspicious = metrics.counter('suspicious_wallet_activity', 'Wallets with too many disputes');
  const losses = metrics.gauge(
    'operator_losses_winc',
    'Winc of card payments that went back and that no wallet owes',
  );
  const openEvents = metrics.gauge(
    'card_events_open',
    'Events of card payments whose quote is not here: see turnpike reconcile',
  );
  return (observation) => {
    if (observation.kind === 'paid') {
      succeeded.inc();
      credited.inc(Number(observation.quote.winc));
    } else if (observation.kind === 'refunded') refunded.inc();
    else if (observation.kind === 'refund-failed') refundsFailed.inc({ final: String(observation.final) });
    else if (observation.kind === 'refunds') {
      refundsOwed.set(observation.owed);
      refundsGivenUp.set(observation.givenUp);
    } else if (observation.kind === 'open-events') openEvents.set(observation.count);
    else if (observation.kind === 'losses') losses.set(Number(observation.winc));
    else if (observation.kind === 'taken-back') takenBack.inc({ reason: observation.reason });
    else if (observation.kind === 'session-error') sessionErrors.inc();
    else if (observation.kind === 'suspicious') suspicious.inc();
  };
}
