/**
 * What the operator's routes answer, as JSON: `/v1/admin` of payment and upload, `/gw/admin` of the gateway. Surfaces
 * write it and the console reads it, so that both use these types.
 *
 * Times are Unix milliseconds, amounts of money are decimal text, and what is not known is null. Lists are pages: `next` is
 * handed in as `before` for the following one, and is null on the last.
 */
import type { Approval } from './approval.ts';

/** How one background job goes. */
export interface JobReport {
  /** The part of the surface that it belongs to, for example `bundler`. */
  readonly part: string;
  readonly name: string;
  /** `off`: it never runs as things are configured. `failing`: its last run failed; it is tried again. */
  readonly state: 'running' | 'waiting' | 'failing' | 'off';
  /** It runs for longer than it should ever take. */
  readonly stuck: boolean;
  /** Runs that ended, well or not, since the start. */
  readonly runs: number;
  /** In a row; 0 after one that went well. */
  readonly failures: number;
  readonly lastStartedAt: number | null;
  readonly lastEndedAt: number | null;
  readonly lastTookMs: number | null;
  /** Of the last run that failed, also when others went well since. */
  readonly lastError: string | null;
  readonly lastErrorAt: number | null;
  /** When it runs again by itself. */
  readonly nextAt: number | null;
}

/** `GET state`. */
export interface SurfaceState {
  readonly surface: string;
  readonly version: string;
  readonly world: string;
  readonly startedAt: number;
  readonly pid: number;
  /** Why it is not healthy, in sentences; those of its parts and of its jobs. */
  readonly problems: readonly string[];
  readonly jobs: readonly JobReport[];
  /** Numbers and texts that matter, by name; each surface has its own. */
  readonly figures: Readonly<Record<string, string | number | boolean | null>>;
}

/** `GET config`: `{ variables }`. */
export interface ConfigVariable {
  readonly group: string;
  readonly name: string;
  /** How it is written: `port`, `url`, `secret` … */
  readonly kind: string;
  readonly meaning: string;
  readonly default: string;
  /** What holds in this process, with secrets hidden; empty where there is none. */
  readonly value: string;
  readonly isSet: boolean;
}

/** `GET ledger/check`, and `POST ledger/check`, which begins one. */
export interface LedgerCheckState {
  readonly running: boolean;
  /** The last one that ended in this process. */
  readonly last: LedgerCheck | null;
}

export interface LedgerCheck {
  readonly at: number;
  readonly tookMs: number;
  readonly ok: boolean;
  readonly accounts: number;
  readonly entries: number;
  readonly approvals: number;
  readonly spendings: number;
  readonly drift: string;
  readonly losses: string;
  readonly problems: readonly string[];
}

/** `GET ledger/open`: what waits for a person, at most a thousand of each. */
export interface OpenMatters {
  /** Card payments that have to go back. `givenUp`: by hand, then `POST ledger/refunded`. */
  readonly refunds: readonly OwedRefund[];
  /** x402 payments of which nobody knows whether they were made: `POST ledger/settle` or `POST ledger/void`. */
  readonly payments: readonly UnclearPayment[];
  /** Chain payments that failed although our wallet may have been paid: `POST ledger/void`. */
  readonly chainPayments: readonly FailedChainPayment[];
  /** Names that the service keeps because their payment went back. */
  readonly names: readonly KeptName[];
  /** Returns that the operator has to send: `POST returns/{id}/settle`, `/retry` or `/refuse`. */
  readonly returns: readonly ReturnSummary[];
  /** Card payments whose quote is not here, as after a restore: `turnpike reconcile`, or `POST ledger/void`. */
  readonly cardEvents: readonly OpenCardEvent[];
}

/** What the card provider told of a payment whose quote is not here. */
export interface OpenCardEvent {
  readonly id: string;
  readonly type: string;
  readonly quoteId: string | null;
  readonly intentId: string | null;
  readonly receivedAt: number;
}

/** `GET reconcile`, and `POST reconcile`, which begins one. */
export interface ReconcileState {
  /** Of the last one since the start. */
  readonly report: ReconcileReport | null;
}

/** What the outside knows and the ledger did not. */
export interface ReconcileReport {
  /** Unix milliseconds: from when on the outside was asked. */
  readonly since: number;
  /** Nothing was credited, only told. */
  readonly dryRun: boolean;
  readonly begunAt: number;
  /** Null while it runs. */
  readonly endedAt: number | null;
  readonly records: readonly ReconciledRecord[];
  /** Who did not answer, so that there may be more. */
  readonly failures: readonly { readonly source: string; readonly reason: string }[];
}

export interface ReconciledRecord {
  readonly kind: 'card' | 'x402' | 'chain' | 'bundle' | 'name';
  readonly id: string;
  readonly at: number | null;
  readonly what: string;
  /** `taken in`: the service sees to it from here on. `open`: a person has to. */
  readonly state: 'credited' | 'would be credited' | 'taken in' | 'open';
  /** Who was credited, and how much. */
  readonly address: string | null;
  readonly winc: string | null;
  readonly reason: string | null;
}

