/**
 * Methods that send, simulate and look up transactions, and executed transactions as JSON: raw, as the message's parts,
 * or with the common instructions spelled out.
 */
import { encodeBase58, tryDecodeBase58 } from '../../../formats/base58.ts';
import type { SolanaAddress } from '../../../formats/solana/address.ts';
import { Reader } from '../../../formats/solana/bytes.ts';
import { isWritableKey, type Message } from '../../../formats/solana/message.ts';
import { memoProgram, memoProgramV1, systemProgram, tokenProgram } from '../../../formats/solana/programs.ts';
import { systemInstruction } from '../../../formats/solana/system.ts';
import { tokenInstruction } from '../../../formats/solana/token.ts';
import {
  maxTransactionBase64,
  maxTransactionBytes,
  parseTransaction,
  type Transaction,
  transactionId,
} from '../../../formats/solana/transaction.ts';
import { type Ledger, LedgerBusy, NotATransaction, TransactionRefused } from '../ledger.ts';
import type { TokenBalance, TransactionMeta } from '../meta.ts';
import { describeTransactionError } from '../runtime/errors.ts';
import type { Execution } from '../runtime/execute.ts';
import { signaturesHold } from '../signatures.ts';
import type { StoredTransaction } from '../store.ts';
import { accountJson, accountView, tokenAmount } from './accounts.ts';
import { latestBlockhash } from './chain-methods.ts';
import {
  addressList,
  booleanOption,
  checkContext,
  choiceOption,
  deserialized,
  invalidParams,
  type Methods,
  type Options,
  type Params,
  RpcError,
  rpcCode,
  signatureText,
  textParam,
  toAddress,
  toInteger,
  toOptions,
  withContext,
} from './method.ts';

type TransactionEncoding = 'json' | 'jsonParsed' | 'base64' | 'base58';

function transactionJson(wire: Buffer, encoding: TransactionEncoding): unknown {
  if (encoding === 'base64') return [wire.toString('base64'), 'base64'];
  if (encoding === 'base58') return [encodeBase58(wire), 'base58'];
  const { signatures, message } = parseTransaction(wire);
  return {
    signatures: signatures.map((signature) => encodeBase58(signature)),
    message: encoding === 'json' ? messageJson(message) : parsedMessageJson(message),
  };
}

function messageJson(message: Message): object {
  return {
    header: {
      numRequiredSignatures: message.requiredSignatures,
      numReadonlySignedAccounts: message.readonlySigned,
      numReadonlyUnsignedAccounts: message.readonlyUnsigned,
    },
    accountKeys: message.keys,
    recentBlockhash: message.blockhash,
    instructions: message.instructions.map(({ programIndex, accounts, data }) => ({
      programIdIndex: programIndex,
      accounts,
      data: encodeBase58(data),
      stackHeight: 1,
    })),
    ...(message.version === 0 && { addressTableLookups: [] }),
  };
}

function parsedMessageJson(message: Message): object {
  return {
    accountKeys: message.keys.map((pubkey, index) => ({
      pubkey,
      signer: index < message.requiredSignatures,
      writable: isWritableKey(message, index),
      source: 'transaction',
    })),
    recentBlockhash: message.blockhash,
    instructions: message.instructions.map(({ programIndex, accounts: places, data }) => {
      const programId = message.keys[programIndex]!;
      const accounts = places.map((index) => message.keys[index]!);
      const spelled = spell(programId, accounts, data);
      if (spelled !== undefined) return { ...spelled, programId, stackHeight: 1 };
      return { programId, accounts, data: encodeBase58(data), stackHeight: 1 };
    }),
    ...(message.version === 0 && { addressTableLookups: [] }),
  };
}

/** The common instructions spelled out; undefined for others. */
function spell(
  programId: SolanaAddress,
  accounts: readonly SolanaAddress[],
  data: Buffer,
): object | undefined {
  if (programId === memoProgram || programId === memoProgramV1) {
    return { program: 'spl-memo', parsed: data.toString('utf8') };
  }
  if (programId === systemProgram && data.length === 12) {
    const reader = new Reader(data);
    if (reader.u32() !== systemInstruction.transfer) return undefined;
    const info = { source: accounts[0], destination: accounts[1], lamports: reader.u64() };
    return { program: 'system', parsed: { info, type: 'transfer' } };
  }
  if (programId !== tokenProgram) return undefined;
  if (data.length === 9 && data[0] === tokenInstruction.transfer) {
    const amount = new Reader(data.subarray(1)).u64().toString();
    const info = { source: accounts[0], destination: accounts[1], authority: accounts[2], amount };
    return { program: 'spl-token', parsed: { info, type: 'transfer' } };
  }
  if (data.length === 10 && data[0] === tokenInstruction.transferChecked) {
    const reader = new Reader(data.subarray(1));
    const info = {
      source: accounts[0],
      mint: accounts[1],
      destination: accounts[2],
      authority: accounts[3],
      tokenAmount: tokenAmount(reader.u64(), reader.u8()),
    };
    return { program: 'spl-token', parsed: { info, type: 'transferChecked' } };
  }
  return undefined;
}

