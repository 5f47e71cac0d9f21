/**
 * The card provider's API through its own package, reduced to what is asked of it. Every call that creates
 * something carries an idempotency key made of the quote's id, so that asking again creates nothing again.
 */
import Stripe from 'stripe';
import type { Config } from '../../config/config.ts';
import { memberOf, textOf } from '../../formats/json.ts';
import type { CardSession, CheckoutPage } from './card.ts';
import { CardAmountRefused, CardProviderUnavailable, WebhookRefused } from './errors.ts';
import type { QuoteRow } from './quotes.ts';

/** What became of a payment, as the provider tells it now. */
export interface PaymentFacts {
  /** `open`: may still be paid. `closed`: expired or cancelled, never paid. */
  readonly status: 'closed' | 'open' | 'paid';
  readonly intentId: string | undefined;
  readonly sessionId: string | undefined;
  /** Minor units received, currency, and when (unix milliseconds); set when paid. */
  readonly received: { readonly amount: number; readonly currency: string; readonly at: number } | undefined;
  /** Minor units that went back, by whomever. */
  readonly refunded: number;
  /** Of them, those that returns asked for, and returns whose refund failed. */
  readonly returns: readonly ReturnRefund[];
  /** Whether a dispute stands: open, or decided against us. */
  readonly disputed: boolean;
}

/** A refund that a return of credits asked for, under the return's id. */
export interface ReturnRefund {
  readonly id: string;
  readonly returnId: string;
  readonly amount: number;
  readonly state: 'made' | 'pending' | 'failed';
}

/** A webhook or a listed event, reduced to which payment it speaks of. Nothing else that it says is believed. */
export interface ProviderEvent {
  readonly id: string;
  readonly type: string;
  readonly created: number;
  readonly quoteId: string | undefined;
  readonly intentId: string | undefined;
  readonly sessionId: string | undefined;
}

/** A payment at the provider, with what we wrote beside it when we asked for it. */
export interface ProviderPayment {
  readonly intentId: string;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly isPaid: boolean;
  /** In minor units, what has come in. */
  readonly received: number;
  readonly currency: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Whether it was made for a quote of this ledger; one from before payments were marked may have been. */
export const isOfLedger = ({ metadata }: ProviderPayment, ledgerId: string): boolean =>
  metadata[quoteIdKey] !== undefined && (metadata[ledgerIdKey] ?? ledgerId) === ledgerId;

const nothingReceived = { received: undefined, refunded: 0, returns: [], disputed: false } as const;

/** Where a payment carries the id of its quote. */
export const quoteIdKey = 'quoteId';

/** Where it carries the id of the ledger that the quote is in: several may share an account at the provider. */
export const ledgerIdKey = 'ledgerId';

/** Where a refund carries the id of the return that asked for it. */
const returnIdKey = 'returnId';

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

export type ProviderConfig = Pick<
  Config,
  'STRIPE_API_URL' | 'ENABLE_AUTO_STRIPE_TAX' | 'CHECKOUT_PRODUCT_NAME'
> & {
  readonly STRIPE_SECRET_KEY: string;
  readonly STRIPE_WEBHOOK_SECRET: string;
};

const requestTimeoutMs = 10_000;
const webhookToleranceSeconds = 300;
const longestId = 255;
/** Of one payment; returns are limited to far fewer. */
const mostRefunds = 100;
/** Digital services, for the provider's tax calculation. */
const taxCode = 'txcd_10000000';
/** A hundred thousand events: more than a month of any shop that this serves. */
const mostPages = 1_000;
/** The provider refuses sessions that end within half an hour by its own clock. */
const sessionSlackMs = 60_000;

/** When a session made now for a quote ends. */
export const sessionEnd = (expiresAt: number) => expiresAt + sessionSlackMs;

export class CardProvider {
  readonly #stripe: Stripe;
  readonly #config: ProviderConfig;

