/**
 * Carrying payments out, exactly once each: store, ask the facilitator, credit. What a crash or a lost answer
 * leaves open is finished here too, by what the chain says became of the authorisation, or, where no chain can
 * be asked, by settling again, which moves nothing a second time.
 */

import type { Credits } from '../../credits/credits.ts';
import { provesNothingSent, type SettleAnswer, x402Reasons } from '../../formats/x402/facilitator.ts';
import { findX402Network, type X402Network } from '../../formats/x402/networks.ts';
import { readPayment } from '../../formats/x402/payment.ts';
import { backoffMs } from '../../kernel/background/backoff.ts';
import type { RunReport } from '../../kernel/background/run-record.ts';
import { WakeableTask } from '../../kernel/background/wakeable-task.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { UniqueViolation } from '../../storage/sql/sql.ts';
import type { AuthorizationChain, AuthorizationFate } from './chain.ts';
import { creditPayment, notSettled, settled } from './credit-payment.ts';
import { FacilitatorUnavailable, X402InProgress, X402Refused, X402SettlementFailed } from './errors.ts';
import type { FacilitatorClient } from './facilitator-client.ts';
import {
  duePayments,
  endUncredited,
  insertPaymentRow,
  leaseMs,
  leasePayment,
  openRetry,
  type PaymentRow,
  paymentId,
  readPaymentRow,
  releasePayment,
  renewLease,
} from './payment-rows.ts';
import type { SignedPayment, X402Receipt } from './x402.ts';

const recoveryIntervalMs = 10_000;
const recoveredAtOnce = 20;
/** Longer than an authorisation may still land after its time, given slow blocks. */
const lateSeconds = 120n;

export interface SettlementsOptions {
  readonly sql: Sql;
  readonly credits: Credits;
  readonly facilitator: FacilitatorClient;
  readonly chain: AuthorizationChain;
  readonly payTo: string;
  readonly log: Logger;
  readonly now: () => number;
  onSettlement(network: string, result: 'credited' | 'failed' | 'unclear' | 'unknown'): void;
}

