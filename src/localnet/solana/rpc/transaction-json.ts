/** Executed transactions as JSON: raw, as the message's parts, or with the common instructions spelled out. */
import { decodeBase58, encodeBase58 } from '../../../formats/base58.ts';
import { isWritableKey, type Message, withLoaded } from '../../../formats/solana/message.ts';
import { tokenProgram } from '../../../formats/solana/programs.ts';
import { parseTransaction } from '../../../formats/solana/transaction.ts';
import type { InnerInstructionMeta, TokenBalance, TransactionMeta } from '../meta.ts';
import type { StoredTransaction } from '../store.ts';
import { choiceOption, type Options, RpcError, rpcCode, toInteger, toOptions } from './method.ts';
import { spellInstruction } from './parsed-instructions.ts';
import { tokenAmount } from './token-amount.ts';

type TransactionEncoding = 'json' | 'jsonParsed' | 'base64' | 'base58';

export interface TransactionView {
  readonly encoding: TransactionEncoding;
  /** Versions the client can read: undefined for one that knows only the legacy form. */
  readonly maxVersion: number | undefined;
}

/** Options may be only the encoding, as a text. */
export function transactionOptions(given: unknown): Options {
  return typeof given === 'string' ? { encoding: given } : toOptions(given);
}

export function transactionView(options: Options): TransactionView {
  const encoding = choiceOption(options, 'encoding', 'json', ['json', 'jsonParsed', 'base64', 'base58']);
  const version = options.maxSupportedTransactionVersion ?? undefined;
  return { encoding, maxVersion: version === undefined ? undefined : toInteger(version, 127) };
}

/** What `getTransaction` and `getBlock` tell of one transaction. */
export function transactionJson(entry: StoredTransaction, view: TransactionView): object {
  const { signatures, message } = open(entry);
  const { encoding } = view;
  const isRaw = encoding === 'base64' || encoding === 'base58';
  const wire = encoding === 'base64' ? entry.wire.toString('base64') : encodeBase58(entry.wire);
  const version = versionJson(message, view);
  const parts = () => ({
    signatures: signatures.map((signature) => encodeBase58(signature)),
    message: encoding === 'json' ? messageJson(message) : parsedMessageJson(message),
  });
  return {
    transaction: isRaw ? [wire, encoding] : parts(),
    meta: metaJson(entry.meta, message, encoding === 'jsonParsed'),
    ...version,
  };
}

/** Only who took part and what it did to balances. */
export function transactionAccountsJson(entry: StoredTransaction, view: TransactionView): object {
  const { signatures, message } = open(entry);
  const version = versionJson(message, view);
  return {
    transaction: {
      signatures: signatures.map((signature) => encodeBase58(signature)),
      accountKeys: accountKeysJson(message),
    },
    meta: balancesJson(entry.meta),
    ...version,
  };
}

export function statusJson(err: TransactionMeta['err']): object {
  return err === null ? { Ok: null } : { Err: err };
}

function open(entry: StoredTransaction) {
  const { signatures, message } = parseTransaction(entry.wire);
  const { loaded } = entry.meta;
  return { signatures, message: loaded === undefined ? message : withLoaded(message, loaded) };
}

function versionJson(message: Message, view: TransactionView): { version?: 'legacy' | 0 } {
  if (view.maxVersion !== undefined) return { version: message.version };
  if (message.version === 'legacy') return {};
  throw new RpcError(
    rpcCode.unsupportedVersion,
    'Transaction version (0) is not supported by the requesting client. Please try the request again with the following configuration parameter: "maxSupportedTransactionVersion": 0',
  );
}

function messageJson(message: Message): object {
  return {
    header: {
      numRequiredSignatures: message.requiredSignatures,
      numReadonlySignedAccounts: message.readonlySigned,
      numReadonlyUnsignedAccounts: message.readonlyUnsigned,
    },
    accountKeys: message.staticKeys,
    recentBlockhash: message.blockhash,
    instructions: message.instructions.map(({ programIndex, accounts, data }) => ({
      programIdIndex: programIndex,
      accounts,
      data: encodeBase58(data),
      stackHeight: 1,
    })),
    ...lookupsJson(message),
  };
}

function parsedMessageJson(message: Message): object {
  return {
    accountKeys: accountKeysJson(message),
    recentBlockhash: message.blockhash,
    instructions: message.instructions.map(({ programIndex, accounts, data }) =>
      parsedInstruction(message, programIndex, accounts, data, 1),
    ),
    ...lookupsJson(message),
  };
}

function lookupsJson(message: Message): object {
  if (message.version !== 0) return {};
  return {
    addressTableLookups: message.lookups.map(({ table, writable, readonly }) => ({
      accountKey: table,
      writableIndexes: writable,
      readonlyIndexes: readonly,
    })),
  };
}

function accountKeysJson(message: Message): object[] {
  return message.keys.map((pubkey, index) => ({
    pubkey,
    signer: index < message.requiredSignatures,
    writable: isWritableKey(message, index),
    source: index < message.staticKeys.length ? 'transaction' : 'lookupTable',
  }));
}

function parsedInstruction(
  message: Message,
  programIndex: number,
  places: readonly number[],
  data: Buffer,
  stackHeight: number,
): object {
  const programId = message.keys[programIndex]!;
  const accounts = places.map((index) => message.keys[index]!);
  const spelled = spellInstruction(programId, accounts, data);
  if (spelled !== undefined) return { ...spelled, programId, stackHeight };
  return { programId, accounts, data: encodeBase58(data), stackHeight };
}

function balancesJson(meta: TransactionMeta): object {
  return {
    err: meta.err,
    status: statusJson(meta.err),
    fee: BigInt(meta.fee),
    preBalances: meta.pre.map(BigInt),
    postBalances: meta.post.map(BigInt),
    preTokenBalances: meta.preTokens.map(tokenBalanceJson),
    postTokenBalances: meta.postTokens.map(tokenBalanceJson),
  };
}

function metaJson(meta: TransactionMeta, message: Message, parsed: boolean): object {
  return {
    ...balancesJson(meta),
    innerInstructions: innerJson(meta.inner, message, parsed),
    logMessages: meta.logs,
    rewards: [],
    ...(!parsed && { loadedAddresses: message.loaded }),
    computeUnitsConsumed: meta.units,
    ...(meta.returnData && {
      returnData: { programId: meta.returnData.programId, data: [meta.returnData.data, 'base64'] },
    }),
  };
}

/** Calls that programs made, by the instruction they were made in. */
export function innerJson(
  inner: readonly InnerInstructionMeta[],
  message: Message,
  parsed: boolean,
): object[] {
  const groups = new Map<number, object[]>();
  for (const { outer, ...instruction } of inner) {
    const { programIdIndex, accounts, data, stackHeight } = instruction;
    const told = parsed
      ? parsedInstruction(message, programIdIndex, accounts, decodeBase58(data, 'data'), stackHeight)
      : instruction;
    const group = groups.get(outer);
    if (group === undefined) groups.set(outer, [told]);
    else group.push(told);
  }
  return [...groups].map(([index, instructions]) => ({ index, instructions }));
}

function tokenBalanceJson(balance: TokenBalance): object {
  return {
    accountIndex: balance.accountIndex,
    mint: balance.mint,
    owner: balance.owner,
    programId: tokenProgram,
    uiTokenAmount: tokenAmount(BigInt(balance.amount), balance.decimals),
  };
}