  constructor(config: ProviderConfig) {
    this.#config = config;
    this.#stripe = new Stripe(config.STRIPE_SECRET_KEY, {
      ...addressOf(config.STRIPE_API_URL),
      maxNetworkRetries: 1,
      timeout: requestTimeoutMs,
      telemetry: false,
    });
  }

  async createIntent(quote: QuoteRow, metadata: Record<string, string>): Promise<CardSession> {
    const intent = await this.#asked(
      this.#stripe.paymentIntents.create(
        {
          amount: quote.paymentAmount,
          currency: quote.currency,
          allowed_payment_method_types: ['card'],
          metadata,
        },
        { idempotencyKey: `${quote.id}-intent` },
      ),
    );
    return { id: intent.id, client_secret: intent.client_secret, url: null };
  }

  async createSession(
    quote: QuoteRow,
    page: CheckoutPage,
    description: string,
    metadata: Record<string, string>,
  ): Promise<CardSession> {
    const session = await this.#asked(
      this.#stripe.checkout.sessions.create(
        {
          mode: 'payment',
          currency: quote.currency,
          expires_at: Math.ceil(sessionEnd(quote.expiresAt) / 1000),
          automatic_tax: { enabled: this.#config.ENABLE_AUTO_STRIPE_TAX },
          allowed_payment_method_types: ['card'],
          line_items: [
            {
              quantity: 1,
              price_data: {
                currency: quote.currency,
                unit_amount: quote.paymentAmount,
                product_data: {
                  name: this.#config.CHECKOUT_PRODUCT_NAME,
                  description,
                  tax_code: taxCode,
                  metadata,
                },
              },
            },
          ],
          metadata,
          payment_intent_data: { metadata },
          ...pageParams(page),
        },
        { idempotencyKey: `${quote.id}-session` },
      ),
    );
    return { id: session.id, client_secret: session.client_secret, url: session.url };
  }

  /** Reads the payment of a quote; the intent where it is known, else the session. */
  async factsOf(quote: Pick<QuoteRow, 'intentId' | 'sessionId' | 'returned'>): Promise<PaymentFacts> {
    if (quote.intentId !== undefined) {
      return this.#factsOfIntent(quote.intentId, quote.sessionId, quote.returned > 0n);
    }
    if (quote.sessionId === undefined) throw new Error('a quote without session has no facts');
    const session = await this.#asked(this.#stripe.checkout.sessions.retrieve(quote.sessionId));
    const intentId = idOf(session.payment_intent);
    if (intentId !== undefined && session.status !== 'expired') {
      const facts = await this.#factsOfIntent(intentId, session.id, false);
      if (facts.status !== 'closed') return facts;
    }
    const status = session.status === 'expired' ? 'closed' : 'open';
    return { status, intentId, sessionId: session.id, ...nothingReceived };
  }

  /** The quote that a payment intent carries in its metadata; undefined for a payment that is not ours. */
  async quoteIdOf(intentId: string): Promise<string | undefined> {
    const intent = await this.#asked(this.#stripe.paymentIntents.retrieve(intentId));
    return intent.metadata[quoteIdKey];
  }

  /** A payment that somebody began; undefined where the provider has none of that id. */
  async paymentOf(intentId: string): Promise<ProviderPayment | undefined> {
    try {
      return paymentOf(await this.#asked(this.#stripe.paymentIntents.retrieve(intentId)));
    } catch (error) {
      if (error instanceof CardProviderUnavailable && isMissing(error.cause)) return undefined;
      throw error;
    }
  }

  /** Payments that were begun since a moment (unix seconds), page by page, the newest first. */
  async *paymentsSince(since: number): AsyncGenerator<readonly ProviderPayment[]> {
    let after: string | undefined;
    for (let pages = 0; pages < mostPages; pages += 1) {
      const page = await this.#asked(
        this.#stripe.paymentIntents.list({
          created: { gte: since },
          limit: 100,
          ...(after === undefined ? {} : { starting_after: after }),
        }),
      );
      yield page.data.map(paymentOf);
      after = page.data.at(-1)?.id;
      if (!page.has_more || after === undefined) return;
    }
    throw new CardProviderUnavailable(`the card provider lists more than ${mostPages * 100} payments`);
  }

  /**
   * Asks to give everything back that is left to give. Answers why it was refused, if it was; whether the payment went
   * back, only the facts tell.
   */
  async refund(quote: Pick<QuoteRow, 'id' | 'refundTries'>, intentId: string): Promise<string | undefined> {
    try {
      await this.#stripe.refunds.create(
        { payment_intent: intentId },
        { idempotencyKey: `${quote.id}-refund-${quote.refundTries + 1}` },
      );
      return undefined;
    } catch (error) {
      if (error instanceof Stripe.errors.StripeError && isKept(error)) return error.code ?? error.type;
      throw unavailable(error);
    }
  }

  /** Refunds of a payment that returns asked for, the newest first. */
  async returnsOf(intentId: string): Promise<ReturnRefund[]> {
    const { data } = await this.#asked(
      this.#stripe.refunds.list({ payment_intent: intentId, limit: mostRefunds }),
    );
    return data.flatMap((refund) => returnRefund(refund) ?? []);
  }

  /**
   * Gives part of a payment back, once per return: one that was asked for before, whose answer was lost, is found by the
   * return's id, and two that ask at once share an idempotency key. Answers why it was refused, if it was.
   */
  async refundReturn(intentId: string, returnId: string, amount: number): Promise<ReturnRefund | string> {
    const before = (await this.returnsOf(intentId)).find((refund) => refund.returnId === returnId);
    if (before !== undefined) return before;
    try {
      const refund = await this.#stripe.refunds.create(
        { payment_intent: intentId, amount, metadata: { [returnIdKey]: returnId } },
        { idempotencyKey: `${returnId}-return` },
      );
      return returnRefund(refund) ?? 'unmarked';
    } catch (error) {
      if (error instanceof Stripe.errors.StripeInvalidRequestError && isKept(error)) {
        return error.code ?? error.type;
      }
      throw unavailable(error);
    }
  }

  /** Ends what may still be paid. A payment that came first stays: it is found when the quote is read again. */
  async close(quote: Pick<QuoteRow, 'intentId' | 'method' | 'sessionId'>): Promise<void> {
    try {
      if (quote.method === 'checkout-session') {
        if (quote.sessionId !== undefined) await this.#stripe.checkout.sessions.expire(quote.sessionId);
      } else if (quote.intentId !== undefined) {
        await this.#stripe.paymentIntents.cancel(quote.intentId, { cancellation_reason: 'abandoned' });
      }
    } catch (error) {
      if (error instanceof Stripe.errors.StripeInvalidRequestError) return;
      throw unavailable(error);
    }
  }

  /** Checks that the provider signed the body, and when. */
  readWebhook(body: Buffer, signature: string | undefined): ProviderEvent {
    try {
      const event = this.#stripe.webhooks.constructEvent(
        body,
        signature ?? '',
        this.#config.STRIPE_WEBHOOK_SECRET,
        webhookToleranceSeconds,
      );
      return reduced(event);
    } catch (cause) {
      throw new WebhookRefused('the webhook is not signed by the provider', { cause });
    }
  }

  /** Watched events since a moment (unix seconds), page by page, the newest first. */
  async *eventsSince(since: number): AsyncGenerator<readonly ProviderEvent[]> {
    let after: string | undefined;
    for (let pages = 0; pages < mostPages; pages += 1) {
      const page = await this.#asked(
        this.#stripe.events.list({
          created: { gte: since },
          types: [...watchedEvents],
          limit: 100,
          ...(after === undefined ? {} : { starting_after: after }),
        }),
      );
      yield page.data.map(reduced);
      after = page.data.at(-1)?.id;
      if (!page.has_more || after === undefined) return;
    }
  }

  /** `hasReturns`: whether refunds are ours is worth a question even where nothing has gone back: one may have failed. */
  async #factsOfIntent(
    intentId: string,
    sessionId: string | undefined,
    hasReturns: boolean,
  ): Promise<PaymentFacts> {
    const intent = await this.#asked(
      this.#stripe.paymentIntents.retrieve(intentId, { expand: ['latest_charge'] }),
    );
    const charge = typeof intent.latest_charge === 'object' ? intent.latest_charge : null;
    if (intent.status !== 'succeeded' || charge === null) {
      const status = intent.status === 'canceled' ? 'closed' : 'open';
      return { status, intentId, sessionId, ...nothingReceived };
    }
    return {
      status: 'paid',
      intentId,
      sessionId,
      received: { amount: intent.amount_received, currency: intent.currency, at: charge.created * 1000 },
      refunded: charge.amount_refunded,
      returns: hasReturns || charge.amount_refunded > 0 ? await this.returnsOf(intentId) : [],
      disputed: charge.disputed && (await this.#isDisputed(intentId)),
    };
  }

  /** A charge stays marked as disputed when the dispute was won, so the disputes themselves are asked. */
  async #isDisputed(intentId: string): Promise<boolean> {
    const { data } = await this.#asked(this.#stripe.disputes.list({ payment_intent: intentId, limit: 100 }));
    return data.some(({ status }) => !harmless.has(status));
  }

  async #asked<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      throw unavailable(error);
    }
  }
}

