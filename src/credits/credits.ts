/**
 * The ledger of winc: the only room that changes a balance.
 *
 * Every change is one SQL transaction that appends entries and moves the balance they sum to; it is known by
 * an id given from outside (quote, chain transaction, x402 nonce, data item, action nonce), and asking again
 * with the same id answers the same and moves nothing. Winc lent to another wallet leaves the payer's
 * balance when the approval is made and sits in the approval's own account until it is spent or returns.
 *
 * This file is the interface; `ledger/` implements it on SQL. It may call pricing, wallets and storage.
 * Addresses are normalised before they enter (wallets). Other forms of a wallet lead to its one account once they are
 * known (`unite`), wherever an address is taken here.
 */
import { type Static, Type } from 'typebox';
import type { Approval } from '../formats/approval.ts';
import type { AppliedAdjustment, Winc } from '../pricing/pricing.ts';
import type { SqlExecutor } from '../storage/sql/sql.ts';
import { textOrNull } from '../storage/sql/typed-rows.ts';
import type { AddressForms } from '../wallets/address-forms.ts';

export { MAX_WINC, parseAmount, WINC_PER_CREDIT, type Winc, winc } from '../pricing/pricing.ts';
export * from './errors.ts';

/** Kind of key behind an address; stored when the account is opened, never part of its identity. */
export type AddressType = string;

/** Why winc was given. With the change's id it makes the change unique. */
export const creditReasons = [
  'payment',
  'crypto_payment',
  'x402_payment',
  'admin_credit',
  'gifted_payment_redemption',
  'chargeback_reversed',
  'arns_excess_payment',
] as const;
export type CreditReason = (typeof creditReasons)[number];

/** Why winc was taken without asking whether the balance allows it. */
export const clawbackReasons = ['chargeback', 'card_refund'] as const;
export type ClawbackReason = (typeof clawbackReasons)[number];

/** What was bought, or that what was bought goes back to where it was paid from (`payments/returns`). */
export const spendReasons = ['upload', 'arns_purchase_order', 'arns_action', 'payment_return'] as const;
export type SpendReason = (typeof spendReasons)[number];

/** Those by which credits are used: what goes back to where it was paid from is not. */
export const useReasons: readonly SpendReason[] = spendReasons.filter(
  (reason) => reason !== 'payment_return',
);

/**
 * The operator's own account. A payment that goes back is taken from whoever had its credits or signed for it; where
 * nobody did, it is booked here, so that it is below zero by what the operator has lost. No wallet has such an address.
 */
export const LOSS_ACCOUNT = { address: 'operator:losses', addressType: 'operator' } as const;

/** Every reason an entry may carry. */
export const entryReasons = [
  ...creditReasons,
  ...clawbackReasons,
  ...spendReasons,
  ...spendReasons.map((reason) => `refunded_${reason}` as const),
  'delegated_payment_approval',
  'delegated_payment_revoke',
  'delegated_payment_expired',
  'account_united',
] as const;
export type EntryReason = (typeof entryReasons)[number];

export interface CreditRequest {
  readonly address: string;
  readonly addressType: AddressType;
  /** At least 1. */
  readonly amount: Winc;
  readonly reason: CreditReason;
  /** Unique among the changes of this reason: receipt id, transaction id, x402 payment id … */
  readonly id: string;
  /** Shown in the wallet's payment history. */
  readonly payment?: PaymentRecord;
  /** For the operator: what the change was about. */
  readonly note?: string;
  /**
   * Part of what is given, from 1 up to all of it, that is reserved in the same change for what it was paid for. It
   * comes out of this credit alone: what the wallet had before, or owes, is not touched.
   */
  readonly reserve?: { readonly reason: SpendReason; readonly id: string; readonly amount: Winc };
}

export interface ClawbackRequest
  extends Pick<CreditRequest, 'address' | 'addressType' | 'amount' | 'id' | 'note'> {
  readonly reason: ClawbackReason;
}

export interface Changed {
  /** False when this change was already made: nothing moved now. */
  readonly applied: boolean;
  /** The wallet's own winc afterwards; below zero only through a clawback. */
  readonly balance: Winc;
}

export const cryptoPayment = Type.Object({
  type: Type.Literal('crypto'),
  tokenType: Type.String(),
  tokenQuantity: Type.String(),
  usdEquivalent: Type.String(),
  senderAddress: Type.String(),
  transactionId: Type.String(),
  blockHeight: Type.Optional(Type.String()),
});
export const fiatPayment = Type.Object({
  type: Type.Literal('fiat'),
  paymentAmount: Type.String(),
  currencyType: Type.String(),
  paymentProvider: Type.String(),
  receiptId: Type.String(),
  giftMessage: textOrNull,
});
export type FiatPayment = Readonly<Static<typeof fiatPayment>>;

/** One top-up as `/account/payments` shows it. Absent members are left out of the answer. */
export type PaymentRecord = Readonly<Static<typeof cryptoPayment>> | FiatPayment;

