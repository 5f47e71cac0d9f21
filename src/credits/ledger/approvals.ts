/**
 * Approvals: winc lent to another wallet. It leaves the payer's balance when the approval is made and sits
 * in the approval's account until it is spent, revoked or expired. The payer's row guards all of it.
 */
import { type Static, Type } from 'typebox';
import type { Approval } from '../../formats/approval.ts';
import { changeOne } from '../../storage/sql/change-one.ts';
import type { Row, SqlExecutor, SqlValue } from '../../storage/sql/sql.ts';
import {
  amountText,
  integerOrNull,
  readAmount,
  rowReader,
  textOrNull,
} from '../../storage/sql/typed-rows.ts';
import {
  ApprovalConflict,
  type ApprovalRequest,
  type EndedApproval,
  InsufficientCredits,
  InvalidApproval,
  MAX_WINC,
  NothingToRevoke,
  type RevokeRequest,
  UnknownWallet,
} from '../credits.ts';
import {
  accountOfAddress,
  appendNew,
  approvalAccount,
  isNameOf,
  lockAccount,
  readNotice,
  setBalance,
} from './accounts.ts';
import { tellIfLow, tellShared } from './notices.ts';

/** What is to be known of an approval while it is active. */
const activeColumns = {
  id: Type.String(),
  payer: Type.String(),
  approved: Type.String(),
  amount: amountText,
  used: amountText,
  created_at: Type.Integer(),
  expires_at: integerOrNull,
};
export const approvalColumns = {
  ...activeColumns,
  status: Type.Enum(['active', 'used', 'revoked', 'expired']),
  ended_at: integerOrNull,
  revoked_by: textOrNull,
};
const storedActive = Type.Object(activeColumns);
export type ActiveApproval = Readonly<Static<typeof storedActive>>;
const storedApproval = Type.Object(approvalColumns);
export type ApprovalRow = Readonly<Static<typeof storedApproval>>;

const readStored = rowReader('an approval', storedApproval);
const readActive = rowReader('an approval', storedActive);

async function readAll(tx: SqlExecutor, statement: string, ...values: SqlValue[]): Promise<ApprovalRow[]> {
  return (await tx.all(statement, ...values)).map(readStored);
}

/** One that is there: something was taken from it. */
export async function readApproval(tx: SqlExecutor, id: string): Promise<ApprovalRow> {
  const row = await tx.get('SELECT * FROM credits_approvals WHERE id = ?', id);
  if (row === undefined) throw new Error(`approval ${id} is gone`);
  return readStored(row);
}

/** A hundred years: longer lifetimes would leave the range of dates. */
const MAX_LIFETIME_SECONDS = 100 * 365 * 86_400;

export async function approve(
  tx: SqlExecutor,
  request: ApprovalRequest,
  now: number,
  usualNotice: bigint,
): Promise<Approval> {
  const { id, approved, amount, expiresInSeconds } = request;
  const payer = await accountOfAddress(tx, request.payer);
  check({ ...request, payer, approved: await accountOfAddress(tx, approved) });
  const balance = await lockAccount(tx, payer);
  if (balance === undefined) throw new UnknownWallet(payer);
  const expiresAt = expiresInSeconds === undefined ? null : now + expiresInSeconds * 1000;
  const added = await tx.run(
    `INSERT INTO credits_approvals (id, payer, approved, amount, used, status, created_at, expires_at)
     VALUES (?, ?, ?, ?, '0', 'active', ?, ?) ON CONFLICT (id) DO NOTHING`,
    id,
    payer,
    approved,
    amount.toString(),
    now,
    expiresAt,
  );
  if (added === 0) throw new ApprovalConflict(id);
  const covered = balance >= amount ? balance : balance + (await expireGivenBy(tx, payer, balance, now));
  if (covered < amount) throw new InsufficientCredits(payer);
  await setBalance(tx, payer, covered - amount);
  const entry = { reason: 'delegated_payment_approval', changeId: id } as const;
  await appendNew(tx, { ...entry, account: payer, amount: -amount, line: 0 }, now);
  await appendNew(tx, { ...entry, account: approvalAccount(id), amount, line: 1 }, now);
  const row = {
    ...{ id, payer, approved, amount: amount.toString(), used: '0' },
    ...{ created_at: now, expires_at: expiresAt },
  };
  await tellShared(tx, row, 'given', now);
  const noticeAt = (await readNotice(tx, payer)) ?? usualNotice;
  await tellIfLow(tx, { address: payer, before: covered, after: covered - amount, noticeAt }, now);
  return renderApproval(row);
}

