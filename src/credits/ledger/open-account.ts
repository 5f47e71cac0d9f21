/** The account that an address leads to, opened where there is none. */
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { addressKind } from '../../wallets/address.ts';
import { formsOfAddress } from '../../wallets/address-forms.ts';
import type { AddressType } from '../credits.ts';
import { accountOfAddress, insertAccount, lockAccount } from './accounts.ts';
import { unite } from './unite.ts';

/** As it is called, and locked. */
interface OpenAccount {
  readonly account: string;
  readonly balance: bigint;
}

export async function openAccount(
  tx: SqlExecutor,
  address: string,
  type: AddressType,
  now: number,
): Promise<OpenAccount> {
  const balance = await lockAccount(tx, address);
  if (balance !== undefined) return { account: address, balance };
  const account = await accountOfAddress(tx, address);
  if (account !== address) return openAccount(tx, account, addressKind(account) ?? type, now);
  const opened = await insertAccount(tx, address, type, now);
  if (opened) await unite(tx, { account, others: formsOfAddress(account) }, now);
  const locked = await lockAccount(tx, account);
  if (locked !== undefined) return { account, balance: locked };
  // Another transaction has just found that it is a form of another account.
  if ((await accountOfAddress(tx, account)) === account) throw new Error(`the account of ${account} is gone`);
  return openAccount(tx, account, type, now);
}
