/**
 * Returning bought credits that were not used.
 *
 *   due → sent → confirmed
 *         sent → failed (the card's bank refused: the credits are given back)
 *   due → by_hand → confirmed (the operator sent it) or refused (the credits are given back)
 *
 * The credits are taken in the transaction that stores the return, as a reservation of the ledger under the return's id;
 * they are settled when the money has gone, and given back when it has not and will not. What is sent is signed and
 * stored before it is sent, so that whatever happens between, the same transaction is sent again and never another.
 */
import type { AddressType, Winc } from '../../credits/credits.ts';

export const returnStates = ['due', 'sent', 'by_hand', 'confirmed', 'failed', 'refused'] as const;
export type ReturnState = (typeof returnStates)[number];

/** Those that have given their credits back. */
export const undoneStates: readonly ReturnState[] = ['failed', 'refused'];

export const returnKinds = ['card', 'chain', 'x402'] as const;
export type ReturnKind = (typeof returnKinds)[number];

export interface CreditReturn {
  readonly id: string;
  /** Whose credits they are. */
  readonly address: string;
  readonly addressType: AddressType;
  readonly kind: ReturnKind;
  /** The change that credited the payment: a receipt, `chain:transaction`, an x402 payment. */
  readonly payment: string;
  /** Of a card payment. */
  readonly quoteId: string | undefined;
  /** Of a chain payment its chain, of an x402 payment its network (CAIP-2). */
  readonly chain: string | undefined;
  /** What it was paid in: a token, or the currency of a card. */
  readonly token: string;
  readonly winc: Winc;
  /** What goes back, in base units of the token or minor units of the currency. */
  readonly amount: bigint;
  /** The wallet that paid; `card` for a card. */
  readonly recipient: string;
  readonly state: ReturnState;
  /** Of the transaction, or of the provider's refund. */
  readonly reference: string | undefined;
  /** Why it waits, failed or was refused. */
  readonly reason: string | undefined;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly changedAt: number;
}

/** What the operator allows. */
export interface ReturnRules {
  /** Payments older than this are not returned; 0: none are. */
  readonly windowMs: number;
  /** What the operator keeps, in ten thousandths. */
  readonly feeBasisPoints: bigint;
  /** Smaller ones cost more to send than they are worth. */
  readonly minimumWinc: Winc;
}

/** Signed, to be stored and only then sent. */
export interface PreparedTransfer {
  /** By which the chain will know it. */
  readonly reference: string;
  readonly wire: string;
  /** Height, slot or nonce from which on it cannot happen any more, as its way counts. */
  readonly validUntil: number;
}

export type DeliveryOutcome =
  /** `reference`: where it became known only now. */
  | { readonly state: 'confirmed'; readonly reference?: string }
  | { readonly state: 'waiting'; readonly reference?: string }
  /** It is proven that this transfer never happened and never will: another may be made. */
  | { readonly state: 'void'; readonly reason: string }
  /** It never will, and neither will another: the credits are given back. */
  | { readonly state: 'failed'; readonly reason: string };

/** A transfer as it was stored. */
export interface SentReturn extends CreditReturn {
  readonly wire: string | undefined;
  readonly validUntil: number | undefined;
}

/** How money is sent back. All methods may be asked again after a lost answer. */
export interface WayBack {
  /**
   * Where transfers of one sender follow each other, its name: only one of them is under way at a time. Undefined where
   * they are independent.
   */
  readonly queue?: string;
  /** Undefined where nothing is signed in advance: the provider knows a return by its id. Throws `CannotSend`. */
  prepare(order: CreditReturn): Promise<PreparedTransfer | undefined>;
  /** Sends it if need be and says what became of it. */
  deliver(sent: SentReturn): Promise<DeliveryOutcome>;
  close?(): Promise<void>;
}

/** It cannot be sent now: the wallet has not enough, or the chain does not answer. */
export class CannotSend extends Error {
  override readonly name = 'CannotSend';
}

/** Why a return is not made, in words for whoever asked. Nothing has changed when it is thrown. */
export class ReturnRefused extends Error {
  override readonly name = 'ReturnRefused';
  readonly kind: 'off' | 'unknown' | 'not-returnable' | 'amount';

  constructor(kind: ReturnRefused['kind'], message: string) {
    super(message);
    this.kind = kind;
  }
}
