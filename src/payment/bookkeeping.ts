/**
 * What an operator does with the ledger, on the command line and by the admin routes alike: prove that it adds up, see what
 * waits for a person and end it, look at a wallet, give credits.
 */
import { randomUUID } from 'node:crypto';
import {
  type Credits,
  type Entry,
  LOSS_ACCOUNT,
  WINC_PER_CREDIT,
  type Winc,
  winc,
} from '../credits/credits.ts';
import { readLosses } from '../credits/ledger/accounts.ts';
import type {
  GivenCredits,
  KeptName,
  LedgerAccount,
  LedgerCheck,
  LedgerCheckState,
  LedgerEntry,
  LedgerLosses,
  OpenMatters,
  ReturnSummary,
  WaitingGift,
} from '../formats/admin-answers.ts';
import { type Page, type PageRequest, writeCursor } from '../kernel/admin/paging.ts';
import { endOpenEvent, openEvents } from '../payments/card/inbox.ts';
import { endRefundByHand, owedRefunds } from '../payments/card/refunds.ts';
import {
  type ChainPaymentRow,
  chainPaymentId,
  failedPayments,
  voidPayment,
} from '../payments/chain/store.ts';
import { checkReturns } from '../payments/returns/check.ts';
import type { CreditReturn } from '../payments/returns/returns.ts';
import { returnsByHand } from '../payments/returns/rows.ts';
import { endByHand, unclearPayments } from '../payments/x402/by-hand.ts';
import { parseDecimal, scaled } from '../pricing/decimal.ts';
import type { Sql } from '../storage/sql/sql.ts';
import type { WalletAddress } from '../wallets/address.ts';
import { waitingGifts } from './gifts.ts';

const shownAtOnce = 1_000;
/** A slip of the hand is more likely than such a gift. */
const mostGiven = 1_000_000n;

export interface BookkeepingDeps {
  readonly sql: Sql;
  readonly credits: Credits;
  /** Names that the service keeps because their payment went back; names are another room's. */
  readonly keptNames?: ((limit: number) => Promise<readonly KeptName[]>) | undefined;
  /** Unix milliseconds. */
  readonly now?: (() => number) | undefined;
}

export interface Gift {
  readonly wallet: WalletAddress;
  readonly amount: Winc;
  /** Giving again with the same id gives nothing. */
  readonly id?: string | undefined;
  /** Shown in the wallet's payment history. */
  readonly message?: string | undefined;
}

export class Bookkeeping {
  readonly #deps: BookkeepingDeps;
  #checking: Promise<LedgerCheck> | undefined;
  #last: LedgerCheck | undefined;

  constructor(deps: BookkeepingDeps) {
    this.#deps = deps;
  }