export class Settlements {
  readonly #options: SettlementsOptions;
  readonly #running = new Map<string, { readonly row: PaymentRow; readonly ended: Promise<X402Receipt> }>();
  readonly #recovery = new WakeableTask({
    name: 'recover x402 settlements',
    run: async () => {
      await this.#recoverDue();
      return recoveryIntervalMs;
    },
    failed: (error) => {
      this.#options.log.error({ err: error }, 'x402 recovery failed');
      return recoveryIntervalMs;
    },
  });

  constructor(options: SettlementsOptions) {
    this.#options = options;
  }

  /** Whether this payment was seen before: then the facilitator would refuse it, and the kept answer counts. */
  async isKnown(payment: SignedPayment): Promise<boolean> {
    return (await readPaymentRow(this.#options.sql, paymentId(payment))) !== undefined;
  }

  /** The kept answer to a payment that was credited for the same as `row`. */
  async recall(row: PaymentRow): Promise<X402Receipt | undefined> {
    const kept = await readPaymentRow(this.#options.sql, row.id);
    if (kept?.state !== 'credited' || !isSameUse(kept, row)) return undefined;
    return this.#finished(kept);
  }

  /** The same payment asked for twice at once is one settlement. */
  async settle(row: PaymentRow): Promise<X402Receipt> {
    const running = this.#running.get(row.id);
    if (running !== undefined) {
      refuseOtherUse(running.row, row);
      return { ...(await running.ended), applied: false };
    }
    const ended = this.#settle(row).finally(() => this.#running.delete(row.id));
    this.#running.set(row.id, { row, ended });
    return ended;
  }

  /** Surfaces that share one process share these: starting again changes nothing. */
  async start(): Promise<void> {
    if (this.#recovery.isStopped) this.#recovery.start();
  }

  reports(): readonly RunReport[] {
    return this.#recovery.reports();
  }

  async stop(): Promise<void> {
    await this.#recovery.stop();
    await Promise.allSettled([...this.#running.values()].map(({ ended }) => ended));
  }

  async #settle(row: PaymentRow): Promise<X402Receipt> {
    const { sql, now } = this.#options;
    const leasedUntil = this.#leaseEnd();
    const before = await sql
      .transaction(async (tx) => {
        const existing = await readPaymentRow(tx, row.id);
        if (existing === undefined) await insertPaymentRow(tx, { ...row, leasedUntil, attempts: 1 }, now());
        return existing;
      })
      .catch((error: unknown) => {
        // Another process stored the same payment at the same moment.
        if (error instanceof UniqueViolation) throw new X402InProgress(row.id);
        throw error;
      });
    if (before === undefined) {
      const inserted = { ...row, attempts: 1 };
      return this.#holding(inserted, () => this.#carryOut(inserted));
    }
    refuseOtherUse(before, row);
    if (before.state !== 'open') return this.#finished(before);
    const leased = await sql.transaction((tx) => leasePayment(tx, row.id, now(), leasedUntil));
    if (leased === undefined) throw new X402InProgress(row.id);
    return this.#holding(leased, () => this.#resume(leased, 'sent again'));
  }

  #leaseEnd(): number {
    return this.#options.now() + leaseMs;
  }

  /**
   * Renews the lease while a slow facilitator or chain is waited for. Should it lapse all the same, another may take the
   * payment up: the nonce is used once on the chain, and the row is credited once, whoever comes first.
   */
  async #holding(row: PaymentRow, work: () => Promise<X402Receipt>): Promise<X402Receipt> {
    const { sql, log } = this.#options;
    const renewal = setInterval(() => {
      sql
        .transaction((tx) => renewLease(tx, row, this.#leaseEnd()))
        .catch((error: unknown) =>
          log.warn({ err: error, payment: row.id }, 'x402 payment could not be held'),
        );
    }, leaseMs / 3);
    try {
      return await work();
    } finally {
      clearInterval(renewal);
    }
  }

  /** What became of it in other hands, while the lease here had lapsed. */
  async #takenOver(row: PaymentRow): Promise<X402Receipt> {
    const now = await readPaymentRow(this.#options.sql, row.id);
    if (now === undefined || now.state === 'open') throw new X402InProgress(row.id);
    return this.#finished(now);
  }

  /** What the first asking led to. */
  #finished(row: PaymentRow): X402Receipt {
    const settlement = row.settlement ?? notSettled(row, x402Reasons.unexpectedSettle);
    if (row.state !== 'credited') throw new X402SettlementFailed(settlement);
    return receipt(row, settlement, this.#options.payTo, false);
  }

  /** Asks the facilitator to make the transfer; a refusal is checked against the chain where one can be asked. */
  async #carryOut(row: PaymentRow): Promise<X402Receipt> {
    let answer: SettleAnswer;
    try {
      answer = await this.#options.facilitator.settle(row.request);
    } catch (error) {
      if (!(error instanceof FacilitatorUnavailable)) throw error;
      this.#options.log.warn({ err: error, payment: row.id }, 'x402 settlement unknown');
      this.#options.onSettlement(row.network, 'unknown');
      return this.#putBack(row, undefined, error);
    }
    if (answer.success) return this.#credit(row, { ...answer, payer: row.payer });
    const refusal = notSettled(row, answer.errorReason ?? x402Reasons.unexpectedSettle);
    const network = networkOf(row);
    // Only a refusal that says that nothing was sent is believed, and only of the first asking: what was sent may
    // land after the answer, and be the reason why the second is refused.
    const nothingSent = row.attempts === 1 && provesNothingSent(answer);
    if (!this.#options.chain.knows(network)) {
      return nothingSent ? this.#fail(row, refusal) : this.#putBack(row, refusal);
    }
    const fate = await this.#fate(row, network);
    if (fate?.kind === 'transferred') return this.#credit(row, settled(row, fate.transaction));
    const over = fate?.kind === 'used-otherwise' || (fate?.kind === 'unused' && nothingSent);
    return over ? this.#fail(row, refusal) : this.#putBack(row, refusal);
  }

  /**
   * Finds out what an earlier attempt led to. One that the chain has not seen is tried anew only for a payer who sends it
   * again: the others were told that it failed and may have paid with another.
   */
  async #resume(row: PaymentRow, how: 'found' | 'sent again'): Promise<X402Receipt> {
    const network = networkOf(row);
    if (!this.#options.chain.knows(network)) return this.#settleAgain(row);
    const fate = await this.#fate(row, network);
    if (fate?.kind === 'transferred') return this.#credit(row, settled(row, fate.transaction));
    if (fate?.kind === 'used-otherwise') return this.#markUnclear(row);
    if (fate !== undefined && this.#hasLapsed(row)) {
      if (fate.kind === 'used-unseen') return this.#markUnclear(row);
      return this.#fail(row, notSettled(row, x402Reasons.validBefore));
    }
    if (how === 'sent again' && fate?.kind === 'unused' && this.#isValid(row)) return this.#carryOut(row);
    return this.#putBack(row);
  }

  async #settleAgain(row: PaymentRow): Promise<X402Receipt> {
    let answer: SettleAnswer;
    try {
      answer = await this.#options.facilitator.settle(row.request);
    } catch (error) {
      if (!(error instanceof FacilitatorUnavailable)) throw error;
      return this.#putBack(row, undefined, error);
    }
    if (answer.success) return this.#credit(row, { ...answer, payer: row.payer });
    // A second refusal never says that nothing was sent: it may be refused because the first asking was carried out,
    // which used the nonce, took the funds, or was so long ago that it has lapsed.
    if (this.#hasLapsed(row)) return this.#markUnclear(row);
    return this.#putBack(row, notSettled(row, answer.errorReason ?? x402Reasons.unexpectedSettle));
  }

  #isValid(row: PaymentRow): boolean {
    return BigInt(Math.floor(this.#options.now() / 1000)) < row.validBefore;
  }

  /** Nothing that was sent for it can land any more. */
  #hasLapsed(row: PaymentRow): boolean {
    return BigInt(Math.floor(this.#options.now() / 1000)) > row.validBefore + lateSeconds;
  }

  async #fate(row: PaymentRow, network: X402Network): Promise<AuthorizationFate | undefined> {
    const payment = readPayment(row.request.paymentPayload);
    const { chain } = this.#options;
    const fate =
      payment.permit === undefined
        ? chain.fateOf(network, payment.authorization, row.createdAt)
        : chain.fateOfPermit(network, payment, row.value, row.createdAt);
    return fate.catch((error: unknown) => {
      this.#options.log.warn({ err: error, payment: row.id }, 'x402 payment could not be looked up');
      return undefined;
    });
  }

  async #credit(row: PaymentRow, settlement: SettleAnswer): Promise<X402Receipt> {
    const { sql, now, onSettlement, log } = this.#options;
    const applied = await sql.transaction((tx) =>
      creditPayment(tx, this.#options.credits, row, settlement, 'reserved', now()),
    );
    if (!applied) return this.#takenOver(row);
    onSettlement(row.network, 'credited');
    const { transaction } = settlement;
    log.info({ payment: row.id, transaction, winc: row.winc.toString() }, 'x402 credited');
    const credited: PaymentRow = row.reserved === undefined ? row : { ...row, purchase: 'reserved' };
    return receipt(credited, settlement, this.#options.payTo, true);
  }

  async #fail(row: PaymentRow, settlement: SettleAnswer): Promise<X402Receipt> {
    return this.#end(row, 'failed', settlement, () =>
      this.#options.log.info({ payment: row.id, reason: settlement.errorReason }, 'x402 settlement refused'),
    );
  }

  async #markUnclear(row: PaymentRow): Promise<X402Receipt> {
    return this.#end(row, 'unclear', notSettled(row, x402Reasons.nonceUsed), () =>
      this.#options.log.error(
        { payment: row.id },
        'x402 payment may have been made and no transfer is known: check by hand',
      ),
    );
  }

  async #end(
    row: PaymentRow,
    state: 'failed' | 'unclear',
    settlement: SettleAnswer,
    report: () => void,
  ): Promise<X402Receipt> {
    const { sql, now, onSettlement } = this.#options;
    const ended = await sql.transaction((tx) => endUncredited(tx, row, state, settlement, now()));
    if (!ended) return this.#takenOver(row);
    onSettlement(row.network, state);
    report();
    throw new X402SettlementFailed(settlement);
  }

  /** Not known yet: it stays open and is looked at again later. */
  async #putBack(row: PaymentRow, answer?: SettleAnswer, cause?: unknown): Promise<X402Receipt> {
    const { sql, now } = this.#options;
    const wait = backoffMs(openRetry, row.attempts + 1);
    const released = await sql.transaction((tx) => releasePayment(tx, row, now(), now() + wait));
    if (!released) return this.#takenOver(row);
    throw new X402SettlementFailed(answer ?? notSettled(row, x402Reasons.unexpectedSettle), cause);
  }

  async #recoverDue(): Promise<void> {
    const { sql, now, log } = this.#options;
    for (const id of await duePayments(sql, now(), recoveredAtOnce)) {
      if (this.#recovery.isStopped) return;
      if (this.#running.has(id)) continue;
      const leased = await sql
        .transaction((tx) => leasePayment(tx, id, now(), this.#leaseEnd()))
        .catch((error: unknown) => {
          // One that cannot be read must not keep the others waiting.
          log.error({ err: error, payment: id }, 'x402 payment could not be taken up');
        });
      if (leased === undefined) continue;
      const resumed = this.#holding(leased, () => this.#resume(leased, 'found')).finally(() =>
        this.#running.delete(id),
      );
      this.#running.set(id, { row: leased, ended: resumed });
      await resumed.catch((error: unknown) =>
        log.debug({ err: error, payment: id }, 'x402 payment still open'),
      );
    }
  }
}

function networkOf(row: PaymentRow): X402Network {
  const network = findX402Network(row.network);
  if (network === undefined) throw new Error(`x402 payment on unknown network ${row.network}`);
  return network;
}

/**
 * A payment buys once what it was first sent for, for whom it was sent. Its signature is on the chain for all to read
 * once it is settled, so that whoever sends it again for something else need not be its payer, and is not told whom
 * it credited.
 */
function refuseOtherUse(first: PaymentRow, now: PaymentRow): void {
  if (!isSameUse(first, now)) throw new X402Refused(x402Reasons.nonceUsed);
}

const isSameUse = (first: PaymentRow, now: PaymentRow): boolean =>
  first.purpose === now.purpose && first.reference === now.reference && first.address === now.address;

function receipt(row: PaymentRow, settlement: SettleAnswer, payTo: string, applied: boolean): X402Receipt {
  return {
    id: row.id,
    payer: row.payer,
    walletAddress: row.address,
    creditedWinc: row.winc,
    value: row.value,
    settlement,
    payTo,
    applied,
    ...(row.purchase === undefined || row.reserved === undefined
      ? {}
      : { purchase: { state: row.purchase, reserved: row.reserved, item: row.item } }),
  };
}
