/**
 * Paying by card: a quote is stored, the provider makes a session for it, and what the provider later says
 * became of the payment moves credits. What a payment buys is decided per purpose (`forPurpose`): the payment surface
 * takes payments for top-ups, other surfaces for what they sell.
 *
 * The provider's word is taken from the provider: a webhook only says where to look. It is stored before it is
 * answered, the payment is then read from the provider, and the quote is brought to what was read, so that
 * webhooks may come twice, late, in any order, or not at all (`start` asks for what was missed).
 */
import type { AddressType } from '../../credits/credits.ts';
import type { RunReport } from '../../kernel/background/run-record.ts';
import type { AppliedAdjustment, Currency, Winc } from '../../pricing/pricing.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import type { OutsideSource } from '../outside-records.ts';

/** As answers and receipts name it. */
export const cardProviderName = 'stripe';

export const cardMethods = ['payment-intent', 'checkout-session'] as const;
export type CardMethod = (typeof cardMethods)[number];

/** Where and how the payer pays. */
export type CheckoutPage =
  | { readonly uiMode: 'hosted'; readonly successUrl: string; readonly cancelUrl: string }
  | { readonly uiMode: 'embedded'; readonly returnUrl: string | undefined };

/** Who owes what was bought when its payment goes back: whoever gets the credits, or signed for the order. */
export interface Debtor {
  readonly address: string;
  readonly addressType: AddressType;
}

export interface CardOrder
  extends Pick<
    CardQuote,
    | 'method'
    | 'address'
    | 'addressType'
    | 'debtor'
    | 'currency'
    | 'paymentAmount'
    | 'quotedPaymentAmount'
    | 'winc'
  > {
  /** Of the quote, where it leads to something about it. */
  readonly page: CheckoutPage | ((quote: CardQuote) => CheckoutPage);
  readonly adjustments: readonly AppliedAdjustment[];
  readonly fees: readonly AppliedAdjustment[];
  /** Shown on the page. */
  readonly description: string;
  readonly referer?: string;
  /** What the handlers of its purpose need to know again; JSON. */
  readonly details?: Readonly<Record<string, string | number | null>>;
  /** Shown with the payment at the provider, beside the quote's id and purpose. */
  readonly metadata?: (quote: CardQuote) => Readonly<Record<string, string>>;
}

/**
 * `opening`: stored, the provider is being asked. `quoted`: may be paid. `paid`, `charged_back` and `refunded`
 * were delivered, the latter two taken back since. `failed`: nothing was delivered, and whatever was paid goes back.
 */
export const quoteStates = ['opening', 'quoted', 'paid', 'charged_back', 'refunded', 'failed'] as const;
export type QuoteState = (typeof quoteStates)[number];

export interface CardQuote {
  readonly id: string;
  readonly purpose: string;
  readonly state: QuoteState;
  readonly method: CardMethod;
  readonly address: string;
  readonly addressType: AddressType;
  /** Undefined where nobody does: whoever is named in an order need not know of it. */
  readonly debtor: Debtor | undefined;
  readonly currency: Currency;
  /** What is charged, in minor units. */
  readonly paymentAmount: number;
  /** What was asked for before adjustments. */
  readonly quotedPaymentAmount: number;
  /** What the payment is worth in credits; as much is taken back when the payment is. */
  readonly winc: Winc;
  /** Unix milliseconds. */
  readonly expiresAt: number;
  readonly createdAt: number;
  readonly details: Readonly<Record<string, string | number | null>>;
  /** Given when it was paid. */
  readonly receiptId: string | undefined;
  /** Why it failed. */
  readonly failure: string | undefined;
}

/** Interface §2 "PaymentSession". */
export interface CardSession {
  readonly id: string;
  readonly client_secret: string | null;
  readonly url: string | null;
}

/** A paid quote on its way to the handlers of its purpose. */
export interface PaidQuote extends CardQuote {
  readonly receiptId: string;
}

