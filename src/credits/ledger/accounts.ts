/**
 * Accounts and the entries they sum. Every function runs in a transaction whose caller holds the account's
 * row; rows are always locked in the order of their addresses, so that two changes never wait for each other.
 * A row lock on the payer also guards the payer's approvals.
 */
import { changeOne } from '../../storage/sql/change-one.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { readAmount, readText } from '../../storage/sql/typed-rows.ts';
import { mayBeOtherForm } from '../../wallets/address-forms.ts';
import {
  type AddressType,
  type EntryReason,
  LOSS_ACCOUNT,
  type PaymentRecord,
  type Winc,
  winc,
} from '../credits.ts';

/**
 * What the account of an address is called: the address itself, unless that is another form of a wallet whose account has
 * another name (`unite.ts`). Forms are never taken back.
 */
export async function accountOfAddress(executor: SqlExecutor, address: string): Promise<string> {
  if (!mayBeOtherForm(address)) return address;
  const row = await executor.get(
    'SELECT same_as FROM credits_accounts WHERE address = ? AND same_as IS NOT NULL',
    address,
  );
  return row === undefined ? address : readText(row.same_as);
}

export async function accountsOf(
  executor: SqlExecutor,
  addresses: readonly string[],
): Promise<Map<string, string>> {
  const accounts = new Map<string, string>();
  for (const address of new Set(addresses)) accounts.set(address, await accountOfAddress(executor, address));
  return accounts;
}

/** The account of an address and every other form of its wallet that is known: what its past is kept under. */
export async function namesOf(executor: SqlExecutor, address: string): Promise<string[]> {
  const account = await accountOfAddress(executor, address);
  const forms = await executor.all('SELECT address FROM credits_accounts WHERE same_as = ?', account);
  return [account, ...forms.map((row) => readText(row.address))];
}

/** For a condition on a column: the account of a wallet, or one of its other forms. Takes the account twice. */
export const isNameOf = (column: string): string =>
  `(${column} = ? OR ${column} IN (SELECT address FROM credits_accounts WHERE same_as = ?))`;

/** Balances of the accounts a change may touch, as locked. */
export class Locked extends Map<string, bigint> {
  /** Below what a wallet has chosen to be told; only those that have chosen. */
  readonly notices = new Map<string, bigint>();
}

/** The balance as it is committed. */
export function readAccount(executor: SqlExecutor, address: string): Promise<bigint | undefined> {
  return balanceOf(executor, address, '');
}

export function lockAccount(tx: SqlExecutor, address: string): Promise<bigint | undefined> {
  return balanceOf(tx, address, tx.forUpdate);
}

async function balanceOf(
  executor: SqlExecutor,
  address: string,
  lock: SqlExecutor['forUpdate'],
): Promise<bigint | undefined> {
  const row = await executor.get(
    `SELECT balance FROM credits_accounts WHERE address = ? AND same_as IS NULL ${lock}`,
    address,
  );
  return row === undefined ? undefined : readAmount(row.balance);
}

export async function lockAccounts(tx: SqlExecutor, addresses: readonly string[]): Promise<Locked> {
  const locked = new Locked();
  for (const address of [...new Set(addresses)].sort()) {
    const row = await tx.get(
      `SELECT balance, notice_winc FROM credits_accounts WHERE address = ? AND same_as IS NULL ${tx.forUpdate}`,
      address,
    );
    if (row === undefined) continue;
    locked.set(address, readAmount(row.balance));
    if (row.notice_winc !== null) locked.notices.set(address, readAmount(row.notice_winc));
  }
  return locked;
}

/** Below what a wallet has chosen to be told; undefined where it has not, or there is no account. */
export async function readNotice(executor: SqlExecutor, address: string): Promise<bigint | undefined> {
  const row = await executor.get('SELECT notice_winc FROM credits_accounts WHERE address = ?', address);
  return row === undefined || row.notice_winc === null ? undefined : readAmount(row.notice_winc);
}

/** False when there is no such account. Null: as the service has it for everybody. */
export async function setNotice(
  executor: SqlExecutor,
  address: string,
  notice: bigint | null,
): Promise<boolean> {
  const changed = await executor.run(
    'UPDATE credits_accounts SET notice_winc = ? WHERE address = ? AND same_as IS NULL',
    notice === null ? null : notice.toString(),
    address,
  );
  return changed === 1;
}

/** False when there is one already. */
export async function insertAccount(
  tx: SqlExecutor,
  address: string,
  type: AddressType,
  now: number,
): Promise<boolean> {
  const added = await tx.run(
    `INSERT INTO credits_accounts (address, address_type, balance, created_at) VALUES (?, ?, '0', ?)
     ON CONFLICT (address) DO NOTHING`,
    address,
    type,
    now,
  );
  return added === 1;
}

/** The account is there: its caller holds its row. */
export function setBalance(tx: SqlExecutor, address: string, balance: bigint): Promise<void> {
  return changeOne(
    tx,
    'UPDATE credits_accounts SET balance = ? WHERE address = ? AND same_as IS NULL',
    balance.toString(),
    address,
  );
}

export interface NewEntry {
  readonly account: string;
  readonly amount: bigint;
  readonly reason: EntryReason;
  readonly changeId: string;
  readonly line: number;
  readonly payment?: PaymentRecord | undefined;
  readonly note?: string | undefined;
}

/** Appends; false when this line of this change is there already. */
export async function append(tx: SqlExecutor, entry: NewEntry, now: number): Promise<boolean> {
  const added = await tx.run(
    `INSERT INTO credits_entries (account, amount, reason, change_id, line, payment, note, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (change_id, reason, line) DO NOTHING`,
    entry.account,
    entry.amount.toString(),
    entry.reason,
    entry.changeId,
    entry.line,
    entry.payment === undefined ? null : JSON.stringify(entry.payment),
    entry.note ?? null,
    now,
  );
  return added === 1;
}

/** Appends a line that cannot be there yet, given what is locked: anything else is a broken ledger. */
export async function appendNew(tx: SqlExecutor, entry: NewEntry, now: number): Promise<void> {
  if (!(await append(tx, entry, now))) {
    throw new Error(`the ledger already has line ${entry.line} of ${entry.reason} ${entry.changeId}`);
  }
}

/** What the operator has lost: payments that went back and that nobody owes. */
export async function readLosses(executor: SqlExecutor): Promise<Winc> {
  return winc(-((await readAccount(executor, LOSS_ACCOUNT.address)) ?? 0n));
}

/** The account in which an approval's winc sits. */
export const approvalAccount = (approvalId: string): string => `approval:${approvalId}`;
