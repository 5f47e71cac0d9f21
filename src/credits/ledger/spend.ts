/** Taking winc for what is bought: at once, or reserved until it is certain what for. */
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
import { accountOfAddress, appendNew, type Locked, lockAccount, setBalance } from './accounts.ts';
import { expireGivenBy } from './approvals.ts';
import { tellIfLow, tellRefunded, tellSpent } from './notices.ts';
import { byAccounts, lockPayers, payersOf, splitAmount, takeShares } from './payers.ts';
import { giveBack, lockSpending } from './refund.ts';
import {
  accountOf,
  beginSpending,
  changeIdOf,
  endSpending,
  readSpending,
  readSpendingRow,
  readSplit,
  renderSpending,
  type SpendingRow,
  spendingColumnList,
  useKeyOf,
  writeSplit,
} from './spendings.ts';

interface TakeOptions {
  readonly now: number;
  /** Told below this balance, where the wallet has not chosen. */
  readonly usualNotice: bigint;
  /** Called when the balance is on its way. */
  readonly letNext: (() => void) | undefined;
}

export async function take(
  tx: SqlExecutor,
  asked: SpendRequest,
  state: 'reserved' | 'settled',
  { now, usualNotice, letNext }: TakeOptions,
): Promise<Spending> {
  const request = await byAccounts(tx, asked);
  const { id, reason, signer, amount } = request;
  if (amount < 0n || amount > MAX_WINC) throw new RangeError(`cannot spend ${amount} winc`);
  const begin = (shares: readonly PayerShare[]) => {
    const split = writeSplit(signer, shares);
    const spending = { id, reason, state, signer, amount: amount.toString(), split };
    return beginSpending(tx, spending, request.networkWinc, now);
  };
  // What the signer alone may pay begins together with the look at the balance: one trip to the database less. Where that
  // does not cover it, what has begun is undone with the rest of the transaction.
  const isOwn = payersOf(request).length === 0;
  const [locked, begun] = await Promise.all([
    lockPayers(tx, request, now),
    isOwn ? begin([{ payer: signer, amount }]) : undefined,
  ]);
  if (begun?.began === false) return repeated(tx, begun.row, request);
  const shares = await splitOrExpire(tx, request, locked, now);
  if (shares === undefined) {
    const standing = begun === undefined ? await readSpending(tx, reason, id) : undefined;
    if (standing !== undefined && standing.state !== 'refunded') return repeated(tx, standing, request);
    throw new InsufficientCredits(signer);
  }
  const { row, began } = begun ?? (await begin(shares));
  if (!began) return repeated(tx, row, request);
  // The one does not wait for the other.
  const taking = Promise.all([takeShares(tx, shares, locked, now), appendShares(tx, row, shares, now)]);
  if (isOwn) letNext?.();
  await taking;
  await tellSpent(tx, row, shares, locked, now);
  await tellIfSignerIsLow(tx, signer, shares, locked, usualNotice, now);
  if (request.adjustments !== undefined) {
    // The signer's, whoever pays: the signer names the payers, and could name a new one each time.
    await recordUploadUses(tx, useKeyOf(row), asked.signer, request.adjustments, now);
  }
  return renderSpending(row, true);
}

/** What others lent has left their balances before. */
async function tellIfSignerIsLow(
  tx: SqlExecutor,
  address: string,
  shares: readonly PayerShare[],
  locked: Locked,
  usualNotice: bigint,
  now: number,
): Promise<void> {
  const noticeAt = locked.notices.get(address) ?? usualNotice;
  const own = shares.find(({ approvalId }) => approvalId === undefined);
  if (noticeAt === 0n || own === undefined) return;
  const after = locked.get(address) ?? 0n;
  await tellIfLow(tx, { address, before: after + own.amount, after, noticeAt }, now);
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
    const settled = await tx.get(
      `UPDATE credits_spendings SET state = 'settled', changed_at = ?
       WHERE id = ? AND reason = ? AND state = 'reserved' RETURNING ${spendingColumnList}`,
      now,
      id,
      reason,
    );
    if (settled !== undefined) return renderSpending(readSpendingRow(settled), true);
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
  const given = await giveBack(tx, row, returned, now);
  await tellRefunded(tx, row, given.returned, given.locked, now);
  const split = writeSplit(row.signer, without(shares, returned));
  await endSpending(tx, row, 'settled', kept, split, now);
  return renderSpending({ ...row, state: 'settled', amount: kept.toString(), split }, true);
}

/**
 * What was reserved before it was known for what becomes the spending of what it turned out to be: a payment reserves
 * the price of an upload, and the item takes it over when it is stored. The balance before and after differs only by
 * what was reserved and is not kept: the wallet may owe meanwhile.
 */
export async function assign(
  tx: SqlExecutor,
  reason: SpendReason,
  from: string,
  to: string,
  amount: Winc,
  now: number,
): Promise<Spending> {
  const held = await lockSpending(tx, reason, from);
  if (held === undefined) throw new SpendingNotFound(`there is no ${reason} ${from}`);
  if (held.state !== 'reserved') throw new ChangeConflict(`${reason} ${from} is ${held.state}`);
  if (held.split !== null) throw new ChangeConflict(`${reason} ${from} was not paid by its signer alone`);
  const reserved = BigInt(held.amount);
  if (amount < 0n || amount > reserved)
    throw new ChangeConflict(`${reason} ${from} reserved only ${reserved}`);
  const { locked } = await giveBack(tx, held, readSplit(held), now);
  await endSpending(tx, held, 'refunded', reserved, null, now);
  const signer = await accountOfAddress(tx, held.signer);
  const settled = { ...held, id: to, signer, state: 'settled', amount: amount.toString() } as const;
  const { row, began } = await beginSpending(tx, settled, undefined, now);
  if (!began) throw new ChangeConflict(`${reason} ${to} is paid for already`);
  if (amount > 0n) locked.set(row.signer, await takeOwn(tx, row, now));
  const rest = { payer: row.signer, amount: winc(reserved - amount) };
  if (rest.amount > 0n) await tellRefunded(tx, held, [rest], locked, now);
  return renderSpending(row, true);
}

/** Takes a spending from its signer whatever the balance. The caller has just given at least as much. */
export async function takeOwn(tx: SqlExecutor, row: SpendingRow, now: number): Promise<bigint> {
  const { signer, reason } = row;
  const amount = BigInt(row.amount);
  const balance = await lockAccount(tx, signer);
  if (balance === undefined) throw new Error(`${signer} has no account to be charged`);
  await setBalance(tx, signer, balance - amount);
  await appendNew(tx, { account: signer, amount: -amount, reason, changeId: changeIdOf(row), line: 0 }, now);
  return balance - amount;
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

async function repeated(tx: SqlExecutor, standing: SpendingRow, request: SpendRequest): Promise<Spending> {
  if ((await accountOfAddress(tx, standing.signer)) !== request.signer) {
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
