/** Methods that send, simulate and look up transactions. */
import { tryDecodeBase58 } from '../../../formats/base58.ts';
import {
  maxTransactionBase64,
  maxTransactionBytes,
  parseTransaction,
  type Transaction,
  transactionId,
} from '../../../formats/solana/transaction.ts';
import { type Ledger, LedgerBusy, NotATransaction, TransactionRefused } from '../ledger.ts';
import { describeTransactionError } from '../runtime/errors.ts';
import type { Execution } from '../runtime/execute.ts';
import { signaturesHold } from '../signatures.ts';
import type { StoredTransaction } from '../store.ts';
import { accountJson, accountView } from './accounts-json.ts';
import { latestBlockhash } from './chain-methods.ts';
import { invalidParams, RpcError, rpcCode } from './errors.ts';
import { checkContext, type Methods, withContext } from './method.ts';
import {
  addressList,
  addressParam,
  booleanOption,
  choiceOption,
  deserialized,
  integerParam,
  type Options,
  optionsParam,
  type Params,
  signatureText,
  textParam,
  toInteger,
  toOptions,
} from './params.ts';
import { isVersioned, metaJson, statusJson, transactionJson } from './transactions-json.ts';

const maxTransactionBase58 = 1683;
const maxStatuses = 256;
const maxHistory = 1_000;
/** Ten thousand SOL at a time is plenty for a test. */
const maxAirdrop = 10_000_000_000_000;

export const transactionMethods: Methods = {
  sendTransaction: async ({ ledger }, params) => {
    const options = optionsParam(params, 1);
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
    const options = optionsParam(params, 1);
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
    const history = booleanOption(optionsParam(params, 1), 'searchTransactionHistory');
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
    const address = addressParam(params, 0);
    const options = optionsParam(params, 1);
    const limit =
      options.limit === undefined || options.limit === null ? maxHistory : toInteger(options.limit);
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
    airdrop(addressParam(params, 0), BigInt(integerParam(params, 1, maxAirdrop))),
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
  const versioned = isVersioned(entry);
  if (
    options.maxSupportedTransactionVersion !== undefined &&
    options.maxSupportedTransactionVersion !== null
  ) {
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
