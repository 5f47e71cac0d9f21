/** What a method of the RPC is given, how it reads its parameters and refuses, and the answer with its slot. */

import { tryDecodeBase58 } from '../../../formats/base58.ts';
import { FormatError } from '../../../formats/format-error.ts';
import { isSolanaAddress, type SolanaAddress } from '../../../formats/solana/address.ts';
import { localSign } from '../../sign.ts';
import type { Ledger } from '../ledger.ts';
import type { LedgerFork } from '../ledger-fork.ts';

export interface RpcContext {
  readonly ledger: Ledger;
  /** Sends lamports from the faucet; answers the signature. */
  readonly airdrop: (to: SolanaAddress, lamports: bigint) => Promise<string>;
  /** Who holds the lamports that nobody has asked for yet. */
  readonly faucet: SolanaAddress;
  /** The one node of the cluster. */
  readonly identity: SolanaAddress;
  /** Host and port of the RPC. */
  readonly address: () => string;
  /** Where accounts come from that the ledger never had. */
  readonly fork?: LedgerFork | undefined;
}

export type Method = (context: RpcContext, params: Params) => unknown;
/** A method whose answer is true for a slot; `optionsAt` is where its options may say which. */
export const inContext =
  (optionsAt: number, read: (context: RpcContext, params: Params, options: Options) => unknown): Method =>
  (context, params) => {
    const options = toOptions(params[optionsAt]);
    checkContext(context, options);
    return withContext(context, read(context, params, options));
  };

export type Methods = Readonly<Record<string, Method>>;

/** Says what it is: nobody should take it for a real cluster. */
export const ledgerVersion = localSign.solanaVersion;

export function withContext(context: RpcContext, value: unknown): object {
  return { context: { slot: context.ledger.slots.now().slot, apiVersion: ledgerVersion }, value };
}

/** Every commitment is the same here: what is answered is durable and there are no forks. */
export function checkContext(context: RpcContext, options: Options): void {
  if (options.minContextSlot === undefined || options.minContextSlot === null) return;
  const slot = context.ledger.slots.now().slot;
  if (toInteger(options.minContextSlot) > slot) {
    throw new RpcError(rpcCode.minContextSlot, 'Minimum context slot has not been reached', {
      contextSlot: slot,
    });
  }
}

export const rpcCode = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  blockNotAvailable: -32004,
  noSnapshot: -32008,
  simulationFailed: -32002,
  signatureFailed: -32003,
  busy: -32005,
  unsupportedVersion: -32015,
  minContextSlot: -32016,
  /** Of this ledger alone: the forked cluster did not answer. */
  forkUnavailable: -32099,
} as const;

export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export function invalidParams(message: string): RpcError {
  return new RpcError(rpcCode.invalidParams, message);
}

export type Params = readonly unknown[];
export type Options = Readonly<Record<string, unknown>>;

export function toAddress(value: unknown): SolanaAddress {
  if (typeof value !== 'string') throw invalidParams('invalid type: expected a string');
  if (!isSolanaAddress(value)) throw invalidParams('Invalid param: WrongSize');
  return value;
}

export function addressList(value: unknown, max: number): SolanaAddress[] {
  if (!Array.isArray(value)) throw invalidParams('invalid type: expected a sequence');
  if (value.length > max) throw invalidParams(`Too many inputs provided; max ${max}`);
  return value.map(toAddress);
}

export function textParam(params: Params, index: number, what: string): string {
  const value = params[index];
  if (typeof value !== 'string') throw invalidParams(`invalid type: expected ${what} as a string`);
  return value;
}

/** A whole number from 0, as JSON number. */
export function toInteger(value: unknown, max = Number.MAX_SAFE_INTEGER): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0 || value > max) {
    throw invalidParams(`invalid type: expected an integer from 0 to ${max}`);
  }
  return value;
}

export function toOptions(value: unknown): Options {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value))
    throw invalidParams('invalid type: expected an object');
  return Object.fromEntries(Object.entries(value));
}

export function booleanOption(options: Options, name: string): boolean {
  const value = options[name];
  if (value === undefined || value === null) return false;
  if (typeof value !== 'boolean') throw invalidParams(`${name} must be true or false`);
  return value;
}

export function choiceOption<const C extends string>(
  options: Options,
  name: string,
  fallback: C,
  choices: readonly C[],
): C {
  const value = options[name] ?? fallback;
  const found = choices.find((choice) => choice === value);
  if (found === undefined) throw invalidParams(`unknown variant, expected one of ${choices.join(', ')}`);
  return found;
}

/** What `read` makes of bytes that a client sent. */
export function deserialized<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof FormatError) throw invalidParams(`failed to deserialize ${what}: ${error.message}`);
    throw error;
  }
}

export function signatureText(value: unknown): string {
  if (typeof value !== 'string' || tryDecodeBase58(value)?.length !== 64) {
    throw invalidParams('Invalid param: Invalid');
  }
  return value;
}
