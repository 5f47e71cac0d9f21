/** Why x402 payments fail; surfaces choose the answer (`formats/x402/answers.ts`). */
import type { PaymentProblem } from '../../formats/x402/answers.ts';
import type { SettleAnswer } from '../../formats/x402/facilitator.ts';

/** A payment that was not taken; `problem` is what its payer is told. */
export abstract class X402NotTaken extends Error {
  abstract readonly problem: PaymentProblem;
}

/** The header cannot be read as a payment at all. */
export class X402Unreadable extends X402NotTaken {
  override readonly name = 'X402Unreadable';
  override readonly problem = { kind: 'unreadable' } as const;
}

/** The signature is not the payer's. */
export class X402SignatureInvalid extends X402NotTaken {
  override readonly name = 'X402SignatureInvalid';
  override readonly problem = { kind: 'unreadable' } as const;
}

/** The payment can be read but not taken; `reason` is the protocol's word for why. */
export class X402Refused extends X402NotTaken {
  override readonly name = 'X402Refused';
  override readonly problem: PaymentProblem;
  readonly reason: string;

  constructor(reason: string) {
    super(`payment refused: ${reason}`);
    this.reason = reason;
    this.problem = { kind: 'refused', reason };
  }
}

/** The transfer was not carried out, or it is not known whether it was: then it is credited when it turns out so. */
export class X402SettlementFailed extends X402NotTaken {
  override readonly name = 'X402SettlementFailed';
  override readonly problem: PaymentProblem;
  readonly settlement: SettleAnswer;

  constructor(settlement: SettleAnswer, cause?: unknown) {
    super(`settlement failed: ${settlement.errorReason ?? 'unknown'}`, { cause });
    this.settlement = settlement;
    this.problem = { kind: 'not-settled', settlement };
  }
}

/** The same payment is being settled right now. */
export class X402InProgress extends X402NotTaken {
  override readonly name = 'X402InProgress';
  override readonly problem = { kind: 'in-progress' } as const;
}

/** The facilitator did not answer, or not in its own protocol: whether a transfer was made is not known. */
export class FacilitatorUnavailable extends Error {
  override readonly name = 'FacilitatorUnavailable';
}

/** The chain's nodes did not answer, or not in their protocol. */
export class ChainUnavailable extends Error {
  override readonly name = 'ChainUnavailable';
}

/** The reservation of the price is over: it was spent on something else, given back, or never made. */
export class PurchaseOver extends Error {
  override readonly name = 'PurchaseOver';
}