export async function revoke(
  tx: SqlExecutor,
  request: RevokeRequest,
  now: number,
): Promise<readonly EndedApproval[]> {
  const { id } = request;
  const payer = await accountOfAddress(tx, request.payer);
  const approved = await accountOfAddress(tx, request.approved);
  const balance = await lockAccount(tx, payer);
  if (balance === undefined) throw new NothingToRevoke(request.payer, request.approved);
  const before = await revokedBy(tx, id, payer, approved);
  if (before.length > 0) return before;

  let returned = await expireGivenBy(tx, payer, balance, now);
  const active = await activeBetween(tx, payer, approved);
  if (active.length === 0) throw new NothingToRevoke(request.payer, request.approved);
  let line = 0;
  for (const row of active) {
    returned += await appendReturn(tx, row, 'delegated_payment_revoke', id, line, now);
    line += 2;
  }
  await setBalance(tx, payer, balance + returned);
  // Those used up are relabelled too, so that a later refund goes to the payer.
  const ended = await tx.run(
    `UPDATE credits_approvals SET status = 'revoked', ended_at = ?, revoked_by = ?
     WHERE payer = ? AND ${isNameOf('approved')} AND status IN ('active', 'used')`,
    now,
    id,
    payer,
    approved,
    approved,
  );
  if (ended < active.length) throw new Error(`${active.length} approvals were to be revoked, ${ended} were`);
  return revokedBy(tx, id, payer, approved);
}

/** The two entries by which what is left of an approval goes back to its payer; answers how much that is. */
async function appendReturn(
  tx: SqlExecutor,
  row: ApprovalRow,
  reason: 'delegated_payment_revoke' | 'delegated_payment_expired',
  changeId: string,
  line: number,
  now: number,
): Promise<bigint> {
  const rest = remaining(row);
  const account = approvalAccount(row.id);
  await appendNew(tx, { reason, changeId, account, amount: -rest, line }, now);
  await appendNew(tx, { reason, changeId, account: row.payer, amount: rest, line: line + 1 }, now);
  await tellShared(tx, row, reason === 'delegated_payment_expired' ? 'expired' : 'revoked', now);
  return rest;
}

async function revokedBy(
  tx: SqlExecutor,
  id: string,
  payer: string,
  approved: string,
): Promise<EndedApproval[]> {
  const rows = await readAll(
    tx,
    `SELECT * FROM credits_approvals
     WHERE payer = ? AND ${isNameOf('approved')} AND revoked_by = ? ${spendingOrder}`,
    payer,
    approved,
    approved,
    id,
  );
  return rows.map(renderEnded);
}

/**
 * Ends what this payer gave and what has expired by now; answers how much came back. The caller holds the
 * payer's row and knows its balance, which is written here.
 */
export async function expireGivenBy(
  tx: SqlExecutor,
  payer: string,
  balance: bigint,
  now: number,
): Promise<bigint> {
  const rows = await readAll(
    tx,
    `SELECT * FROM credits_approvals WHERE payer = ? AND status = 'active' AND expires_at <= ?`,
    payer,
    now,
  );
  if (rows.length === 0) return 0n;
  let returned = 0n;
  for (const row of rows) {
    returned += await appendReturn(tx, row, 'delegated_payment_expired', row.id, 0, now);
    await changeOne(
      tx,
      "UPDATE credits_approvals SET status = 'expired', ended_at = ? WHERE id = ? AND status = 'active'",
      now,
      row.id,
    );
  }
  await setBalance(tx, payer, balance + returned);
  return returned;
}

