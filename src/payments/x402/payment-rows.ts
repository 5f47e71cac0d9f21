/** Payments as they are kept: stored before they are settled, credited in the transaction that finishes them. */

import { type Static, Type } from 'typebox';
import type { Winc } from '../../credits/credits.ts';
import { winc } from '../../credits/credits.ts';
import type { FacilitatorRequest, SettleAnswer } from '../../formats/x402/facilitator.ts';
import { changeOne } from '../../storage/sql/change-one.ts';
import { insertion } from '../../storage/sql/columns.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import {
  amountOrNull,
  amountText,
  jsonReader,
  readText,
  rowReader,
  textOrNull,
} from '../../storage/sql/typed-rows.ts';
import { type PurchaseState, purchaseState } from './purchases.ts';
import type { SignedPayment } from './x402.ts';

/**
 * `open`: stored, not known to be settled. `credited` and `failed` are final. `unclear`: it may have been carried out
 * and no transfer to us is known; only a person can tell (`by-hand.ts`).
 */
const paymentStates = ['open', 'credited', 'failed', 'unclear'] as const;
export type PaymentState = (typeof paymentStates)[number];

export interface PaymentRow {
  readonly id: string;
  readonly version: 1 | 2;
  /** CAIP-2. */
  readonly network: string;
  readonly payer: string;
  readonly nonce: string;
  readonly value: bigint;
  readonly validBefore: bigint;
  readonly request: FacilitatorRequest;
  readonly purpose: string;
  readonly reference: string | null;
  readonly address: string;
  readonly addressType: string;
  readonly winc: Winc;
  /** Of it, what is reserved for what is bought; undefined: only credits are. */
  readonly reserved: Winc | undefined;
  /** Since it was credited; what became of the reservation (`purchases.ts`). */
  readonly purchase: PurchaseState | undefined;
  readonly item: string | undefined;
  /** Who may have its answer again (`claims.ts`). */
  readonly claim: string | null;
  readonly state: PaymentState;
  readonly settlement: SettleAnswer | undefined;
  readonly leasedUntil: number;
  /** Grows each time that it is taken to be worked on: who has an older number has lost it. */
  readonly attempts: number;
  /** Unix milliseconds. */
  readonly createdAt: number;
}

/** What a payment is known by: no two of one payer on one chain have the same nonce. */
export const paymentId = ({ network, payer, payment }: SignedPayment): string =>
  `${network.caip2}:${payer}:${payment.authorization.nonce}`;

const requirement = {
  scheme: Type.Literal('exact'),
  network: Type.String(),
  payTo: Type.String(),
  asset: Type.String(),
  maxTimeoutSeconds: Type.Number(),
  extra: Type.Object({ name: Type.String(), version: Type.String() }),
};
const version = Type.Union([Type.Literal(1), Type.Literal(2)]);
const readRequest = jsonReader(
  'the request of x402 payment',
  Type.Object({
    x402Version: version,
    paymentPayload: Type.Intersect([
      Type.Record(Type.String(), Type.Unknown()),
      Type.Object({ x402Version: version }),
    ]),
    paymentRequirements: Type.Union([
      Type.Object({
        ...requirement,
        maxAmountRequired: Type.String(),
        resource: Type.String(),
        description: Type.String(),
        mimeType: Type.String(),
      }),
      Type.Object({ ...requirement, amount: Type.String() }),
    ]),
  }),
);
const readSettlement = jsonReader(
  'the settlement of x402 payment',
  Type.Object({
    success: Type.Boolean(),
    errorReason: Type.Optional(Type.String()),
    transaction: Type.String(),
    network: Type.String(),
    payer: Type.Optional(Type.String()),
  }),
);

const storedPayment = Type.Object({
  id: Type.String(),
  version,
  network: Type.String(),
  payer: Type.String(),
  nonce: Type.String(),
  value: amountText,
  valid_before: amountText,
  request: Type.String(),
  purpose: Type.String(),
  reference: textOrNull,
  address: Type.String(),
  address_type: Type.String(),
  winc: amountText,
  reserved: amountOrNull,
  claim: textOrNull,
  state: Type.Enum(paymentStates),
  settlement: textOrNull,
  leased_until: Type.Integer(),
  attempts: Type.Integer(),
  purchase: Type.Union([purchaseState, Type.Null()]),
  item: textOrNull,
  created_at: Type.Integer(),
});
const readStored = rowReader('an x402 payment', storedPayment);

const columns = Object.keys(storedPayment.properties).join(', ');

export async function readPaymentRow(tx: SqlExecutor, id: string): Promise<PaymentRow | undefined> {
  const row = await tx.get(`SELECT ${columns} FROM x402_payments WHERE id = ? ${tx.forUpdate}`, id);
  return row === undefined ? undefined : fromStored(readStored(row));
}