/** Won, or only an inquiry: no money was taken. */
const harmless: ReadonlySet<string> = new Set([
  'won',
  'prevented',
  'warning_needs_response',
  'warning_under_review',
  'warning_closed',
]);

function returnRefund({ id, amount, metadata, status }: Stripe.Refund): ReturnRefund | undefined {
  const returnId = metadata?.[returnIdKey];
  if (returnId === undefined) return undefined;
  const isFailed = status === 'failed' || status === 'canceled';
  return { id, returnId, amount, state: isFailed ? 'failed' : status === 'succeeded' ? 'made' : 'pending' };
}

const paymentOf = (intent: Stripe.PaymentIntent): ProviderPayment => ({
  intentId: intent.id,
  createdAt: intent.created * 1000,
  isPaid: intent.status === 'succeeded',
  received: intent.amount_received,
  currency: intent.currency,
  metadata: intent.metadata,
});

const isMissing = (cause: unknown): boolean =>
  cause instanceof Stripe.errors.StripeInvalidRequestError && cause.code === 'resource_missing';

function reduced(event: Stripe.Event): ProviderEvent {
  const object: unknown = event.data.object;
  const kind = textOf(object, 'object');
  const id = textOf(object, 'id', longestId);
  return {
    id: event.id,
    type: event.type,
    created: event.created,
    quoteId: textOf(memberOf(object, 'metadata'), quoteIdKey, longestId),
    intentId: kind === 'payment_intent' ? id : textOf(object, 'payment_intent', longestId),
    sessionId: kind === 'checkout.session' ? id : undefined,
  };
}

