/** Reading the positional parameters of a call, strictly; an options object may always be left out. */
import { tryDecodeBase58 } from '../../../formats/base58.ts';
import { FormatError } from '../../../formats/format-error.ts';
import { isSolanaAddress, type SolanaAddress } from '../../../formats/solana/address.ts';
import { invalidParams } from './errors.ts';

export type Params = readonly unknown[];
export type Options = Readonly<Record<string, unknown>>;

export function addressParam(params: Params, index: number): SolanaAddress {
  return toAddress(params[index]);
}

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
export function integerParam(params: Params, index: number, max = Number.MAX_SAFE_INTEGER): number {
  return toInteger(params[index], max);
}

export function toInteger(value: unknown, max = Number.MAX_SAFE_INTEGER): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0 || value > max) {
    throw invalidParams(`invalid type: expected an integer from 0 to ${max}`);
  }
  return value;
}

export function optionsParam(params: Params, index: number): Options {
  return toOptions(params[index]);
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
