/**
 * One wallet, one account. An address may be one of several forms of the same key (`wallets/address-forms.ts`): credits
 * that came under another form, before it was known whose it is, are moved to the wallet's account once, and the form
 * leads there from then on.
 *
 * A form is a row of its own in the accounts, with the account it leads to and nothing on it, so that whoever gives credits
 * to it at the same moment waits for the same row. Entries stay where they were made; the move is two more of them.
 */
import { LRUCache } from 'lru-cache';
import { atMost } from '../../kernel/at-most.ts';
import { changeOne } from '../../storage/sql/change-one.ts';
import { insertRows, selectIn } from '../../storage/sql/many-rows.ts';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import { readText } from '../../storage/sql/typed-rows.ts';
import { addressKind } from '../../wallets/address.ts';
import { formsOfAddress } from '../../wallets/address-forms.ts';
import { appendNew, insertAccount, lockAccounts, readNotice, setBalance, setNotice } from './accounts.ts';
import { callBackFromItself, callBackLent } from './approvals.ts';

export interface Forms {
  /** What the account is called by. */
  readonly account: string;
  /** Every other text that is the same wallet. */
  readonly others: readonly string[];
}

const KEPT = 50_000;
const ACCOUNTS_AT_ONCE = 100;
/** Of a pass through all of them, so that a large ledger is not read at once beside its work. */
const ACCOUNTS_OF_A_RUN = 20_000;

/** Unites the forms of wallets as they are seen, and remembers of which wallets that is done. */
export class Uniting {
  readonly #sql: Sql;
  readonly #now: () => number;
  /** By account, how many forms lead there: more may be learnt with the key. Forms are never taken back. */
  readonly #done = new LRUCache<string, number>(atMost(KEPT));

  /** How far the pass through all accounts has come; undefined: to the end. */
  #passedTo: string | undefined = '';

  constructor(sql: Sql, now: () => number) {
    this.#sql = sql;
    this.#now = now;
  }

