/** What only a wallet itself may read: it signs once, then a token for an hour does. */
import { ServiceError } from '../../services/console.ts';
import { readAsWallet } from '../../services/payment.ts';
import { signForPayment } from '../../wallet/sign-for.ts';
import type { Wallet } from '../../wallet/wallet.ts';

/** In memory alone: a reload asks the wallet again. */
const tokens = new Map<string, string>();
/** A person is asked once, however much is read at the same time. */
const signing = new Map<string, Promise<unknown>>();

/** Keys of the page sign without a question; others are asked when the person wants it. */
export const isReadByItself = ({ source, address }: Wallet): boolean =>
  source !== 'injected' || tokens.has(address);

export async function readOwn<T>(current: Wallet, path: string, signal: AbortSignal): Promise<T> {
  const { address } = current;
  for (let asked = signing.get(address); asked !== undefined; asked = signing.get(address)) {
    await asked.catch(() => {});
  }
  const token = tokens.get(address);
  if (token === undefined) return askOnce(current, path, signal);
  try {
    return (await readAsWallet<T>(path, { authorization: token }, signal)).value;
  } catch (error) {
    // It has lapsed, or the service was begun anew.
    if (!(error instanceof ServiceError) || error.status !== 403) throw error;
    if (tokens.get(address) === token) tokens.delete(address);
    return readOwn(current, path, signal);
  }
}

/** Whoever reads meanwhile waits for the token that this brings. */
async function askOnce<T>(current: Wallet, path: string, signal: AbortSignal): Promise<T> {
  const read = readSigned<T>(current, path, signal);
  signing.set(current.address, read);
  try {
    return await read;
  } finally {
    signing.delete(current.address);
  }
}

async function readSigned<T>(current: Wallet, path: string, signal: AbortSignal): Promise<T> {
  const headers = await signForPayment(current, { method: 'GET', path });
  const { value, token } = await readAsWallet<T>(path, headers, signal);
  if (token !== undefined) tokens.set(current.address, token);
  return value;
}