/** Part of a payment that the payer took back, or gave again. */
export interface Reversal {
  /** Unique: the same reversal is never made twice. */
  readonly id: string;
  readonly amount: Winc;
  /** What is left of the payment's winc afterwards. */
  readonly remaining: Winc;
  readonly reason: 'chargeback' | 'card_refund';
}

/** What payments for a purpose do; `…In`: in the transaction that changes the quote. */
export interface PurchaseHandlers {
  /** Delivers. Throws `PurchaseRefused` when that is no longer possible: the payment then goes back. */
  paidIn(tx: SqlExecutor, quote: PaidQuote): Promise<void>;
  takenBackIn(tx: SqlExecutor, quote: PaidQuote, reversal: Reversal): Promise<void>;
  givenBackIn(tx: SqlExecutor, quote: PaidQuote, reversal: Reversal): Promise<void>;
  /** The quote ended and nothing was delivered. */
  failedIn?(tx: SqlExecutor, quote: CardQuote): Promise<void>;
  /** After `paidIn`, once that is durable. A crash may come between: what follows must be found by other means too. */
  paid?(quote: CardQuote): void;
}

/** Card payments for one purpose. */
export interface PurposePayments {
  /** Stores a quote and has the provider make its session. Throws `CardProviderUnavailable`, `CardAmountRefused`. */
  open(order: CardOrder): Promise<{ readonly quote: CardQuote; readonly session: CardSession }>;
  /** A quote of this purpose. */
  quote(id: string): Promise<CardQuote | undefined>;
}

export interface CardPayments {
  /** Takes payments for a purpose, which then do what its handlers say. Once per purpose, and before `start`. */
  forPurpose(purpose: string, handlers: PurchaseHandlers): PurposePayments;
  quote(id: string): Promise<CardQuote | undefined>;
  /**
   * Gives part of a paid quote back for a return of credits, once per return. Throws `CardProviderUnavailable` when the
   * provider did not answer: asking again is harmless.
   */
  refundReturn(quoteId: string, returnId: string, amount: number): Promise<ReturnedPart>;
  /** A refund has become due (`oweRefundIn`): it is made now, in the background, and not in the next round. */
  refundNow(): void;
  /** Takes a webhook in: durable when it resolves. Throws `WebhookRefused` when the provider did not sign it. */
  receive(body: Buffer, signature: string | undefined): Promise<void>;
  /** Begins background work; asks the provider about everything that is open. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** How its background work goes. */
  reports(): readonly RunReport[];
  /** Payments at the provider whose quote is not here. */
  readonly outside: OutsideSource;
  /** Resolves when everything that was taken in so far has been dealt with or put off. */
  settled(): Promise<void>;
}

/** What became of a refund that a return asked for. */
export type ReturnedPart =
  | { readonly state: 'made' | 'pending'; readonly reference: string }
  | { readonly state: 'failed'; readonly reason: string };

/** What happened to a payment, for logs and metrics. */
export type CardObservation =
  | { readonly kind: 'paid' | 'expired'; readonly quote: CardQuote }
  | { readonly kind: 'refused'; readonly quote: CardQuote; readonly reason: string }
  | { readonly kind: 'refunded'; readonly quote: CardQuote }
  /** `final`: it is not tried again and has to be given back by hand. */
  | {
      readonly kind: 'refund-failed';
      readonly quote: CardQuote;
      readonly reason: string;
      readonly final: boolean;
    }
  | { readonly kind: 'taken-back'; readonly quote: CardQuote; readonly reason: Reversal['reason'] }
  | { readonly kind: 'given-back'; readonly quote: CardQuote }
  | { readonly kind: 'suspicious'; readonly quote: CardQuote; readonly chargebacks: number }
  /** After each look at everything that is open. */
  | { readonly kind: 'refunds'; readonly owed: number; readonly givenUp: number }
  /** After each payment that went back or came again, and after each look at everything. */
  | { readonly kind: 'losses'; readonly winc: Winc }
  /** Events of payments whose quote is not here: how many there are. */
  | { readonly kind: 'open-events'; readonly count: number }
  | { readonly kind: 'session-error' };