/** A return of unused credits. */
export interface ReturnSummary {
  readonly id: string;
  readonly kind: 'card' | 'chain' | 'x402';
  /** `due`, `sent`, `by_hand`, `confirmed`, `failed` or `refused`. */
  readonly state: string;
  readonly payment: string;
  /** Whose credits they were. */
  readonly address: string;
  readonly winc: string;
  /** Base units of the token, or minor units of the currency of a card. */
  readonly amount: string;
  readonly token: string;
  /** Of a chain payment its chain, of an x402 payment its network (CAIP-2). */
  readonly chain: string | null;
  /** The wallet that paid, or `card`. */
  readonly recipient: string;
  readonly transaction: string | null;
  readonly reason: string | null;
  readonly createdAt: number;
  readonly changedAt: number;
}

export interface OwedRefund {
  readonly quoteId: string;
  readonly intentId: string | null;
  readonly address: string;
  /** In minor units of the currency. */
  readonly amount: number;
  readonly currency: string;
  readonly tries: number;
  readonly givenUp: boolean;
  readonly since: number;
}

export interface UnclearPayment {
  readonly id: string;
  readonly state: 'open' | 'unclear';
  /** CAIP-2. */
  readonly network: string;
  readonly payer: string;
  readonly nonce: string;
  /** Atomic units of the token. */
  readonly value: string;
  readonly address: string;
  readonly winc: string;
  readonly createdAt: number;
}

export interface FailedChainPayment {
  /** `chain:transaction`, as `POST ledger/void` takes it. */
  readonly id: string;
  readonly chain: string;
  readonly transactionId: string;
  readonly token: string;
  readonly quantity: string;
  readonly winc: string;
  readonly sender: string;
  readonly destination: string;
  readonly reason: string;
  readonly createdAt: number;
  readonly endedAt: number | null;
}

export interface KeptName {
  readonly reference: string;
  readonly name: string;
  readonly antId: string;
  readonly payer: string;
}

export interface LedgerEntry {
  readonly sequence: number;
  readonly amount: string;
  readonly reason: string;
  readonly changeId: string;
  readonly note: string | null;
  readonly createdAt: number;
}

/** `GET ledger/losses`. */
export interface LedgerLosses {
  readonly total: string;
  readonly entries: readonly LedgerEntry[];
  readonly names: readonly KeptName[];
  readonly next: string | null;
}