  async unite(forms: Forms): Promise<void> {
    const { account, others } = forms;
    const done = this.#done.get(account);
    if (done !== undefined && done >= others.length) return;
    if (others.length > 0) {
      const state = await stateOf(this.#sql, forms);
      if (state === 'unknown') return;
      if (state === 'apart') await this.#sql.transaction((tx) => unite(tx, forms, this.#now()));
    }
    this.#done.set(account, others.length);
  }

  /** As far as the address itself tells its other forms. */
  async uniteAddress(address: string): Promise<void> {
    if (!this.#done.has(address)) await this.unite({ account: address, others: formsOfAddress(address) });
  }

  /**
   * Accounts whose addresses tell other forms that do not lead to them yet, some at a time; answers how many there were. Those
   * that are opened from now on have theirs, so that one pass is enough.
   */
  async uniteStored(): Promise<number> {
    let count = 0;
    for (let read = 0; read < ACCOUNTS_OF_A_RUN && this.#passedTo !== undefined; read += ACCOUNTS_AT_ONCE) {
      const rows = await this.#sql.all(
        `SELECT address FROM credits_accounts AS one
         WHERE address > ? AND same_as IS NULL
           AND NOT EXISTS (SELECT 1 FROM credits_accounts WHERE same_as = one.address)
         ORDER BY address LIMIT ${ACCOUNTS_AT_ONCE}`,
        this.#passedTo,
      );
      const addresses = rows.map((row) => readText(row.address));
      const wallets = addresses
        .map((account) => ({ account, others: formsOfAddress(account) }))
        .filter(({ others }) => others.length > 0);
      if (wallets.length > 0) {
        await this.#sql.transaction(async (tx) => {
          const used = await leadUnused(tx, wallets, this.#now());
          for (const forms of used) await unite(tx, forms, this.#now());
        });
      }
      count += wallets.length;
      this.#passedTo = addresses.length < ACCOUNTS_AT_ONCE ? undefined : addresses.at(-1);
    }
    return count;
  }
}

/** `unknown`: the ledger has nothing under any of the forms. `apart`: it has, and not all lead to the account yet. */
async function stateOf(
  executor: SqlExecutor,
  { account, others }: Forms,
): Promise<'unknown' | 'apart' | 'united'> {
  const places = others.map(() => '?').join(', ');
  const row = await executor.get(
    `SELECT (SELECT COUNT(*) FROM credits_accounts WHERE address IN (${places}) AND same_as = ?) AS known,
       EXISTS (SELECT 1 FROM credits_accounts WHERE address IN (?, ${places}))
         OR EXISTS (SELECT 1 FROM credits_approvals WHERE approved IN (${places}) AND status = 'active') AS used`,
    ...others,
    account,
    account,
    ...others,
    ...others,
  );
  if (row?.used !== 1) return 'unknown';
  return row.known === others.length ? 'united' : 'apart';
}

/**
 * Makes the forms lead to their accounts of which the ledger has nothing yet, which nearly all are, in a few statements for all of
 * them; answers the other wallets.
 */
async function leadUnused(tx: SqlExecutor, wallets: readonly Forms[], now: number): Promise<Forms[]> {
  const lock = tx.forUpdate === '' ? '' : `ORDER BY address ${tx.forUpdate}`;
  const accounts = await addressesIn(
    tx,
    `SELECT address FROM credits_accounts WHERE address IN ({in}) AND same_as IS NULL ${lock}`,
    wallets.map(({ account }) => account),
  );
  const forms = wallets.flatMap(({ others }) => others);
  const used = new Set<string>();
  for (const question of formsInUse)
    for (const form of await addressesIn(tx, question, forms)) used.add(form);
  const unused = wallets.filter(
    ({ account, others }) => accounts.has(account) && !others.some((form) => used.has(form)),
  );
  const rows = unused.flatMap(({ account, others }) => others.map((form) => ({ account, form })));
  rows.sort((one, other) => (one.form < other.form ? -1 : 1));
  const led = await insertRows<{ address: string }>(
    tx,
    'credits_accounts',
    ['address', 'address_type', 'balance', 'created_at', 'same_as'],
    rows.map(({ form, account }) => [form, addressKind(form) ?? '', '0', now, account]),
    'ON CONFLICT (address) DO NOTHING RETURNING address',
  );
  const done = new Set(led.map(({ address }) => address));
  return wallets.filter(({ others }) => !others.every((form) => done.has(form)));
}

/** What the ledger may have under a form: an account, forms that lead to it, what others lent to it. */
const formsInUse = [
  'SELECT address FROM credits_accounts WHERE address IN ({in})',
  'SELECT same_as AS address FROM credits_accounts WHERE same_as IN ({in})',
  "SELECT approved AS address FROM credits_approvals WHERE approved IN ({in}) AND status = 'active'",
];

async function addressesIn(
  tx: SqlExecutor,
  question: string,
  addresses: readonly string[],
): Promise<Set<string>> {
  return new Set(
    (await selectIn<{ address: string }>(tx, question, addresses)).map(({ address }) => address),
  );
}

/** Makes every form lead to the account. What is on them is moved; what the wallet lent to itself comes back. */
export async function unite(tx: SqlExecutor, { account, others }: Forms, now: number): Promise<void> {
  if (others.length === 0) return;
  const places = others.map(() => '?').join(', ');
  // A form that others lead to, or an account that is a form itself, is another wallet's: nothing is done.
  const foreign = await tx.get(
    `SELECT address FROM credits_accounts WHERE same_as IN (${places}) OR (address = ? AND same_as IS NOT NULL)`,
    ...others,
    account,
  );
  if (foreign !== undefined) return;
  for (const form of [...others].sort()) await insertAccount(tx, form, addressKind(form) ?? '', now);
  const apart = await tx.all(
    `SELECT address FROM credits_accounts WHERE address IN (${places}) AND same_as IS NULL`,
    ...others,
  );
  const locked = await lockAccounts(tx, [account, ...apart.map((row) => readText(row.address))]);
  for (const form of others) {
    const balance = locked.get(form);
    if (balance === undefined) continue;
    if (balance !== 0n) await move(tx, form, account, balance, now);
    await changeOne(
      tx,
      "UPDATE credits_accounts SET same_as = ?, balance = '0' WHERE address = ? AND same_as IS NULL",
      account,
      form,
    );
    await tx.run('UPDATE credits_approvals SET payer = ? WHERE payer = ?', account, form);
    const notice = locked.notices.get(form);
    if (notice !== undefined && (await readNotice(tx, account)) === undefined) {
      await setNotice(tx, account, notice);
    }
    await settleLoans(tx, account, form, now);
  }
}

async function move(tx: SqlExecutor, form: string, account: string, amount: bigint, now: number) {
  await insertAccount(tx, account, addressKind(account) ?? '', now);
  const before = (await lockAccounts(tx, [account])).get(account);
  if (before === undefined) throw new Error(`the account of ${account} is gone`);
  const entry = { reason: 'account_united', changeId: form } as const;
  await appendNew(tx, { ...entry, account: form, amount: -amount, line: 0 }, now);
  await appendNew(tx, { ...entry, account, amount, line: 1 }, now);
  await setBalance(tx, account, before + amount);
}

/** What it lent to its own other form comes back; and where it owes now, what it lent to others. */
async function settleLoans(tx: SqlExecutor, account: string, form: string, now: number): Promise<void> {
  const balance = (await lockAccounts(tx, [account])).get(account);
  if (balance === undefined) return;
  const after = await callBackFromItself(tx, account, balance, form, now);
  if (after < 0n) await callBackLent(tx, account, after, form, now);
}