/** `list-or-signer`: what the listed payers leave, the signer pays. `list-only`: the signer does not. */
export type PaymentDirective = 'list-or-signer' | 'list-only';

/** At most this many payers in one spending. */
export const MAX_PAYERS = 32;

export interface SpendRequest {
  /** Data item id, action nonce …: at most one unrefunded spending of this reason per id. */
  readonly id: string;
  readonly reason: SpendReason;
  readonly signer: string;
  readonly signerType: AddressType;
  /** 0 is allowed and recorded. */
  readonly amount: Winc;
  /** Payers to ask first, in order. Empty or absent: the signer pays all. */
  readonly paidBy?: readonly string[];
  readonly directive?: PaymentDirective;
  /** The network's share of the price, kept for reports. */
  readonly networkWinc?: Winc;
  /** Adjustments of the signer's quote; those limited per user are counted with the spending. */
  readonly adjustments?: readonly AppliedAdjustment[];
}

export interface Spending {
  readonly id: string;
  readonly reason: SpendReason;
  readonly state: 'reserved' | 'settled' | 'refunded';
  readonly signer: string;
  /** What is (or, refunded, was) taken in all. */
  readonly amount: Winc;
  /** Who paid what, in the order they were asked. An approval's share names its payer. */
  readonly split: readonly PayerShare[];
  /** False when this spending existed already: nothing moved now. */
  readonly applied: boolean;
}

export interface PayerShare {
  readonly payer: string;
  readonly amount: Winc;
  /** The approval it was taken from; absent for the signer's own balance. */
  readonly approvalId?: string;
}

export interface ApprovalRequest {
  /** Id of the data item that carries it; never reused, not even after the approval ended. */
  readonly id: string;
  readonly payer: string;
  readonly approved: string;
  /** At least 1. */
  readonly amount: Winc;
  /** At least 1; absent: never expires. */
  readonly expiresInSeconds?: number;
}

/** `id`: of the data item that asks for it. */
export type RevokeRequest = Pick<ApprovalRequest, 'id' | 'payer' | 'approved'>;

export interface EndedApproval extends Approval {
  readonly inactiveReason: 'revoked' | 'expired' | 'used';
  readonly inactiveDate: string;
  readonly revokeDataItemId?: string;
}

/** Interface §2 "Balance", as amounts. */
export interface Balance {
  /** The wallet's own winc; below zero after a clawback. */
  readonly winc: Winc;
  /** winc and what others may still take of it. */
  readonly controlledWinc: Winc;
  /** winc, at least 0, and what the wallet may still take of others. */
  readonly effectiveBalance: Winc;
  readonly givenApprovals: readonly Approval[];
  readonly receivedApprovals: readonly Approval[];
}

export interface Entry {
  readonly sequence: number;
  /** A wallet address, `approval:<id>` for winc that sits in an approval, or the operator's loss account. */
  readonly account: string;
  readonly amount: Winc;
  readonly reason: EntryReason;
  readonly changeId: string;
  readonly note: string | undefined;
  readonly createdAt: number;
}

export interface Payment {
  readonly date: string;
  readonly wincCredited: string;
  readonly record: PaymentRecord;
}

/** What was spent on one day, less what came back. */
export interface DaySpending {
  /** `2026-01-31`, of UTC. */
  readonly date: string;
  readonly winc: Winc;
  readonly uploads: Winc;
  readonly names: Winc;
  /** Of what the wallet lends. */
  readonly byOthers: Winc;
}

/** Winc taken for something that is not certain yet. */
export interface Hold {
  readonly id: string;
  readonly reason: SpendReason;
  readonly amount: Winc;
  /** Unix milliseconds. */
  readonly since: number;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** Hand it in as `before` for the next page; undefined on the last. */
  readonly next: number | undefined;
}

export interface PageRequest {
  readonly limit: number;
  readonly before?: number;
}