function fromStored(row: Static<typeof storedPayment>): PaymentRow {
  return {
    id: row.id,
    version: row.version,
    network: row.network,
    payer: row.payer,
    nonce: row.nonce,
    value: BigInt(row.value),
    validBefore: BigInt(row.valid_before),
    request: readRequest(row.request, row.id),
    purpose: row.purpose,
    reference: row.reference,
    address: row.address,
    addressType: row.address_type,
    winc: winc(BigInt(row.winc)),
    reserved: row.reserved === null ? undefined : winc(BigInt(row.reserved)),
    purchase: row.purchase ?? undefined,
    item: row.item ?? undefined,
    claim: row.claim,
    state: row.state,
    settlement: row.settlement === null ? undefined : readSettlement(row.settlement, row.id),
    leasedUntil: row.leased_until,
    attempts: row.attempts,
    createdAt: row.created_at,
  };
}

export async function insertPaymentRow(tx: SqlExecutor, row: PaymentRow, now: number): Promise<void> {
  const values = {
    id: row.id,
    version: row.version,
    network: row.network,
    payer: row.payer,
    nonce: row.nonce,
    value: row.value.toString(),
    valid_before: row.validBefore.toString(),
    request: JSON.stringify(row.request),
    purpose: row.purpose,
    reference: row.reference,
    address: row.address,
    address_type: row.addressType,
    winc: row.winc.toString(),
    reserved: row.reserved?.toString() ?? null,
    claim: row.claim,
    state: row.state,
    leased_until: row.leasedUntil,
    attempts: row.attempts,
    due_at: now,
    created_at: now,
    changed_at: now,
  };
  await changeOne(tx, `INSERT INTO x402_payments ${insertion(values)}`, ...Object.values(values));
}

/** Ids of open payments that nobody is working on and that are due. */
export async function duePayments(tx: SqlExecutor, now: number, limit: number): Promise<string[]> {
  const rows = await tx.all(
    `SELECT id FROM x402_payments WHERE state = 'open' AND due_at <= ? AND leased_until <= ?
     ORDER BY due_at LIMIT ?`,
    now,
    now,
    limit,
  );
  return rows.map((row) => readText(row.id));
}

/** Takes an open payment to work on; undefined when another has it or it is finished. */
export async function leasePayment(
  tx: SqlExecutor,
  id: string,
  now: number,
  until: number,
): Promise<PaymentRow | undefined> {
  const changed = await tx.run(
    `UPDATE x402_payments SET leased_until = ?, attempts = attempts + 1, changed_at = ?
     WHERE id = ? AND state = 'open' AND leased_until <= ?`,
    until,
    now,
    id,
    now,
  );
  return changed === 1 ? readPaymentRow(tx, id) : undefined;
}

/** A lease that somebody has on an open payment: good until another takes it, which only its lapse allows. */
export type HeldPayment = Pick<PaymentRow, 'id' | 'attempts'>;

/** Whoever works on it goes on doing so; false when another has it, or it was put back or has ended. */
export async function renewLease(
  tx: SqlExecutor,
  { id, attempts }: HeldPayment,
  until: number,
): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE x402_payments SET leased_until = ?
     WHERE id = ? AND attempts = ? AND state = 'open' AND leased_until > 0`,
    until,
    id,
    attempts,
  );
  return changed === 1;
}

/** Puts it back, to be looked at again later; false when another has it or it has ended. */
export async function releasePayment(
  tx: SqlExecutor,
  { id, attempts }: HeldPayment,
  now: number,
  dueAt: number,
): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE x402_payments SET leased_until = 0, due_at = ?, changed_at = ?
     WHERE id = ? AND attempts = ? AND state = 'open'`,
    dueAt,
    now,
    id,
    attempts,
  );
  return changed === 1;
}

/** Ends one without crediting it; false when another has it or it has ended. */
export async function endUncredited(
  tx: SqlExecutor,
  { id, attempts }: HeldPayment,
  state: 'failed' | 'unclear',
  settlement: SettleAnswer,
  now: number,
  from: 'open' | 'unclear' = 'open',
): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE x402_payments SET state = ?, settlement = ?, leased_until = 0, changed_at = ?
     WHERE id = ? AND attempts = ? AND state = ?`,
    state,
    JSON.stringify(settlement),
    now,
    id,
    attempts,
    from,
  );
  return changed === 1;
}

/** Marks it as credited; false when it was before. `purchase`: what becomes of the reservation, where one was asked for. */
export async function endCredited(
  tx: SqlExecutor,
  row: PaymentRow,
  settlement: SettleAnswer,
  purchase: PurchaseState,
  now: number,
): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE x402_payments SET state = 'credited', settlement = ?, purchase = ?, credited_at = ?, leased_until = 0,
       changed_at = ? WHERE id = ? AND state <> 'credited'`,
    JSON.stringify(settlement),
    row.reserved === undefined ? null : purchase,
    now,
    now,
    row.id,
  );
  return changed === 1;
}
