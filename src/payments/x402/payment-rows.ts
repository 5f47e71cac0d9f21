/** Payments as they are kept: stored before they are settled, credited in the transaction that finishes them. */

import { type Static, Type } from 'typebox';
import { type Winc, winc } from '../../credits/credits.ts';
import type { FacilitatorRequest, SettleAnswer } from '../../formats/x402/facilitator.ts';
import { changeOne } from '../../storage/sql/change-one.ts';
import { insertion } from '../../storage/sql/columns.ts';
import { dueBounds, isDue } from '../../storage/sql/due.ts';
import {
  columnList,
  columnsOf,
  fieldsReader,
  optionalAmount,
  optionalText,
} from '../../storage/sql/fields.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { amountText, jsonReader, readText } from '../../storage/sql/typed-rows.ts';
import { type PurchaseState, purchaseState } from './purchases.ts';
import type { SignedPayment } from './x402.ts';

/** What a payment is known by: no two of one payer on one chain have the same nonce. Permits count theirs apart. */
export const paymentId = ({ network, payer, payment }: SignedPayment): string =>
  `${network.caip2}:${payer}:${payment.permit === undefined ? '' : 'permit2:'}${payment.authorization.nonce}`;

const requirement = {
  scheme: Type.Union([Type.Literal('exact'), Type.Literal('upto')]),
  network: Type.String(),
  payTo: Type.String(),
  asset: Type.String(),
  maxTimeoutSeconds: Type.Number(),
  extra: Type.Object({
    name: Type.String(),
    version: Type.String(),
    assetTransferMethod: Type.Optional(Type.String()),
    facilitatorAddress: Type.Optional(Type.String()),
  }),
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
    amount: Type.Optional(Type.String()),
  }),
);

const storedPayment = Type.Object({
  id: Type.String(),
  version,
  /** CAIP-2. */
  network: Type.String(),
  payer: Type.String(),
  nonce: Type.String(),
  value: amountText,
  validBefore: amountText,
  request: Type.String(),
  purpose: Type.String(),
  reference: optionalText,
  address: Type.String(),
  addressType: Type.String(),
  winc: amountText,
  reserved: optionalAmount,
  /** Since it was credited; what became of the reservation (`purchases.ts`). */
  purchase: Type.Union([purchaseState, Type.Undefined()]),
  item: optionalText,
  /** Who may have its answer again (`claims.ts`). */
  claim: optionalText,
  state: Type.Enum(['open', 'credited', 'failed', 'unclear']),
  settlement: optionalText,
  leasedUntil: Type.Integer(),
  /** Grows each time that it is taken to be worked on: who has an older number has lost it. */
  attempts: Type.Integer(),
  /** Unix milliseconds. */
  createdAt: Type.Integer(),
});
const readStored = fieldsReader('an x402 payment', storedPayment);
const columns = columnList(storedPayment.properties);

/**
 * `state`: `open` is stored, not known to be settled. `credited` and `failed` are final. `unclear`: it may have been
 * carried out and no transfer to us is known; only a person can tell (`by-hand.ts`).
 */
type Stored = Readonly<Static<typeof storedPayment>>;
type Parsed = 'value' | 'validBefore' | 'request' | 'winc' | 'reserved' | 'settlement';

export interface PaymentRow extends Omit<Stored, Parsed> {
  readonly value: bigint;
  readonly validBefore: bigint;
  readonly request: FacilitatorRequest;
  readonly winc: Winc;
  /** Of it, what is reserved for what is bought; undefined: only credits are. */
  readonly reserved: Winc | undefined;
  readonly settlement: SettleAnswer | undefined;
}

export async function readPaymentRow(tx: SqlExecutor, id: string): Promise<PaymentRow | undefined> {
  const stored = await tx.get(`SELECT ${columns} FROM x402_payments WHERE id = ? ${tx.forUpdate}`, id);
  if (stored === undefined) return undefined;
  const row = readStored(stored);
  return {
    ...row,
    value: BigInt(row.value),
    validBefore: BigInt(row.validBefore),
    request: readRequest(row.request, row.id),
    winc: winc(BigInt(row.winc)),
    reserved: row.reserved === undefined ? undefined : winc(BigInt(row.reserved)),
    settlement: row.settlement === undefined ? undefined : readSettlement(row.settlement, row.id),
  };
}

/** Nobody changes the payment until the transaction ends. */
export async function lockPaymentRow(tx: SqlExecutor, id: string): Promise<void> {
  await tx.get(`SELECT id FROM x402_payments WHERE id = ? ${tx.forUpdate}`, id);
}

const storedCredited = Type.Object({
  id: Type.String(),
  network: Type.String(),
  payer: Type.String(),
  value: amountText,
  purchase: Type.Union([purchaseState, Type.Undefined()]),
  reserved: optionalAmount,
  settlement: optionalText,
});
const readCredited = fieldsReader('a credited x402 payment', storedCredited);

/** Credited payments among these; others are left out. */
export async function creditedPayments(executor: SqlExecutor, ids: readonly string[]) {
  if (ids.length === 0) return [];
  const rows = await executor.all(
    `SELECT ${columnList(storedCredited.properties)} FROM x402_payments
     WHERE state = 'credited' AND id IN (${ids.map(() => '?').join(', ')})`,
    ...ids,
  );
  return rows.map(readCredited).map(({ settlement, reserved = '0', ...row }) => ({
    ...row,
    value: BigInt(row.value),
    reserved: BigInt(reserved),
    transaction: settlement === undefined ? undefined : readSettlement(settlement, row.id).transaction,
  }));
}

export async function insertPaymentRow(tx: SqlExecutor, row: PaymentRow, now: number): Promise<void> {
  const values = columnsOf({
    ...row,
    request: JSON.stringify(row.request),
    settlement: row.settlement && JSON.stringify(row.settlement),
    dueAt: now,
    createdAt: now,
    changedAt: now,
  });
  await changeOne(tx, `INSERT INTO x402_payments ${insertion(values)}`, ...Object.values(values));
}

/** Before a payment that stays open is looked at again. */
export const openRetry = { firstMs: 1_000, longestMs: 10 * 60_000 };
/** A payment is held for so long, and held again while it is worked on: a crash frees it soon. */
export const leaseMs = 10_000;

/** Ids of open payments that nobody is working on and that are due. */
export async function duePayments(tx: SqlExecutor, now: number, limit: number): Promise<string[]> {
  const rows = await tx.all(
    `SELECT id FROM x402_payments WHERE state = 'open' AND ${isDue('due_at')} AND ${isDue('leased_until')}
     ORDER BY due_at LIMIT ?`,
    ...dueBounds(now, openRetry.longestMs),
    ...dueBounds(now, leaseMs),
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
     WHERE id = ? AND state = 'open' AND ${isDue('leased_until')}`,
    until,
    now,
    id,
    ...dueBounds(now, leaseMs),
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
    `UPDATE x402_payments SET state = 'credited', settlement = ?, transaction_id = ?, purchase = ?, credited_at = ?,
       leased_until = 0, changed_at = ? WHERE id = ? AND state <> 'credited'`,
    JSON.stringify(settlement),
    settlement.transaction.toLowerCase(),
    row.reserved === undefined ? null : purchase,
    now,
    now,
    row.id,
  );
  return changed === 1;
}
