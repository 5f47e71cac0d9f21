/**
 * Paying with x402: a wallet signs a token transfer (EIP-3009), a facilitator carries it out, and the winc it
 * bought are credited once. The payment surface tops up with it; the upload surface takes a payment for one item
 * by crediting the payer and spending from there, so that nothing paid is ever lost.
 *
 *     const quote = await x402.offer({ product, winc, resource, description, mimeType });
 *     const payment = await x402.read(request.headers, quote);     // undefined: there is none
 *     await x402.verify(payment);                                  // before work is done for the payer
 *     const receipt = await x402.settle(payment, { purpose: 'upload', reference: itemId, reserve: quote.winc });
 *
 * What a payment bought, and for whom, stays in its row for good (`purchases.ts`): the price is reserved out of what the
 * payment itself credits, so that nothing that is paid with it is ever charged to anything else the wallet has.
 *
 * The intent is stored before the facilitator is called; after a crash or a lost answer `start` finds out what
 * became of it and credits what was paid. This folder may call pricing, wallets, formats, storage and kernel.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressType, Winc } from '../../credits/credits.ts';
import type { SettleAnswer } from '../../formats/x402/facilitator.ts';
import type { X402Network } from '../../formats/x402/networks.ts';
import type { X402Payment } from '../../formats/x402/payment.ts';
import type { X402Challenge, X402Offer } from '../../formats/x402/requirements.ts';
import type { RunReport } from '../../kernel/background/run-record.ts';
import type { OutsideSource } from '../outside-records.ts';
import type { PaymentClaim } from './claims.ts';
import type { PurchaseState } from './purchases.ts';

/** `resource`: the absolute address of the route with its query. */
export interface X402OfferRequest extends Pick<X402Offer, 'resource' | 'description' | 'mimeType'> {
  /** What is for sale, in few words: the same for whoever asks for the same, `upload 1024`. Prices are remembered by it. */
  readonly product: string;
  /** What the payer wants to have credited. */
  readonly winc: Winc;
  /** Default: X402_PAYMENT_TIMEOUT_MS. A long upload needs longer. */
  readonly timeoutSeconds?: number;
}

/** An offer with what it is for. */
export interface X402Quote extends X402Offer {
  readonly product: string;
  readonly winc: Winc;
}

/** A payment that was read, checked against the offer, and whose signature holds. */
export interface SignedPayment {
  readonly quote: X402Quote;
  readonly network: X402Network;
  readonly payment: X402Payment;
  /** Checksummed address of the wallet that pays. */
  readonly payer: string;
}

export interface SettleRequest {
  readonly purpose: 'top-up' | 'upload';
  /** What it was paid for: a data item's id. The payment is worth nothing for anything else. */
  readonly reference?: string;
  /** Who is credited, never who is charged; the payer when absent. */
  readonly wallet?: { readonly address: string; readonly addressType: AddressType };
  /**
   * The price of what is bought: it, or what was paid if that is less, is reserved in the transaction that credits the
   * payment, out of that credit, until `purchases.ts` spends it or gives it back. Of a payment that allows up to an
   * amount, this is what is taken.
   */
  readonly reserve?: Winc;
  /** Kept with a payment whose answer not everyone may have again. */
  readonly claim?: PaymentClaim;
}

export interface X402Receipt {
  readonly id: string;
  readonly payer: string;
  readonly walletAddress: string;
  readonly creditedWinc: Winc;
  readonly value: bigint;
  readonly settlement: SettleAnswer;
  readonly payTo: string;
  /** False when this payment had been credited before: nothing moved now. */
  readonly applied: boolean;
  /** Where something was reserved for what it bought: what became of that so far. */
  readonly purchase?: {
    readonly state: PurchaseState;
    readonly reserved: Winc;
    readonly item: string | undefined;
  };
}

export interface X402Payments {
  /** Throws `OracleUnavailable`. */
  offer(request: X402OfferRequest): Promise<X402Quote>;
  /** The same for as much as it may cost; undefined where the facilitator takes no such payments. */
  offerUpTo(request: X402OfferRequest): Promise<X402Quote | undefined>;
  /** What asks for the payment of a quote, which is remembered, and the reason why: `X-PAYMENT header is required` … */
  challenge(quote: X402Quote, reason: string): X402Challenge;
  /**
   * The payment a request carries, if any. Throws `X402Unreadable`, `X402SignatureInvalid`, `X402Refused`.
   * Moves nothing and asks nobody, except a contract wallet about its own signature.
   */
  read(headers: IncomingHttpHeaders, quote: X402Quote): Promise<SignedPayment | undefined>;
  /** Whether this payment was sent before: then it is not verified again, and what it led to is its answer. */
  isKnown(payment: SignedPayment): Promise<boolean>;
  /** Asks the facilitator. Throws `X402Refused`, `X402SettlementFailed` when it does not answer. */
  verify(payment: SignedPayment): Promise<void>;
  /**
   * Carries the transfer out and credits it. The same payment again for the same purpose, reference and wallet answers
   * the same and moves nothing; for anything else it is refused.
   * Throws `X402Refused`, `X402SettlementFailed`, and `X402InProgress` when the same payment is being settled.
   */
  settle(payment: SignedPayment, request: SettleRequest): Promise<X402Receipt>;
  /** What `settle` answered to this payment, when it was credited for the same; moves nothing and asks nobody. */
  recall(payment: SignedPayment, request: SettleRequest): Promise<X402Receipt | undefined>;
  /** Transfers to the service's wallet that no payment here knows of. */
  readonly outside: OutsideSource;
  /** Begins to finish what earlier runs left. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** How its background work goes. */
  reports(): readonly RunReport[];
}
