/** The rows behind `Spending`, and the ids of the changes they make. */
import { changeOne } from '../../storage/sql/change-one.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { type PayerShare, type Spending, type SpendReason, winc } from '../credits.ts';
import { approvalAccount } from './accounts.ts';

export interface SpendingRow {
  readonly id: string;
  readonly reason: SpendReason;
  /** Grows when a refunded id is spent again. */
  readonly attempt: number;
  readonly state: Spending['state'];
  readonly signer: string;
  readonly amount: string;
  /** Null when the signer paid all. */
  readonly split: string | null;
}

const columns = 'id, reason, attempt, state, signer, amount, split';

/** `lock` where the same transaction will change the row. */
export function readSpending(
  executor: SqlExecutor,
  reason: SpendReason,
  id: string,
  lock = false,
): Promise<SpendingRow | undefined> {
  return executor.get<SpendingRow>(
    `SELECT ${columns} FROM credits_spendings WHERE id = ? AND reason = ? ${lock ? executor.forUpdate : ''}`,
    id,
    reason,
  );
}

/** Adds the row of a first attempt; false when the id is known. */
export async function insertSpending(
  tx: SqlExecutor,
  row: SpendingRow,
  networkWinc: bigint | undefined,
  now: number,
): Promise<boolean> {
  const added = await tx.run(
    `INSERT INTO credits_spendings
       (id, reason, attempt, state, signer, amount, network_winc, split, created_at, changed_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id, reason) DO NOTHING`,
    row.id,
    row.reason,
    row.attempt,
    row.state,
    row.signer,
    row.amount,
    networkWinc === undefined ? null : networkWinc.toString(),
    row.split,
    now,
    now,
  );
  return added === 1;
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
    row.attempt,
    row.state,
    row.signer,
    row.amount,
    networkWinc === undefined ? null : networkWinc.toString(),
    row.split,
    now,
    now,
    row.id,
    row.reason,
    row.attempt - 1,
  );
}

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

export function readSplit({ signer, amount, split }: SpendingRow): PayerShare[] {
  if (split === null) return amount === '0' ? [] : [{ payer: signer, amount: winc(BigInt(amount)) }];
  const shares = JSON.parse(split) as [string, string, (string | null)?][];
  return shares.map(([payer, share, approvalId]) => {
    const base = { payer, amount: winc(BigInt(share)) };
    return approvalId == null ? base : { ...base, approvalId };
  });
}

export function renderSpending(row: SpendingRow, applied: boolean): Spending {
  const { id, reason, state, signer, amount } = row;
  return { id, reason, state, signer, amount: winc(BigInt(amount)), split: readSplit(row), applied };
}
