/**
 * Asks the payment service as a wallet. To read, one signature is enough for a while: the token that it is answered stands
 * for it, in memory alone, so that a reload asks the wallet again. Whatever changes something is signed by itself.
 */
import { ServiceError } from '../services/console.ts';
import { askSigned } from '../services/payment.ts';
import { signForPayment } from './sign-for.ts';
import type { Wallet } from './wallet.ts';

const tokens = new Map<string, string>();

/** Whether reading needs no signature now. */
export const hasAsked = ({ address }: Pick<Wallet, 'address'>): boolean => tokens.has(address);

export async function readAs<T>(current: Wallet, path: string, method: 'GET' | 'POST' = 'GET'): Promise<T> {
  const token = tokens.get(current.address);
  if (token !== undefined) {
    try {
      return (await askSigned<T>(method, path, { authorization: token })).value;
    } catch (error) {
      // It has lapsed, or the service was begun anew.
      if (!(error instanceof ServiceError) || error.status !== 403) throw error;
      tokens.delete(current.address);
    }
  }
  const answer = await askSigned<T>(method, path, await signForPayment(current, { method, path }));
  if (answer.token !== undefined) tokens.set(current.address, answer.token);
  return answer.value;
}

export async function changeAs<T>(
  current: Wallet,
  method: 'POST' | 'PUT' | 'DELETE',
  path: string,
  body?: object,
): Promise<T> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const headers = await signForPayment(current, {
    ...{ method, path, nonce: crypto.randomUUID() },
    ...(text !== undefined && { body: text }),
  });
  return (await askSigned<T>(method, path, headers, text)).value;
}