function addressOf(url: string | undefined) {
  if (url === undefined) return {};
  const { hostname, port, protocol } = new URL(url);
  const scheme = protocol === 'http:' ? 'http' : 'https';
  return {
    // A socket takes an IPv6 address without the brackets that it has in an address.
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (scheme === 'http' ? 80 : 443) : port,
    protocol: scheme,
  } as const;
}

function pageParams(page: CheckoutPage) {
  if (page.uiMode === 'hosted') {
    return { ui_mode: 'hosted_page', success_url: page.successUrl, cancel_url: page.cancelUrl } as const;
  }
  if (page.returnUrl === undefined) {
    return { ui_mode: 'embedded_page', redirect_on_completion: 'never' } as const;
  }
  return { ui_mode: 'embedded_page', return_url: page.returnUrl } as const;
}

function idOf(reference: string | { readonly id: string } | null): string | undefined {
  return typeof reference === 'string' ? reference : reference?.id;
}

/** An answer that the provider keeps with the idempotency key: the same key would only be answered so again. */
const isKept = ({ statusCode, type }: Stripe.errors.StripeError): boolean =>
  statusCode !== undefined &&
  (statusCode >= 500 || (statusCode !== 409 && statusCode !== 429 && keptTypes.has(type)));

const keptTypes: ReadonlySet<string> = new Set(['StripeInvalidRequestError', 'StripeCardError']);

function unavailable(error: unknown): unknown {
  if (!(error instanceof Stripe.errors.StripeError)) return error;
  if (error.code === 'amount_too_small' || error.code === 'amount_too_large') {
    return new CardAmountRefused(error.message);
  }
  return new CardProviderUnavailable(`the card provider did not do it: ${error.type}`, { cause: error });
}
