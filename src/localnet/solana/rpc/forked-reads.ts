/** Which accounts a call is about, so that they are there before it is answered. */
import { ForkUnavailable } from '../../../fork/upstream.ts';
import { tryDecodeBase58 } from '../../../formats/base58.ts';
import { FormatError } from '../../../formats/format-error.ts';
import { isRecord } from '../../../formats/json.ts';
import type { SolanaAddress } from '../../../formats/solana/address.ts';
import type { Message } from '../../../formats/solana/message.ts';
import { parseTransaction } from '../../../formats/solana/transaction.ts';
import type { LedgerFork } from '../ledger-fork.ts';
import { addressList, type Params, RpcError, rpcCode, toAddress } from './method.ts';

const maxAddresses = 100;
/** Characters of a transaction in either encoding; the method refuses a longer one. */
const maxTransactionText = 1_700;

const first = (params: Params): SolanaAddress[] => [toAddress(params[0])];

const named: Readonly<Record<string, (params: Params) => readonly SolanaAddress[]>> = {
  getBalance: first,
  getAccountInfo: first,
  getMultipleAccounts: (params) => addressList(params[0], maxAddresses),
  getTokenAccountBalance: first,
  getTokenSupply: first,
  requestAirdrop: first,
  getTokenLargestAccounts: first,
};

/** Brings them; what is wrong with the call itself is left to its method. */
export async function bringAccounts(fork: LedgerFork, method: string, params: Params): Promise<void> {
  try {
    if (method === 'getProgramAccounts' || method === 'getTokenAccountsByOwner') {
      await fork.bringList(method, params);
    } else if (method === 'sendTransaction' || method === 'simulateTransaction') {
      const message = messageIn(params);
      if (message !== undefined) await fork.bringNamed(message);
    } else {
      const addresses = named[method]?.(params) ?? [];
      if (addresses.length > 0) await fork.bring(addresses);
    }
  } catch (error) {
    if (error instanceof ForkUnavailable) throw new RpcError(rpcCode.forkUnavailable, error.message);
    throw error;
  }
}

/** Of the transaction that is sent; undefined where it is none. */
function messageIn([text, options]: Params): Message | undefined {
  if (typeof text !== 'string' || text.length > maxTransactionText) return undefined;
  const isBase64 = isRecord(options) && options.encoding === 'base64';
  const wire = isBase64 ? Buffer.from(text, 'base64') : tryDecodeBase58(text);
  try {
    return wire && parseTransaction(wire).message;
  } catch (error) {
    if (error instanceof FormatError) return undefined;
    throw error;
  }
}