function statusJson(err: TransactionMeta['err']): object {
  return err === null ? { Ok: null } : { Err: err };
}

function metaJson(meta: TransactionMeta): object {
  return {
    err: meta.err,
    status: statusJson(meta.err),
    fee: BigInt(meta.fee),
    preBalances: meta.pre.map(BigInt),
    postBalances: meta.post.map(BigInt),
    innerInstructions: innerJson(meta),
    logMessages: meta.logs,
    preTokenBalances: meta.preTokens.map(tokenBalanceJson),
    postTokenBalances: meta.postTokens.map(tokenBalanceJson),
    rewards: [],
    loadedAddresses: { writable: [], readonly: [] },
    computeUnitsConsumed: meta.units,
    ...(meta.returnData && {
      returnData: { programId: meta.returnData.programId, data: [meta.returnData.data, 'base64'] },
    }),
  };
}

function innerJson(meta: TransactionMeta): object[] {
  const groups = new Map<number, object[]>();
  for (const { outer, ...instruction } of meta.inner) {
    const group = groups.get(outer);
    if (group === undefined) groups.set(outer, [instruction]);
    else group.push(instruction);
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

const maxTransactionBase58 = 1683;
const maxStatuses = 256;
const maxHistory = 1_000;
/** Ten thousand SOL at a time is plenty for a test. */
const maxAirdrop = 10_000_000_000_000;

export const transactionMethods: Methods = {
  sendTransaction: async ({ ledger }, params) => {
    const options = toOptions(params[1]);
    const wire = wireParam(params, options);
    const preflight = !booleanOption(options, 'skipPreflight');
    const signature = transactionId(parse(wire));
    try {
      await ledger.submit(wire, preflight);
    } catch (error) {
      answerRefusal(error, preflight);
    }
    return signature;
  },

  simulateTransaction: async (context, params) => {
    const options = toOptions(params[1]);
    checkContext(context, options);
    const transaction = parse(wireParam(params, options));
    const replace = booleanOption(options, 'replaceRecentBlockhash');
    if (booleanOption(options, 'sigVerify')) {
      if (replace) throw invalidParams('sigVerify may not be used with replaceRecentBlockhash');
      if (!(await signaturesHold(transaction))) {
        throw new RpcError(rpcCode.signatureFailed, 'Transaction signature verification failure');
      }
    }
    const { ledger } = context;
    const execution = ledger.simulate(transaction.message, { anyBlockhash: replace });
    return withContext(context, {
      err: execution.error ?? null,
      logs: execution.logs,
      accounts: simulatedAccounts(ledger, execution, options),
      unitsConsumed: execution.unitsConsumed,
      returnData: execution.returnData
        ? {
            programId: execution.returnData.programId,
            data: [execution.returnData.data.toString('base64'), 'base64'],
          }
        : null,
      innerInstructions: null,
      ...(replace && { replacementBlockhash: latestBlockhash(ledger) }),
    });
  },

  getSignatureStatuses: async (context, params) => {
    const list = params[0];
    if (!Array.isArray(list)) throw invalidParams('invalid type: expected a sequence');
    if (list.length > maxStatuses) throw invalidParams(`Too many inputs provided; max ${maxStatuses}`);
    const history = booleanOption(toOptions(params[1]), 'searchTransactionHistory');
    const statuses = await Promise.all(
      list.map((value: unknown) => statusOf(context.ledger, signatureText(value), history)),
    );
    return withContext(context, statuses);
  },

  getTransaction: async ({ ledger }, params) => {
    const signature = signatureText(params[0]);
    const given = params[1];
    const options: Options = typeof given === 'string' ? { encoding: given } : toOptions(given);
    const encoding = choiceOption(options, 'encoding', 'json', ['json', 'jsonParsed', 'base64', 'base58']);
    const entry = await ledger.find(signature);
    if (entry === undefined) return null;
    const version = checkVersion(entry, options);
    return {
      slot: entry.slot,
      blockTime: Math.floor(entry.timeMs / 1000),
      meta: metaJson(entry.meta),
      transaction: transactionJson(entry.wire, encoding),
      ...version,
    };
  },

  getSignaturesForAddress: async ({ ledger }, params) => {
    const address = toAddress(params[0]);
    const options = toOptions(params[1]);
    const limit = options.limit == null ? maxHistory : toInteger(options.limit);
    if (limit < 1 || limit > maxHistory) throw invalidParams(`Invalid limit; max ${maxHistory}`);
    const before = await placeOf(ledger, options.before);
    const until = await placeOf(ledger, options.until);
    const entries = await ledger.history(address, {
      before: before ?? Number.MAX_SAFE_INTEGER,
      after: until ?? 0,
      limit,
    });
    return entries.map((entry) => ({
      signature: entry.signature,
      slot: entry.slot,
      err: entry.meta.err,
      memo: entry.meta.memo,
      blockTime: Math.floor(entry.timeMs / 1000),
      confirmationStatus: 'finalized',
    }));
  },

  requestAirdrop: ({ airdrop }, params) =>
    airdrop(toAddress(params[0]), BigInt(toInteger(params[1], maxAirdrop))),
};

function wireParam(params: Params, options: Options): Buffer {
  const text = textParam(params, 0, 'a transaction');
  const encoding = choiceOption(options, 'encoding', 'base58', ['base58', 'base64']);
  const maxText = encoding === 'base64' ? maxTransactionBase64 : maxTransactionBase58;
  if (text.length > maxText) {
    throw invalidParams(
      `${encoding} encoded transaction too large: ${text.length} bytes (max: encoded/raw ${maxText}/${maxTransactionBytes})`,
    );
  }
  const wire = encoding === 'base64' ? strictBase64(text) : tryDecodeBase58(text);
  if (wire === undefined) throw invalidParams(`invalid ${encoding} encoding`);
  if (wire.length > maxTransactionBytes) {
    throw invalidParams(
      `decoded transaction too large: ${wire.length} bytes (max: ${maxTransactionBytes} bytes)`,
    );
  }
  return wire;
}

function strictBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}

const parse = (wire: Buffer): Transaction => deserialized('transaction', () => parseTransaction(wire));

/** Without preflight a node answers the signature and drops what it cannot take; nobody hears of it again. */
function answerRefusal(error: unknown, preflight: boolean): void {
  if (error instanceof TransactionRefused) {
    if (error.error === 'SignatureFailure') {
      throw new RpcError(rpcCode.signatureFailed, 'Transaction signature verification failure');
    }
    if (!preflight) return;
    const message = `Transaction simulation failed: ${describeTransactionError(error.error)}`;
    throw new RpcError(rpcCode.simulationFailed, message, {
      err: error.error,
      logs: error.logs,
      accounts: null,
      unitsConsumed: error.unitsConsumed,
      returnData: null,
      innerInstructions: null,
    });
  }
  if (error instanceof NotATransaction) throw invalidParams(error.message);
  if (error instanceof LedgerBusy) throw new RpcError(rpcCode.busy, 'Node is behind');
  throw error;
}

function simulatedAccounts(ledger: Ledger, execution: Execution, options: Options): unknown {
  if (options.accounts === undefined || options.accounts === null) return null;
  const asked = toOptions(options.accounts);
  const view = accountView(asked, 'base64');
  const after = (address: ReturnType<typeof addressList>[number]) =>
    execution.error === undefined && execution.changes.has(address)
      ? execution.changes.get(address)
      : ledger.accounts.get(address);
  return addressList(asked.addresses, 64).map((address) => {
    const account = after(address);
    return account === undefined ? null : accountJson(account, view, ledger.accounts);
  });
}

async function statusOf(ledger: Ledger, signature: string, history: boolean): Promise<object | null> {
  const recent = ledger.recentStatus(signature);
  const entry = recent === undefined && history ? await ledger.find(signature) : undefined;
  const found = recent ?? (entry && { slot: entry.slot, err: entry.meta.err });
  if (found === undefined) return null;
  return {
    slot: found.slot,
    confirmations: null,
    err: found.err,
    status: statusJson(found.err),
    confirmationStatus: 'finalized',
  };
}

function checkVersion(entry: StoredTransaction, options: Options): { version?: 'legacy' | 0 } {
  const versioned = parseTransaction(entry.wire).message.version === 0;
  if (options.maxSupportedTransactionVersion != null) {
    toInteger(options.maxSupportedTransactionVersion, 127);
    return { version: versioned ? 0 : 'legacy' };
  }
  if (!versioned) return {};
  throw new RpcError(
    rpcCode.unsupportedVersion,
    'Transaction version (0) is not supported by the requesting client. Please try the request again with the following configuration parameter: "maxSupportedTransactionVersion": 0',
  );
}

async function placeOf(ledger: Ledger, value: unknown): Promise<number | undefined> {
  if (value === undefined || value === null) return undefined;
  const entry = await ledger.find(signatureText(value));
  if (entry === undefined) throw invalidParams('signature not found');
  return entry.sequence;
}
