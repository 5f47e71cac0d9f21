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

const first = (params: Params): SolanaAddress[] => [toAddress(params[0])];

const named: Readonly<Record<string, (params: Params) => readonly SolanaAddress[]>> = {
  getBalance: first,
  getAccountInfo: first,
  getMultipleAccounts: (params) => addressList(params[0], maxAddresses),
  getTokenAccountBalance: first,
  getTokenSupply: first,
  requestAirdrop: first,
  sendTransaction: namedInTransaction,
  simulateTransaction: namedInTransaction,
};

/** Brings them; what is wrong with the call itself is left to its method. */
export async function bringAccounts(fork: LedgerFork, method: string, params: Params): Promise<void> {
  try {
    if (method === 'getProgramAccounts' || method === 'getTokenAccountsByOwner') {
      await fork.bringList(method, params);
    } else {
      const addresses = named[method]?.(params) ?? [];
      if (addresses.length > 0) await fork.bring(addresses);
    }
  } catch (error) {
    if (error instanceof ForkUnavailable) throw new RpcError(rpcCode.forkUnavailable, error.message);
    throw error;
  }
}

function namedInTransaction(params: Params): readonly SolanaAddress[] {
  const [text, options] = params;
  if (typeof text !== 'string') return [];
  const isBase64 = isRecord(options) && options.encoding === 'base64';
  const wire = isBase64 ? Buffer.from(text, 'base64') : tryDecodeBase58(text);
  const { keys, lookups }: Partial<Message> = (wire && messageIn(wire)) ?? {};
  return [...(keys ?? []), ...(lookups ?? []).map(({ table }) => table)];
}

function messageIn(wire: Buffer): Message | undefined {
  try {
    return parseTransaction(wire).message;
  } catch (error) {
    if (error instanceof FormatError) return undefined;
    throw error;
  }
}
