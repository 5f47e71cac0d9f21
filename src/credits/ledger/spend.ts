/** Taking winc for what is bought: at once, or held until it is certain. */
import { recordUploadUses } from '../../pricing/catalogue/upload-uses.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import {
  ChangeConflict,
  InsufficientCredits,
  MAX_WINC,
  type PayerShare,
  type Spending,
  SpendingNotFound,
  type SpendReason,
  type SpendRequest,
  type Winc,
  winc,
} from '../credits.ts';
import { appendNew, type Locked } from './accounts.ts';
import { expireGivenBy } from './approvals.ts';
import { lockPayers, splitAmount, takeShares } from './payers.ts';
import { giveBack, lockSpending } from './refund.ts';
import {
  accountOf,
  changeIdOf,
  endSpending,
  insertSpending,
  readSpending,
  readSplit,
  renderSpending,
  restartSpending,
  type SpendingRow,
  useKeyOf,
  writeSplit,
} from './spendings.ts';

export async function take(
  tx: SqlExecutor,
  request: SpendRequest,
  state: 'reserved' | 'settled',
  now: number,
): Promise<Spending> {
  const { id, reason, signer, amount } = request;
  if (amount < 0n || amount > MAX_WINC) throw new RangeError(`cannot spend ${amount} winc`);
  const locked = await lockPayers(tx, request, now);
  const shares = await splitOrExpire(tx, request, locked, now);
  if (shares === undefined) {
    const standing = await readSpending(tx, reason, id);
    if (standing !== undefined && standing.state !== 'refunded') return repeated(standing, request);
    throw new InsufficientCredits(signer);
  }
  const first: SpendingRow = {
    id,
    reason,
    attempt: 1,
    state,
    signer,
    amount: amount.toString(),
    split: writeSplit(signer, shares),
  };
  let row = first;
  if (!(await insertSpending(tx, first, request.networkWinc, now))) {
    const standing = await readSpending(tx, reason, id, true);
    if (standing === undefined) throw new Error(`spending ${id} is gone`);
    if (standing.state !== 'refunded') return repeated(standing, request);
    row = { ...first, attempt: standing.attempt + 1 };
    await restartSpending(tx, row, request.networkWinc, now);
  }
  await takeShares(tx, shares, locked, now);
  await appendShares(tx, row, shares, now);
  if (request.adjustments !== undefined) {
    // The signer's, whoever pays: he names the payers, and could name a new one each time.
    await recordUploadUses(tx, useKeyOf(row), signer, request.adjustments, now);
  }
  return renderSpending(row, true);
}

/** Ends a reservation; what is not kept goes back, the last asked first. */
export async function settle(
  tx: SqlExecutor,
  reason: SpendReason,
  id: string,
  amount: Winc | undefined,
  now: number,
): Promise<Spending> {
  if (amount === undefined) {
    const settled = await tx.get<SpendingRow>(
      `UPDATE credits_spendings SET state = 'settled', changed_at = ?
       WHERE id = ? AND reason = ? AND state = 'reserved'
       RETURNING id, reason, attempt, state, signer, amount, split`,
      now,
      id,
      reason,
    );
    if (settled !== undefined) return renderSpending(settled, true);
  }
  const row = await lockSpending(tx, reason, id);
  if (row === undefined) throw new SpendingNotFound(`there is no ${reason} ${id}`);
  if (row.state === 'refunded') throw new ChangeConflict(`${reason} ${id} was refunded`);
  const kept = amount ?? BigInt(row.amount);
  if (row.state === 'settled') {
    if (kept !== BigInt(row.amount))
      throw new ChangeConflict(`${reason} ${id} was settled for ${row.amount}`);
    return renderSpending(row, false);
  }
  const excess = BigInt(row.amount) - kept;
  if (excess < 0n || kept < 0n) throw new ChangeConflict(`${reason} ${id} reserved only ${row.amount}`);
  const shares = readSplit(row);
  const returned = lastFirst(shares, excess);
  await giveBack(tx, row, returned, now);
  const split = writeSplit(row.signer, without(shares, returned));
  await endSpending(tx, row, 'settled', kept, split, now);
  return renderSpending({ ...row, state: 'settled', amount: kept.toString(), split }, true);
}

/** A signer who seems short may have lent winc that has come back by now. */
async function splitOrExpire(
  tx: SqlExecutor,
  request: SpendRequest,
  locked: Locked,
  now: number,
): Promise<PayerShare[] | undefined> {
  const shares = await splitAmount(tx, request, locked, now);
  if (shares !== undefined) return shares;
  const balance = locked.get(request.signer);
  if (balance === undefined) return undefined;
  const returned = await expireGivenBy(tx, request.signer, balance, now);
  if (returned === 0n) return undefined;
  locked.set(request.signer, balance + returned);
  return splitAmount(tx, request, locked, now);
}

function repeated(standing: SpendingRow, request: SpendRequest): Spending {
  if (standing.signer !== request.signer) {
    throw new ChangeConflict(`${request.reason} ${request.id} was made by another wallet`);
  }
  return renderSpending(standing, false);
}

async function appendShares(
  tx: SqlExecutor,
  row: SpendingRow,
  shares: readonly PayerShare[],
  now: number,
): Promise<void> {
  const changeId = changeIdOf(row);
  for (const [line, share] of shares.entries()) {
    const entry = { account: accountOf(share), amount: -share.amount, reason: row.reason, changeId, line };
    await appendNew(tx, entry, now);
  }
}

/** So much of the shares, from the last to the first. */
function lastFirst(shares: readonly PayerShare[], amount: bigint): PayerShare[] {
  const taken: PayerShare[] = [];
  let rest = amount;
  for (const share of shares.toReversed()) {
    if (rest === 0n) break;
    const part = share.amount < rest ? share.amount : rest;
    taken.push({ ...share, amount: winc(part) });
    rest -= part;
  }
  return taken;
}

function without(shares: readonly PayerShare[], taken: readonly PayerShare[]): PayerShare[] {
  const minus = new Map(taken.map((share) => [accountOf(share), share.amount]));
  return shares
    .map((share) => ({ ...share, amount: winc(share.amount - (minus.get(accountOf(share)) ?? 0n)) }))
    .filter((share) => share.amount > 0n);
}
