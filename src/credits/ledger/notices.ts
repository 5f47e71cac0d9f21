/**
 * What wallets are told of the ledger (docs/events.md): each change of a balance once, in the transaction that makes it.
 * What an upload costs is told by its receipt, and what returns of it when it fails, by the upload surface.
 */
import { tellWallets, type WalletEvent } from '../../events/wallet-events.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { readAmount } from '../../storage/sql/typed-rows.ts';
import {
  type Changed,
  type ClawbackRequest,
  type CreditRequest,
  LOSS_ACCOUNT,
  type PayerShare,
  spendReasons,
} from '../credits.ts';
import { accountOfAddress, type Locked } from './accounts.ts';
import { amountsByPayer, type SpendingRow } from './spendings.ts';

/** Entries that are looked at for what a wallet usually spends, and how many of them count. */
const entriesRead = 50;
const spendingsCounted = 10;

export async function tellPaid(
  tx: SqlExecutor,
  { address, amount, reason, id, reserve }: CreditRequest,
  { balance }: Changed,
  now: number,
): Promise<void> {
  const reserved = reserve === undefined ? {} : { reservedWinc: reserve.amount.toString() };
  const data = { winc: amount.toString(), ...reserved, balance: balance.toString(), reason, id };
  await tell(tx, [{ type: 'credits.paid', wallet: address, data }], now);
}

/** Credits that went back with the payment that had brought them. */
export async function tellTaken(
  tx: SqlExecutor,
  { address, amount, reason, id }: ClawbackRequest,
  { balance }: Changed,
  now: number,
): Promise<void> {
  const data = { winc: amount.toString(), balance: balance.toString(), reason, id };
  await tell(tx, [{ type: 'credits.taken', wallet: address, data }], now);
}

/** The signer is told of all of it, everyone else who paid of that wallet's part. */
export async function tellSpent(
  tx: SqlExecutor,
  { id, reason, signer, amount, state }: Omit<SpendingRow, 'attempt' | 'split'>,
  shares: readonly PayerShare[],
  locked: Locked,
  now: number,
): Promise<void> {
  if (reason === 'upload' || amount === '0') return;
  const parts = amountsByPayer(shares);
  const others = parts.filter(({ address }) => address !== signer);
  const about = { reason, id, state };
  const balance = locked.get(signer) ?? 0n;
  await tell(
    tx,
    [
      {
        type: 'credits.spent',
        wallet: signer,
        data: { winc: amount, balance: balance.toString(), ...about, payers: parts },
      },
      ...others.map(({ address, winc }) => ({
        type: 'credits.spent' as const,
        wallet: address,
        data: { winc, ...about, signer },
      })),
    ],
    now,
  );
}

/** Each payer is told what came back; `locked` has the balances since. */
export async function tellRefunded(
  tx: SqlExecutor,
  { id, reason, signer }: SpendingRow,
  shares: readonly PayerShare[],
  locked: Locked,
  now: number,
): Promise<void> {
  const events = amountsByPayer(shares).map(({ address: wallet, winc }): WalletEvent => {
    const balance = (locked.get(wallet) ?? 0n).toString();
    const data = { winc, balance, reason, id, ...(wallet !== signer && { signer }) };
    return { type: 'credits.refunded', wallet, data };
  });
  await tell(tx, events, now);
}

interface Loan {
  readonly id: string;
  readonly payer: string;
  readonly approved: string;
  readonly amount: string;
  readonly used: string;
  readonly expires_at: number | null;
}

/** Both sides of an approval are told when it is given, and what is left of it when it ends before it is used up. */
export async function tellShared(
  tx: SqlExecutor,
  { id, payer, approved, amount, used, expires_at }: Loan,
  state: 'given' | 'revoked' | 'expired',
  now: number,
): Promise<void> {
  const data = {
    approvalId: id,
    state,
    payer,
    approved,
    winc: amount,
    ...(state !== 'given' && { returnedWinc: (BigInt(amount) - BigInt(used)).toString() }),
    ...(expires_at !== null && { expiresAt: new Date(expires_at).toISOString() }),
  };
  // The approval keeps the form of the address that its payer named; the wallet behind it is told.
  const wallets = new Set([payer, await accountOfAddress(tx, approved)]);
  await tell(
    tx,
    [...wallets].map((wallet) => ({ type: 'credits.shared' as const, wallet, data })),
    now,
  );
}

export interface Fall {
  readonly address: string;
  readonly before: bigint;
  readonly after: bigint;
  /** Told when the balance was at least this and no longer is; 0 for never. */
  readonly noticeAt: bigint;
}

/** Once for each time the balance falls below: a wallet that is below already is not told again. */
export async function tellIfLow(
  tx: SqlExecutor,
  { address, before, after, noticeAt }: Fall,
  now: number,
): Promise<void> {
  if (before < noticeAt || after >= noticeAt) return;
  const usual = await usualSpending(tx, address);
  const data = {
    balance: after.toString(),
    noticeWinc: noticeAt.toString(),
    ...(usual !== undefined && {
      usualWinc: usual.toString(),
      lastsFor: Number(after > 0n ? after / usual : 0n),
    }),
  };
  await tell(tx, [{ type: 'credits.low', wallet: address, data }], now);
}

/** The mean of what the wallet spent last; undefined where it has spent nothing. */
async function usualSpending(tx: SqlExecutor, address: string): Promise<bigint | undefined> {
  const rows = await tx.all(
    `SELECT amount, reason FROM credits_entries WHERE account = ? ORDER BY sequence DESC LIMIT ${entriesRead}`,
    address,
  );
  const spent = rows
    .filter((row) => spendReasons.some((reason) => reason === row.reason))
    .slice(0, spendingsCounted)
    .map((row) => -readAmount(row.amount));
  if (spent.length === 0) return undefined;
  const mean = spent.reduce((sum, amount) => sum + amount, 0n) / BigInt(spent.length);
  return mean > 0n ? mean : undefined;
}

/** The operator's loss account is no wallet. */
function tell(tx: SqlExecutor, events: readonly WalletEvent[], now: number): Promise<void> {
  return tellWallets(
    tx,
    events.filter(({ wallet }) => wallet !== LOSS_ACCOUNT.address),
    now,
  );
}
