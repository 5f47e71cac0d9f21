/** What wallets throw, in one form. Some reject with strings, some with objects that are no errors. */
import { texts } from '../texts.ts';
import { WalletRefused } from './wallet.ts';

/** EIP-1193: the person refused; a request of this kind is open already. */
const refusedCode = 4001;
const alreadyAskingCode = -32002;
/** EIP-3326: the wallet does not know the chain; some say so inside. */
const unknownChainCode = 4902;
const refusalWords = /user (?:cancel|reject|denied|declin)|rejected the request|request rejected/i;

export function walletError(thrown: unknown): Error {
  if (thrown instanceof WalletRefused) return thrown;
  const code = memberOf(thrown, 'code');
  const message = typeof thrown === 'string' ? thrown : String(memberOf(thrown, 'message') ?? '');
  if (code === refusedCode || refusalWords.test(message)) return new WalletRefused(texts.wallet.refused);
  if (code === alreadyAskingCode) return new Error(texts.wallet.alreadyAsking);
  const inner = memberOf(memberOf(memberOf(thrown, 'data'), 'originalError'), 'code');
  if (code === unknownChainCode || inner === unknownChainCode) return new Error(texts.wallet.unknownChain);
  return new Error(message === '' ? texts.wallet.failedWithoutWords : message.slice(0, 300));
}

/** Runs what a wallet does, and throws what went wrong in one form. */
export async function asked<T>(doing: () => Promise<T>): Promise<T> {
  try {
    return await doing();
  } catch (thrown) {
    throw walletError(thrown);
  }
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
