/** Reading parameters that may come in the query or in a JSON body; the body wins, key by key (interface §4.2). */
import { asciiLowerCase } from '../../formats/ascii-case.ts';
import {
  addressBytes,
  isOnCurve,
  isSolanaAddress,
  type SolanaAddress,
} from '../../formats/solana/address.ts';
import { isArnsName } from '../../formats/solana/name-rules.ts';
import { badRequest, invalidName, missingType } from '../errors.ts';

export type Fields = Readonly<Record<string, unknown>>;

const maxInteger = 1_000_000_000;

export function mergeFields(query: unknown, body: unknown): Fields {
  const fields: Record<string, unknown> = { ...objectOf(query) };
  if (body !== undefined && body !== null) {
    if (typeof body !== 'object' || Array.isArray(body)) throw badRequest('The body must be a JSON object');
    Object.assign(fields, body);
  }
  return fields;
}

function objectOf(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {};
}

export function optionalText(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  if (value === undefined) return undefined;
  if (typeof value !== 'string') throw badRequest(`${name} must be a string`);
  return value;
}

export function requiredText(fields: Fields, name: string): string {
  const value = optionalText(fields, name);
  if (value === undefined || value === '') throw badRequest(`Missing required parameter: ${name}`);
  return value;
}

/** A whole number as JSON number or as plain digits: not `1.5`, `1e0`, `+1`, `01` or an empty text. */
export function optionalInteger(
  fields: Fields,
  name: string,
  min: number,
  max = maxInteger,
): number | undefined {
  const value = fields[name];
  if (value === undefined) return undefined;
  const number = typeof value === 'string' && /^(?:0|[1-9][0-9]{0,9})$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isInteger(number) || number < min || number > max) {
    const range = max === maxInteger ? `an integer of at least ${min}` : `an integer from ${min} to ${max}`;
    throw badRequest(`${name} must be ${range}`);
  }
  return number;
}

export function requiredInteger(fields: Fields, name: string, min: number, max?: number): number {
  const value = optionalInteger(fields, name, min, max);
  if (value === undefined) throw badRequest(`Missing required parameter: ${name}`);
  return value;
}

export function optionalNameType(fields: Fields): 'lease' | 'permabuy' | undefined {
  const type = optionalText(fields, 'type');
  if (type === undefined || type === 'lease' || type === 'permabuy') return type;
  throw missingType();
}

/** A name in lower case, as the registry writes it. */
export function nameOf(text: string): string {
  const name = asciiLowerCase(text);
  if (!isArnsName(name)) throw invalidName();
  return name;
}

export function addressOf(fields: Fields, name: string): SolanaAddress {
  const text = requiredText(fields, name);
  if (!isSolanaAddress(text)) throw badRequest(`${name} must be a Solana address`);
  return text;
}

/** An address somebody holds the key of: a program's own address could never sign or be asked. */
export function walletAddressOf(fields: Fields, name: string): SolanaAddress {
  const address = addressOf(fields, name);
  if (!isOnCurve(addressBytes(address))) throw badRequest(`${name} must be the address of a wallet`);
  return address;
}

/** A list as an array, as one comma-separated text, or as a repeated query parameter. */
export function listOf(fields: Fields, name: string): string[] | undefined {
  const value = fields[name];
  if (value === undefined) return undefined;
  const parts: readonly unknown[] = Array.isArray(value) ? value : [value];
  const list: string[] = [];
  for (const part of parts) {
    if (typeof part !== 'string') throw badRequest(`${name} must be a list of strings`);
    list.push(...part.split(','));
  }
  return list.map((item) => item.trim()).filter((item) => item !== '');
}
