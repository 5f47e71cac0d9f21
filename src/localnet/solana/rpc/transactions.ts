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
import { innerOf } from '../meta.ts';
import { describeTransactionError, type TransactionError } from '../runtime/errors.ts';
import type { Execution } from '../runtime/execute.ts';
import { signaturesHold } from '../signatures.ts';
import { accountJson, accountView } from './accounts.ts';
import { requireConfirmed } from './blocks.ts';
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
import {
  innerJson,
  statusJson,
  transactionJson,
  transactionOptions,
  transactionView,
} from './transaction-json.ts';

const maxTransactionBase58 = 1683;
const maxStatuses = 256;
const maxHistory = 1_000;
const newest = Number.MAX_SAFE_INTEGER;
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
      innerInstructions: booleanOption(options, 'innerInstructions')
        ? innerJson(innerOf(execution.message, execution), execution.message, true)
        : null,
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
    const options = transactionOptions(params[1]);
    requireConfirmed(options);
    const view = transactionView(options);
    const entry = await ledger.find(signature);
    if (entry === undefined) return null;
    return {
      slot: entry.slot,
      blockTime: Math.floor(entry.timeMs / 1000),
      ...transactionJson(entry, view),
    };
  },

  getSignaturesForAddress: async (context, params) => {
    const { ledger } = context;
    const address = toAddress(params[0]);
    const options = toOptions(params[1]);
    requireConfirmed(options);
    checkContext(context, options);
    const limit = options.limit == null ? maxHistory : toInteger(options.limit);
    if (limit < 1 || limit > maxHistory) throw invalidParams(`Invalid limit; max ${maxHistory}`);
    // Nothing comes before a signature that is not known; one that is not known ends nothing.
    const before = (await placeOf(ledger, options.before)) ?? (options.before == null ? newest : 0);
    const after = (await placeOf(ledger, options.until)) ?? 0;
    const entries = await ledger.history(address, { before, after, limit });
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
    if (isLookupError(error.error)) {
      throw invalidParams(`invalid transaction: ${describeTransactionError(error.error)}`);
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

/** A message whose lookups lead nowhere is not even simulated. */
const isLookupError = (error: TransactionError): boolean =>
  typeof error === 'string' && error.includes('AddressLookupTable');

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
    return account === undefined ? null : accountJson(address, account, view, ledger.accounts);
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

async function placeOf(ledger: Ledger, value: unknown): Promise<number | undefined> {
  if (value === undefined || value === null) return undefined;
  return (await ledger.find(signatureText(value)))?.sequence;
}