/** What changes balances. On `Credits` each call is a transaction of its own. */
export interface CreditChanges {
  /** Gives winc. Throws `ChangeConflict` when the id was used for another wallet or amount. */
  credit(request: CreditRequest): Promise<Changed>;
  /**
   * Takes winc back whatever the balance: disputes and card refunds. A wallet that owes then gets back what it lent, the
   * newest approvals first.
   */
  clawback(request: ClawbackRequest): Promise<Changed>;
  /**
   * Takes winc for something not yet certain; `settle` or `refund` ends it. A repeat answers the standing
   * reservation. Throws `InsufficientCredits` (nothing is taken), `ChangeConflict` for the same id and
   * another signer, `AdjustmentUsedUp` when a limited adjustment was used up since the quote.
   */
  reserve(request: SpendRequest): Promise<Spending>;
  /**
   * Ends a reservation; `amount` (default: all) is kept and the rest goes back to whom it came from, the
   * last asked first. Settling again answers the same. Throws `SpendingNotFound`, and `ChangeConflict` when
   * it was refunded or the amount is larger than what was reserved.
   */
  settle(reason: SpendReason, id: string, amount?: Winc): Promise<Spending>;
  /** Reserve and settle in one: for what is certain when it is paid. Same errors as `reserve`. */
  spend(request: SpendRequest): Promise<Spending>;
  /**
   * Gives everything back along the split, once; the id may then be spent again. A share whose approval
   * ended goes to its payer. Answers undefined when there was nothing to refund.
   */
  refund(reason: SpendReason, id: string): Promise<Spending | undefined>;
  /**
   * Makes what was reserved under one id the settled spending of another, for no more than was reserved; the rest goes
   * back. Throws `SpendingNotFound`, and `ChangeConflict` when the reservation has ended, was not paid by its signer
   * alone, is smaller, or `to` is paid for already.
   */
  assign(reason: SpendReason, from: string, to: string, amount: Winc): Promise<Spending>;
  /** Lends winc. Throws `ApprovalConflict`, `InvalidApproval`, `UnknownWallet`, `InsufficientCredits`. */
  approve(request: ApprovalRequest): Promise<Approval>;
  /** Ends every approval of the pair; what is left returns to the payer. Throws `NothingToRevoke`. */
  revoke(request: RevokeRequest): Promise<readonly EndedApproval[]>;
}

export interface Credits extends CreditChanges {
  /**
   * A key was seen: every form of its address leads to one account from now on, and what came under another form is on it.
   * Nothing is written for a key of which the ledger knows nothing.
   */
  unite(forms: AddressForms): Promise<void>;
  /** What the account of an address is called, and every form of the wallet that is known, that first. */
  namesOf(address: string): Promise<readonly string[]>;
  /** Unites what older versions kept apart, where the addresses alone tell it; answers how many accounts that concerned. */
  uniteStored(): Promise<number>;

  /**
   * The same changes inside a transaction of the caller's on the same database, so that what is bought and
   * what it costs are stored together: `sql.transaction(async (tx) => { …; await credits.within(tx).spend(…) })`. Where one
   * fails, the transaction must: a part of it may have been written.
   */
  within(tx: SqlExecutor): CreditChanges;

  /** Undefined when the wallet has no account and no received approval with winc left. */
  balance(address: string): Promise<Balance | undefined>;
  /** Whether `spend` would succeed now, and with whom; undefined when it would not. */
  preview(request: SpendRequest): Promise<readonly PayerShare[] | undefined>;
  spending(reason: SpendReason, id: string): Promise<Spending | undefined>;
  /** Active approvals of a pair, soonest expiry first, then oldest. */
  approvals(payer: string, approved: string): Promise<readonly Approval[]>;
  /** All active approvals a wallet gave and received. */
  approvalsOf(address: string): Promise<Pick<Balance, 'givenApprovals' | 'receivedApprovals'>>;
  /** Ends what has expired, at most `limit` approvals; answers how many. Reads and spending do it too. */
  expireApprovals(limit?: number): Promise<number>;

  /** Below what balance a wallet is told, and whether it chose that; 0 is never. */
  notice(address: string): Promise<{ readonly winc: Winc; readonly own: boolean }>;
  /** Null: as the service has it for everybody. False when the wallet has no account. */
  setNotice(address: string, amount: bigint | null): Promise<boolean>;

  /** Every entry of a wallet, newest first. */
  entries(account: string, page: PageRequest): Promise<Page<Entry>>;
  /** Top-ups credited to a wallet, newest first. */
  payments(address: string, page: PageRequest): Promise<Page<Payment>>;
  /** Whether a payment was ever credited to the wallet: promo codes for new wallets ask. */
  hasPaid(executor: SqlExecutor, address: string): Promise<boolean>;

  /** The last so many days, of UTC, on which a wallet spent; `complete` is false where there was too much to count. */
  spendingByDay(
    address: string,
    days: number,
  ): Promise<{ readonly days: readonly DaySpending[]; readonly complete: boolean }>;
  /** What is reserved in the name of a wallet, the newest first, at most `limit`; `count` is of all. */
  holds(address: string, limit: number): Promise<{ readonly holds: readonly Hold[]; readonly count: number }>;

  /** Winc that payments have brought, in all. */
  sold(): Promise<bigint>;

  /** Proves the invariants over the whole ledger. */
  selfCheck(): Promise<SelfCheck>;
}

export interface SelfCheck {
  readonly ok: boolean;
  readonly accounts: number;
  readonly entries: number;
  readonly approvals: number;
  readonly spendings: number;
  /** Σ balances + Σ active approvals − Σ entries; 0 when nothing was lost or made. */
  readonly drift: bigint;
  /** What went back to payers and nobody owes. */
  readonly losses: bigint;
  /** One sentence per broken invariant, at most 100. */
  readonly problems: readonly string[];
}
