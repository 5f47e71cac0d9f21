/**
 * How money enters: each way to pay is a door with its routes and its background work. The surface opens
 * the doors it is given; `card/` and `x402/` implement theirs, `chain/` is the third.
 */
import type { FiatPayment, Winc } from '../credits/credits.ts';
import type { App } from '../kernel/http/app.ts';
import type { SqlExecutor } from '../storage/sql/sql.ts';

export interface PaymentDoor {
  /** For logs, for example `card`. */
  readonly name: string;
  /**
   * Adds the door's routes to the scope under `/v1`, once, before the server listens. Errors of pricing and of
   * the database may be thrown as they are: the scope answers them (see `route-failures.ts`).
   */
  register(scope: App): void;
  /** Begins background work: inboxes, recovery, expiry. Resolves when the door may be used. */
  start(): Promise<void>;
  /** Ends background work; resolves when nothing of it runs any more. */
  stop(): Promise<void>;
}

/** `GET /top-up/{method}/{address}/{currency}/{amount}` and `POST /stripe-webhook`. */
export type CardTopUps = PaymentDoor;

/** `GET /x402/top-up` and its variants. */
export type X402TopUps = PaymentDoor;

/** Who a request speaks for, when it said so in a way that was checked. */
export interface RequestWallet {
  readonly address: string;
  readonly addressType: string;
}

/** Credits bought for an email address, waiting in `gifts.ts` for `GET /redeem`. */
export interface Gifts {
  /** Called in the transaction that stores the receipt. */
  createIn(tx: SqlExecutor, gift: Gift): Promise<void>;
  /**
   * The payment behind a gift was taken back: an unredeemed gift is deleted, of a redeemed one the wallet
   * that has the winc is answered, so that the clawback hits it.
   */
  withdrawIn(tx: SqlExecutor, receiptId: string): Promise<RequestWallet | undefined>;
}

export interface Gift {
  readonly receiptId: string;
  /** The quote it was bought with, which its buyer knows. */
  readonly quoteId: string;
  /** HTML-escaped, as it is compared on redemption. */
  readonly email: string;
  readonly amount: Winc;
  /** Shown in the history of whoever redeems it; carries the gift's message. */
  readonly payment: FiatPayment;
}