/**
 * Calls back what a wallet lent while it owes: the newest approvals first, each whole, until the debt is covered.
 * Otherwise what was bought with a stolen card could still be spent through another wallet. The caller holds the payer's
 * row and knows its balance; answers and writes the new one.
 */
export async function callBackLent(
  tx: SqlExecutor,
  payer: string,
  balance: bigint,
  changeId: string,
  now: number,
): Promise<bigint> {
  let after = balance + (await expireGivenBy(tx, payer, balance, now));
  const lent = await readAll(
    tx,
    `SELECT * FROM credits_approvals WHERE payer = ? AND status = 'active' ORDER BY created_at DESC, id DESC`,
    payer,
  );
  for (const [place, row] of lent.entries()) {
    if (after >= 0n) break;
    after += await callBack(tx, row, changeId, 2 * place, now);
  }
  await setBalance(tx, payer, after);
  return after;
}

/**
 * The same for what a wallet lent to itself under another form, before that was known to be one. `changeId` is told apart
 * from that of `callBackLent`, which may follow.
 */
export async function callBackFromItself(
  tx: SqlExecutor,
  payer: string,
  balance: bigint,
  form: string,
  now: number,
): Promise<bigint> {
  const lent = await activeBetween(tx, payer, payer);
  let after = balance;
  for (const [place, row] of lent.entries()) {
    after += await callBack(tx, row, `itself:${form}`, 2 * place, now);
  }
  if (lent.length > 0) await setBalance(tx, payer, after);
  // Those used up are relabelled too, so that a later refund goes to the payer.
  await tx.run(
    `UPDATE credits_approvals SET status = 'revoked', ended_at = ?
     WHERE payer = ? AND ${isNameOf('approved')} AND status = 'used'`,
    now,
    payer,
    payer,
    payer,
  );
  return after;
}

async function callBack(
  tx: SqlExecutor,
  row: ApprovalRow,
  changeId: string,
  line: number,
  now: number,
): Promise<bigint> {
  const returned = await appendReturn(tx, row, 'delegated_payment_revoke', changeId, line, now);
  await changeOne(
    tx,
    "UPDATE credits_approvals SET status = 'revoked', ended_at = ? WHERE id = ? AND status = 'active'",
    now,
    row.id,
  );
  return returned;
}

/** With an expiry first, soonest first; then the others, oldest first. The order of spending and of lists. */
const spendingOrder = `ORDER BY CASE WHEN expires_at IS NULL THEN 1 ELSE 0 END, expires_at, created_at, id`;

/** `payer` and `approved` are accounts. An approval keeps the form of the wallet that its payer named. */
export function activeBetween(tx: SqlExecutor, payer: string, approved: string): Promise<ApprovalRow[]> {
  return readAll(
    tx,
    `SELECT * FROM credits_approvals
     WHERE payer = ? AND ${isNameOf('approved')} AND status = 'active' ${spendingOrder}`,
    payer,
    approved,
    approved,
  );
}

const namesOfActive = Object.keys(activeColumns);

/** Active approvals that accounts gave and, under any of their forms, received. `asked`: which of the accounts. */
function activeOfAccounts(places: string): string {
  const columns = namesOfActive.join(', ');
  const ofForms = namesOfActive.map((name) => `credits_approvals.${name}`).join(', ');
  return `SELECT payer AS asked, ${columns} FROM credits_approvals WHERE payer IN (${places}) AND status = 'active'
     UNION ALL
     SELECT approved, ${columns} FROM credits_approvals WHERE approved IN (${places}) AND status = 'active'
     UNION ALL
     SELECT credits_accounts.same_as, ${ofForms} FROM credits_accounts
     JOIN credits_approvals ON credits_approvals.approved = credits_accounts.address
     WHERE credits_accounts.same_as IN (${places}) AND credits_approvals.status = 'active'`;
}