/** `GET ledger/gifts`: `{ gifts }`. */
export interface WaitingGift {
  readonly receiptId: string;
  readonly quoteId: string | null;
  /** HTML-escaped. */
  readonly email: string;
  readonly amount: string;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** `GET ledger/accounts/{address}`. */
export interface LedgerAccount {
  readonly address: string;
  readonly kind: string;
  /** Null: it has never held credits. */
  readonly balance: null | {
    readonly winc: string;
    readonly controlledWinc: string;
    readonly effectiveBalance: string;
    readonly givenApprovals: readonly Approval[];
    readonly receivedApprovals: readonly Approval[];
  };
  readonly entries: readonly LedgerEntry[];
  readonly next: string | null;
}

/** `POST ledger/credit`. */
export interface GivenCredits {
  readonly id: string;
  readonly address: string;
  /** False: this id was given before, and nothing moved now. */
  readonly given: boolean;
  readonly winc: string;
  readonly balance: string;
}

/** `GET payments`: `{ payments, next }`. */
export interface PaymentSummary {
  readonly kind: 'card' | 'chain' | 'x402';
  readonly id: string;
  readonly state: string;
  /** `top-up`, `upload`, `arns` … */
  readonly purpose: string;
  /** Who is credited. */
  readonly address: string;
  /** Who pays, as its chain writes it; null for cards. */
  readonly payer: string | null;
  /** Minor units of a currency, or atomic units of a token. */
  readonly amount: string;
  /** `usd`, `arweave`, `usdc` … */
  readonly currency: string;
  readonly winc: string;
  /** Why it failed. */
  readonly reason: string | null;
  /** A person has to end it: it is in `GET ledger/open`. */
  readonly open: boolean;
  readonly createdAt: number;
  readonly changedAt: number;
}

/** `GET promo-codes`: `{ codes }`, with fees, discounts and upload adjustments, which have no code. */
export interface PriceChange {
  readonly id: string;
  readonly kind: 'promo' | 'payment' | 'upload';
  readonly code: string | null;
  readonly name: string;
  readonly description: string;
  readonly operator: 'add' | 'multiply';
  readonly magnitude: string;
  readonly priority: number;
  readonly active: boolean;
  readonly startsAt: number;
  readonly endsAt: number | null;
  /** Of a promo code: how often it was used. */
  readonly uses: number;
  /** 0: without limit. */
  readonly maxUses: number;
  readonly targetGroup: string | null;
  /** US cents; 0: none. */
  readonly minimumPayment: number;
  readonly maximumDiscount: number;
}

/** `GET names/actions`: `{ actions, next }`; those that are not finished. */
export interface OpenNameAction {
  /** The action's nonce, or the card quote's id. */
  readonly id: string;
  readonly paidBy: 'credits' | 'card';
  /** `buy-name`, `set-record` … */
  readonly action: string;
  readonly name: string | null;
  readonly antId: string | null;
  readonly payer: string;
  readonly owner: string | null;
  readonly winc: string;
  readonly status: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly expiresAt: number;
  /** One sentence: what it waits for. */
  readonly why: string;
}

/** `GET bundles`: `{ bundles, next }`. */
export interface BundleReport {
  /** Its name here, before it has a transaction and after. */
  readonly plan: string;
  /** The transaction; null until it is made. */
  readonly txId: string | null;
  readonly state: 'planned' | 'prepared' | 'posted' | 'seeded' | 'permanent' | 'dropped';
  readonly items: number;
  readonly bytes: number;
  /** Tries that failed since its state last changed. */
  readonly tries: number;
  readonly lastError: string | null;
  readonly lastErrorAt: number | null;
  /** Null once it has ended. */
  readonly nextTryAt: number | null;
  readonly blockHeight: number | null;
  /** As the chain last said; null while it is not mined. */
  readonly confirmations: number | null;
  readonly confirmationsNeeded: number;
  /** How often its chunks were given to the network. */
  readonly seedings: number;
  /** Looks at it since it is permanent; null where it is not watched. */
  readonly watch: null | BundleWatch;
  readonly createdAt: number;
  readonly postedAt: number | null;
  readonly seededAt: number | null;
  readonly changedAt: number;
  /** It failed several times in a row, or waits for longer than bundles do. */
  readonly stuck: boolean;
  /** One sentence: how far it is and what it waits for. */
  readonly why: string;
}

/** How a permanent bundle fares. */
export interface BundleWatch {
  readonly looks: number;
  readonly lastAt: number | null;
  /** Null: the time to watch it is over. */
  readonly nextAt: number | null;
  /** What is missing, in a sentence; null where all that was asked for was there. */
  readonly damage: string | null;
  readonly damagedSince: number | null;
  /** Tries to mend it in a row that did not help. */
  readonly tries: number;
  /** Chunks that were given to the network again, in all. */
  readonly chunksMended: number;
}

/** `GET items`: `{ items, next }`; also of `GET bundles/{plan}`: `{ bundle, items, next }`. */
export interface ItemSummary {
  readonly id: string;
  /** `new`: waits for a bundle. `planned`: in one that is not permanent yet. */
  readonly state: 'new' | 'planned' | 'permanent' | 'failed';
  readonly signer: string;
  readonly bytes: number;
  readonly contentType: string;
  readonly winc: string;
  readonly receivedAt: number;
  /** The plan of its bundle. */
  readonly bundle: string | null;
  /** Bundles that it was dropped with. */
  readonly failures: number;
  readonly failedReason: string | null;
  /** Whether all gateways were told of it. */
  readonly announced: boolean;
}

/** One step of an item's way. */
export interface ItemStep {
  readonly id: 'received' | 'announced' | 'bundled' | 'posted' | 'seeded' | 'mined' | 'permanent';
  readonly state: 'done' | 'now' | 'waiting' | 'failed';
  readonly at: number | null;
  readonly note: string | null;
}

/** `GET items/{id}`: all that is known. */
export interface ItemReport extends ItemSummary {
  readonly owner: string;
  readonly signatureType: number;
  readonly payloadBytes: number;
  /** By this height it must be in a posted bundle, as its receipt says. */
  readonly deadlineHeight: number;
  readonly paid: {
    readonly how: 'free' | 'credits' | 'x402' | 'given back';
    readonly winc: string;
    /** Who paid how much; empty for what was free. */
    readonly shares: readonly {
      readonly payer: string;
      readonly winc: string;
      readonly approval: string | null;
    }[];
  };
  readonly inBundle: BundleReport | null;
  /** Where it begins in its bundle. */
  readonly bundleOffset: number | null;
  /** Whether its bytes are still held here. */
  readonly held: boolean;
  readonly permanentAt: number | null;
  /** Reads in a row that did not find its bytes. */
  readonly misses: number;
  readonly blocked: boolean;
  /** Hosts of gateways: those that were told of it, and those that are still to be. */
  readonly toldTo: readonly string[];
  readonly waitingFor: readonly string[];
  readonly steps: readonly ItemStep[];
  /** One sentence: how far it is, and why it is not permanent yet. */
  readonly why: string;
}

/** `GET announcements`. */
export interface Announcements {
  /** Those that are told of new items; none where no gateway is configured. */
  readonly gateways: readonly {
    readonly url: string;
    /** As receipts name it. */
    readonly host: string;
    readonly listening: boolean;
    readonly waiting: number;
    /** Items that it was never told of, because too many waited for it. */
    readonly dropped: number;
    /** Calls that failed in a row. */
    readonly failures: number;
    readonly lastError: string | null;
    readonly lastErrorAt: number | null;
    readonly nextTryAt: number | null;
    /** Items that it will never take, since this process started. */
    readonly refused: number;
  }[];
  /** The oldest that wait. */
  readonly items: readonly {
    readonly id: string;
    readonly receivedAt: number;
    /** Hosts of those that were not told; empty where none was yet. */
    readonly gateways: readonly string[];
  }[];
}
