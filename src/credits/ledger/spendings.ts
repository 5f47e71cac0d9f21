/** The rows behind `Spending`, and the ids of the changes they make. */
import { type Static, Type } from 'typebox';
import { changeOne } from '../../storage/sql/change-one.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { amountText, jsonReader, rowReader, textOrNull } from '../../storage/sql/typed-rows.ts';
import { type PayerShare, type Spending, type SpendReason, spendReasons, winc } from '../credits.ts';
import { approvalAccount } from './accounts.ts';

export const spendingColumns = {
  id: Type.String(),
  reason: Type.Enum(spendReasons),
  /** Grows when a refunded id is spent again. */
  attempt: Type.Integer(),
  state: Type.Enum(['reserved', 'settled', 'refunded']),
  signer: Type.String(),
  amount: amountText,
  /** Null when the signer paid all. */
  split: textOrNull,
};
const storedSpending = Type.Object(spendingColumns);
export type SpendingRow = Readonly<Static<typeof storedSpending>>;

export const readSpendingRow = rowReader('a spending', storedSpending);
/** Payer, amount, approval. */
const readShares = jsonReader(
  'the split of spending',
  Type.Array(
    Type.Union([
      Type.Tuple([Type.String(), amountText]),
      Type.Tuple([Type.String(), amountText, textOrNull]),
    ]),
  ),
);

export const spendingColumnList = Object.keys(spendingColumns).join(', ');

/** `lock` where the same transaction will change the row. */
export async function readSpending(
  executor: SqlExecutor,
  reason: SpendReason,
  id: string,
  lock = false,
): Promise<SpendingRow | undefined> {
  const row = await executor.get(
    `SELECT ${spendingColumnList} FROM credits_spendings WHERE id = ? AND reason = ? ${lock ? executor.forUpdate : ''}`,
    id,
    reason,
  );
  return row && readSpendingRow(row);
}

/**
 * Begins a spending: its first attempt, or the next one of an id that was refunded. Where the id is spent already,
 * `began` is false and the row is the one that stands.
 */
export async function beginSpending(
  tx: SqlExecutor,
  spending: Omit<SpendingRow, 'attempt'>,
  networkWinc: bigint | undefined,
  now: number,
): Promise<{ readonly row: SpendingRow; readonly began: boolean }> {
  const { id, reason } = spending;
  const first = { ...spending, attempt: 1 };
  const added = await tx.run(
    `INSERT INTO credits_spendings
       (attempt, state, signer, amount, network_winc, split, created_at, changed_at, id, reason)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id, reason) DO NOTHING`,
    ...contentsOf(first, networkWinc, now),
    id,
    reason,
  );
  if (added === 1) return { row: first, began: true };
  const standing = await readSpending(tx, reason, id, true);
  if (standing === undefined) throw new Error(`spending ${id} is gone`);
  if (standing.state !== 'refunded') return { row: standing, began: false };
  const next = { ...spending, attempt: standing.attempt + 1 };
  await restartSpending(tx, next, networkWinc, now);
  return { row: next, began: true };
}

/** Begins the next attempt of a refunded id. */
export async function restartSpending(
  tx: SqlExecutor,
  row: SpendingRow,
  networkWinc: bigint | undefined,
  now: number,
): Promise<void> {
  await changeOne(
    tx,
    `UPDATE credits_spendings SET attempt = ?, state = ?, signer = ?, amount = ?, network_winc = ?, split = ?,
       created_at = ?, changed_at = ? WHERE id = ? AND reason = ? AND state = 'refunded' AND attempt = ?`,
    ...contentsOf(row, networkWinc, now),
    row.id,
    row.reason,
    row.attempt - 1,
  );
}

const contentsOf = (row: SpendingRow, networkWinc: bigint | undefined, now: number) => [
  row.attempt,
  row.state,
  row.signer,
  row.amount,
  networkWinc === undefined ? null : networkWinc.toString(),
  row.split,
  now,
  now,
];

/** Ends an attempt that `row` shows as it was locked. */
export async function endSpending(
  tx: SqlExecutor,
  row: SpendingRow,
  state: 'settled' | 'refunded',
  amount: bigint,
  split: string | null,
  now: number,
): Promise<void> {
  await changeOne(
    tx,
    `UPDATE credits_spendings SET state = ?, amount = ?, split = ?, changed_at = ?
     WHERE id = ? AND reason = ? AND state = ? AND attempt = ?`,
    state,
    amount.toString(),
    split,
    now,
    row.id,
    row.reason,
    row.state,
    row.attempt,
  );
}

/** What the entries of one attempt carry: the id itself, from the second on with its number. */
export const changeIdOf = ({ id, attempt }: Pick<SpendingRow, 'id' | 'attempt'>): string =>
  attempt === 1 ? id : `${id}#${attempt}`;

/** What limited adjustments are counted under. */
export const useKeyOf = (row: Pick<SpendingRow, 'id' | 'reason' | 'attempt'>): string =>
  `${row.reason}:${changeIdOf(row)}`;

export const accountOf = ({ payer, approvalId }: PayerShare): string =>
  approvalId === undefined ? payer : approvalAccount(approvalId);

/** Kept only when anyone but the signer paid. */
export function writeSplit(signer: string, shares: readonly PayerShare[]): string | null {
  if (shares.every(({ payer, approvalId }) => payer === signer && approvalId === undefined)) return null;
  return JSON.stringify(
    shares.map(({ payer, amount, approvalId }) => [payer, amount.toString(), approvalId]),
  );
}

export function readSplit({ id, signer, amount, split }: SpendingRow): PayerShare[] {
  if (split === null) return amount === '0' ? [] : [{ payer: signer, amount: winc(BigInt(amount)) }];
  return readShares(split, id).map(([payer, share, approvalId]) => {
    const base = { payer, amount: winc(BigInt(share)) };
    return approvalId == null ? base : { ...base, approvalId };
  });
}

export function renderSpending(row: SpendingRow, applied: boolean): Spending {
  const { id, reason, state, signer, amount } = row;
  return { id, reason, state, signer, amount: winc(BigInt(amount)), split: readSplit(row), applied };
}

/** Who paid what, each payer once, as it is told. */
export function amountsByPayer(shares: readonly PayerShare[]): { address: string; winc: string }[] {
  const amounts = new Map<string, bigint>();
  for (const { payer, amount } of shares) amounts.set(payer, (amounts.get(payer) ?? 0n) + amount);
  return [...amounts].map(([address, amount]) => ({ address, winc: amount.toString() }));
}
