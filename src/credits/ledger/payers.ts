/** Who pays a spending, and the taking of each share. */
import { changeOne } from '../../storage/sql/change-one.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import {
  InsufficientCredits,
  MAX_PAYERS,
  type PayerShare,
  type SpendReason,
  type SpendRequest,
  type Winc,
  winc,
} from '../credits.ts';
import { accountsOf, type Locked, lockAccounts, readAccount, setBalance } from './accounts.ts';
import { activeBetween, expireGivenBy, hasExpired, readApproval, remaining } from './approvals.ts';

/**
 * The request with the wallets as their accounts are called. A signer is called so already, by its key, unless the key
 * speaks as the wallet of another chain.
 */
export async function byAccounts(executor: SqlExecutor, request: SpendRequest): Promise<SpendRequest> {
  const { signer, paidBy = [] } = request;
  const named = signer.startsWith('kyve') ? [signer, ...paidBy] : paidBy;
  if (named.length === 0) return request;
  const accounts = await accountsOf(executor, named);
  const accountOf = (address: string): string => accounts.get(address) ?? address;
  return { ...request, signer: accountOf(signer), paidBy: paidBy.map(accountOf) };
}

/** Of transactions that lock the signer's row and no other account's, for `Sql.transaction`. */
export function spendingQueue({
  signer,
  paidBy = [],
}: Pick<SpendRequest, 'signer' | 'paidBy'>): string | undefined {
  return paidBy.length === 0 ? `credits ${signer}` : undefined;
}

/** The same for settling: where all is kept, no account is touched, and nothing but the spending's row is locked. */
export function settlingQueue(reason: SpendReason, id: string, amount: Winc | undefined): string | undefined {
  return amount === undefined ? `spending ${reason} ${id}` : undefined;
}

/** The payers in the order they are asked, each once. */
export function payersOf({ paidBy = [] }: SpendRequest): string[] {
  const payers = [...new Set(paidBy)];
  if (payers.length > MAX_PAYERS) throw new RangeError(`more than ${MAX_PAYERS} payers`);
  return payers;
}

/** Locks everyone who may pay; expired approvals are ended first, so that they cannot be spent. */
export async function lockPayers(tx: SqlExecutor, request: SpendRequest, now: number): Promise<Locked> {
  const payers = payersOf(request);
  const locked = await lockAccounts(tx, [request.signer, ...payers]);
  for (const payer of payers) {
    const balance = locked.get(payer);
    if (balance !== undefined) locked.set(payer, balance + (await expireGivenBy(tx, payer, balance, now)));
  }
  return locked;
}

/**
 * Splits the amount: the listed payers in order, each up to what their approvals (the signer: the own balance) leave;
 * then the signer for the whole rest, unless only the list may pay. Undefined when it is not covered.
 */
export async function splitAmount(
  tx: SqlExecutor,
  request: SpendRequest,
  locked: ReadonlyMap<string, bigint>,
  now: number,
): Promise<PayerShare[] | undefined> {
  const { signer, amount, directive = 'list-or-signer' } = request;
  const payers = payersOf(request);
  const own = locked.get(signer) ?? 0n;
  const shares: PayerShare[] = [];
  let rest: bigint = amount;
  for (const payer of payers) {
    if (rest === 0n) break;
    if (payer === signer) {
      const share = least(own, rest);
      if (share > 0n) shares.push({ payer, amount: winc(share) });
      rest -= share > 0n ? share : 0n;
      continue;
    }
    for (const approval of await activeBetween(tx, payer, signer)) {
      if (rest === 0n) break;
      if (hasExpired(approval, now)) continue;
      const share = least(remaining(approval), rest);
      shares.push({ payer, amount: winc(share), approvalId: approval.id });
      rest -= share;
    }
  }
  const signerMayPay = payers.length === 0 || (directive === 'list-or-signer' && !payers.includes(signer));
  if (rest > 0n && signerMayPay && own >= rest) {
    shares.push({ payer: signer, amount: winc(rest) });
    rest = 0n;
  }
  return rest === 0n ? shares : undefined;
}

/** Whether a spending would go through, without making it: the answer may be outdated when it arrives. */
export async function previewSpending(
  sql: SqlExecutor,
  asked: SpendRequest,
  now: number,
): Promise<PayerShare[] | undefined> {
  const request = await byAccounts(sql, asked);
  const balance = await readAccount(sql, request.signer);
  return splitAmount(sql, request, new Map(balance === undefined ? [] : [[request.signer, balance]]), now);
}

/** Moves the shares out of balances and approvals. The entries are the caller's. */
export async function takeShares(
  tx: SqlExecutor,
  shares: readonly PayerShare[],
  locked: Locked,
  now: number,
): Promise<void> {
  for (const { payer, amount, approvalId } of shares) {
    if (approvalId === undefined) {
      const balance = (locked.get(payer) ?? 0n) - amount;
      if (balance < 0n) throw new InsufficientCredits(payer);
      locked.set(payer, balance);
      await setBalance(tx, payer, balance);
    } else {
      await useApproval(tx, approvalId, amount, now);
    }
  }
}

async function useApproval(tx: SqlExecutor, id: string, amount: bigint, now: number): Promise<void> {
  const row = await readApproval(tx, id);
  const used = BigInt(row.used) + amount;
  const usedUp = used === BigInt(row.amount);
  await changeOne(
    tx,
    "UPDATE credits_approvals SET used = ?, status = ?, ended_at = ? WHERE id = ? AND status = 'active'",
    used.toString(),
    usedUp ? 'used' : 'active',
    usedUp ? now : null,
    id,
  );
}

const least = (a: bigint, b: bigint): bigint => (a < b ? a : b);