const activeOfAccount = activeOfAccounts('?');

export async function activeOf(executor: SqlExecutor, account: string): Promise<ActiveApproval[]> {
  return inSpendingOrder(await executor.all(activeOfAccount, account, account, account));
}

/**
 * In one statement, so that winc on its way between them is seen exactly once. An account is a row like those of
 * approvals, without an id: its balance as the amount, what it is another form of as the payer. Takes the addresses four
 * times.
 */
export const accountsAndApprovals = (places: string): string =>
  `SELECT address AS asked, NULL AS id, same_as AS payer, NULL AS approved, balance AS amount, NULL AS used, created_at,
     NULL AS expires_at FROM credits_accounts WHERE address IN (${places})
   UNION ALL
   ${activeOfAccounts(places)}`;

export interface AccountAndApprovals {
  readonly own: bigint | undefined;
  readonly sameAs: string | undefined;
  readonly approvals: ActiveApproval[];
}

/** Of the rows of one address. */
export function readAccountAndApprovals(rows: readonly Row[]): AccountAndApprovals {
  const account = rows.find(({ id }) => id === null);
  return {
    own: account && readAmount(account.amount),
    sameAs: typeof account?.payer === 'string' ? account.payer : undefined,
    approvals: inSpendingOrder(rows.filter(({ id }) => id !== null)),
  };
}

/** As `spendingOrder` has it: to sort a few here costs less than a statement that sorts. */
function inSpendingOrder(rows: readonly Row[]): ActiveApproval[] {
  return rows
    .map(readActive)
    .sort(
      (a, b) =>
        (a.expires_at ?? Number.POSITIVE_INFINITY) - (b.expires_at ?? Number.POSITIVE_INFINITY) ||
        a.created_at - b.created_at ||
        (a.id < b.id ? -1 : 1),
    );
}

export const remaining = (row: Pick<ApprovalRow, 'amount' | 'used'>): bigint =>
  BigInt(row.amount) - BigInt(row.used);

export const hasExpired = (row: ActiveApproval, now: number): boolean =>
  row.expires_at !== null && row.expires_at <= now;

export function renderApproval(row: ActiveApproval): Approval {
  const approval = {
    approvalDataItemId: row.id,
    approvedAddress: row.approved,
    payingAddress: row.payer,
    approvedWincAmount: row.amount,
    usedWincAmount: row.used,
    creationDate: new Date(row.created_at).toISOString(),
  };
  if (row.expires_at === null) return approval;
  return { ...approval, expirationDate: new Date(row.expires_at).toISOString() };
}

function renderEnded(row: ApprovalRow): EndedApproval {
  const ended = {
    ...renderApproval(row),
    inactiveReason: row.status === 'active' ? ('revoked' as const) : row.status,
    inactiveDate: new Date(row.ended_at ?? 0).toISOString(),
  };
  return row.revoked_by === null ? ended : { ...ended, revokeDataItemId: row.revoked_by };
}

function check({ payer, approved, amount, expiresInSeconds }: ApprovalRequest): void {
  if (amount < 1n || amount > MAX_WINC) {
    throw new InvalidApproval(`Invalid value provided for wincAmount: ${amount}`);
  }
  const lifetime = expiresInSeconds ?? 1;
  if (!Number.isSafeInteger(lifetime) || lifetime < 1 || lifetime > MAX_LIFETIME_SECONDS) {
    throw new InvalidApproval(`Invalid value provided for expiresInSeconds: ${lifetime}`);
  }
  if (payer === approved) throw new InvalidApproval('Invalid approved address');
}