  get checkState(): LedgerCheckState {
    return { running: this.#checking !== undefined, last: this.#last ?? null };
  }

  /** Reads all of the ledger. Those who ask together share one. */
  check(): Promise<LedgerCheck> {
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  async #check(): Promise<LedgerCheck> {
    const begun = performance.now();
    const { drift, losses, ...report } = await this.#deps.credits.selfCheck();
    const returns = await checkReturns(this.#deps.sql);
    this.#last = {
      ...{ at: this.#now(), tookMs: Math.round(performance.now() - begun) },
      ...{ ...report, drift: drift.toString(), losses: losses.toString() },
      ...{ ok: report.ok && returns.length === 0, problems: [...report.problems, ...returns] },
    };
    return this.#last;
  }

  /** What waits for a person, at most a thousand of each. */
  async open(): Promise<OpenMatters> {
    const { sql } = this.#deps;
    const payments = await unclearPayments(sql, shownAtOnce, this.#now());
    return {
      refunds: await owedRefunds(sql, shownAtOnce),
      payments: payments.map((payment) => ({ ...payment, winc: payment.winc.toString() })),
      chainPayments: (await failedPayments(sql, shownAtOnce, this.#now())).map(failedChainPayment),
      names: await this.#keptNames(),
      returns: (await returnsByHand(sql, shownAtOnce)).map(returnSummary),
      cardEvents: await openEvents(sql, shownAtOnce),
    };
  }

  async losses(page: PageRequest): Promise<LedgerLosses> {
    const total = await readLosses(this.#deps.sql);
    const { items, next } = await this.#entries(LOSS_ACCOUNT.address, page);
    return { total: total.toString(), entries: items, names: await this.#keptNames(), next };
  }

  async gifts(): Promise<WaitingGift[]> {
    const gifts = await waitingGifts(this.#deps.sql, this.#now(), shownAtOnce);
    return gifts.map((gift) => ({ ...gift, amount: gift.amount.toString() }));
  }

  async account({ address, kind }: WalletAddress, page: PageRequest): Promise<LedgerAccount> {
    const balance = await this.#deps.credits.balance(address);
    const { items, next } = await this.#entries(address, page);
    return {
      ...{ address, kind },
      balance:
        balance === undefined
          ? null
          : {
              ...balance,
              winc: balance.winc.toString(),
              controlledWinc: balance.controlledWinc.toString(),
              effectiveBalance: balance.effectiveBalance.toString(),
            },
      ...{ entries: items, next },
    };
  }

  /** An x402 payment was made after all, by that transaction. False when there is no such payment to end. */
  settle(id: string, transaction: string): Promise<boolean> {
    const { sql, credits } = this.#deps;
    return endByHand(sql, credits, id, transaction, this.#now());
  }

  /**
   * An x402 payment, or `chain:transaction`, was never made or was made good otherwise, or a card event was dealt with.
   * False as with `settle`.
   */
  async void(id: string): Promise<boolean> {
    const { sql, credits } = this.#deps;
    if (await endByHand(sql, credits, id, undefined, this.#now())) return true;
    return (await voidPayment(sql, id)) || (await endOpenEvent(sql, id));
  }

  /** A refund that failed for good was made by other means. False when there is none. */
  refunded(quoteId: string): Promise<boolean> {
    return endRefundByHand(this.#deps.sql, quoteId, this.#now());
  }

  /** Throws `ChangeConflict` when the id was used for another wallet or amount. */
  async give({ wallet, amount, id = randomUUID(), message = '' }: Gift): Promise<GivenCredits> {
    const { applied, balance } = await this.#deps.credits.credit({
      address: wallet.address,
      addressType: wallet.kind,
      amount,
      reason: 'admin_credit',
      id,
      payment: {
        type: 'fiat',
        paymentAmount: '0',
        currencyType: 'winc',
        paymentProvider: 'admin',
        receiptId: id,
        giftMessage: message === '' ? null : message,
      },
    });
    const { address } = wallet;
    return { id, address, given: applied, winc: amount.toString(), balance: balance.toString() };
  }

  #now(): number {
    return (this.#deps.now ?? Date.now)();
  }

  async #keptNames(): Promise<KeptName[]> {
    const names = (await this.#deps.keptNames?.(shownAtOnce)) ?? [];
    return names.map(({ reference, name, antId, payer }) => ({ reference, name, antId, payer }));
  }

  async #entries(account: string, { before, limit }: PageRequest): Promise<Page<LedgerEntry>> {
    const { items, next } = await this.#deps.credits.entries(account, {
      limit,
      ...(before !== undefined && { before: before.at }),
    });
    return { items: items.map(entryOf), next: next === undefined ? null : writeCursor({ at: next, id: '' }) };
  }
}

const entryOf = ({ sequence, amount, reason, changeId, note, createdAt }: Entry): LedgerEntry => ({
  ...{ sequence, amount: amount.toString(), reason, changeId, note: note ?? null, createdAt },
});

export const returnSummary = (row: CreditReturn): ReturnSummary => ({
  ...{ id: row.id, kind: row.kind, state: row.state, payment: row.payment, address: row.address },
  ...{ winc: row.winc.toString(), amount: row.amount.toString(), token: row.token },
  ...{ chain: row.chain ?? null, recipient: row.recipient },
  ...{ transaction: row.reference ?? null, reason: row.reason ?? null },
  ...{ createdAt: row.createdAt, changedAt: row.changedAt },
});

const failedChainPayment = (row: ChainPaymentRow): OpenMatters['chainPayments'][number] => ({
  id: chainPaymentId(row),
  chain: row.chain,
  transactionId: row.transaction_id,
  token: row.token,
  quantity: row.quantity,
  winc: row.winc,
  sender: row.sender,
  destination: row.destination,
  reason: row.failure_reason ?? '',
  createdAt: row.created_at,
  endedAt: row.ended_at,
});

/** What of a gift's amount cannot be given, as a sentence. */
export class InvalidAmount extends Error {
  override readonly name = 'InvalidAmount';
}

/** Credits as people write them, for example `0.5`. */
export function parseCredits(text: string): Winc {
  const credits = /^[0-9]{1,20}(?:\.[0-9]{1,20})?$/.test(text) ? parseDecimal(text) : undefined;
  const amount = credits === undefined ? 0n : scaled(WINC_PER_CREDIT, [credits], [], 'down');
  if (amount < 1n) throw new InvalidAmount('the amount is in credits, for example 1 or 0.5');
  if (amount > mostGiven * WINC_PER_CREDIT) {
    throw new InvalidAmount(`at most ${mostGiven} credits are given at once`);
  }
  return winc(amount);
}

/** The hash of a transaction on an Ethereum chain, in its one spelling; undefined where it is none. */
export const parseTransactionHash = (text: string): string | undefined =>
  /^0x[0-9a-fA-F]{64}$/.test(text) ? text.toLowerCase() : undefined;
