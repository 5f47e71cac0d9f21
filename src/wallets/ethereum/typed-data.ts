/**
 * EIP-712: the digest a wallet signs for a typed structure. Covers what the program meets: structs, nested
 * structs, arrays, and the atomic types address, bool, bytes, string, bytesN, uintN and intN.
 *
 * @example
 * hashTypedData({
 *   domain: { name: 'USDC', version: '2', chainId: 84532n, verifyingContract: '0x036C…' },
 *   types: { TransferWithAuthorization: [{ name: 'from', type: 'address' }, …] },
 *   primaryType: 'TransferWithAuthorization',
 *   message: { from: '0x…', … },
 * });
 */
import { keccak256 } from './keccak.ts';

export interface TypedDataField {
  readonly name: string;
  readonly type: string;
}
export type TypedDataTypes = Readonly<Record<string, readonly TypedDataField[]>>;

/** Bytes are given as bytes or `0x` hex, integers as bigint, safe integer or decimal text. */
export type TypedDataValue =
  | string
  | number
  | bigint
  | boolean
  | Uint8Array
  | readonly TypedDataValue[]
  | { readonly [field: string]: TypedDataValue };

export interface TypedDataDomain {
  readonly name?: string;
  readonly version?: string;
  readonly chainId?: bigint | number;
  readonly verifyingContract?: string;
  /** 32 bytes. */
  readonly salt?: Uint8Array | string;
}

export interface TypedData {
  readonly domain: TypedDataDomain;
  readonly types: TypedDataTypes;
  readonly primaryType: string;
  readonly message: { readonly [field: string]: TypedDataValue };
}

/** keccak256(19 01 ‖ domain separator ‖ hash of the message). Throws `TypedDataError` for values that do not fit. */
export function hashTypedData(data: TypedData): Uint8Array {
  return keccak256(
    Buffer.concat([
      Buffer.from([0x19, 0x01]),
      domainSeparator(data.domain),
      hashStruct(data.types, data.primaryType, data.message),
    ]),
  );
}

/** The domain's members in the order EIP-712 gives them; members that are absent are no part of its type. */
export function domainSeparator(domain: TypedDataDomain): Uint8Array {
  const fields = domainFields.filter(({ name }) => domain[name] !== undefined);
  const message: Record<string, TypedDataValue> = {};
  for (const { name } of fields) {
    const value = domain[name];
    if (value !== undefined) message[name] = value;
  }
  return hashStruct({ EIP712Domain: fields }, 'EIP712Domain', message);
}

const domainFields = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
  { name: 'salt', type: 'bytes32' },
] as const;

export class TypedDataError extends Error {
  override readonly name = 'TypedDataError';
}

/** keccak256(type hash ‖ each field as one 32-byte word). */
function hashStruct(
  types: TypedDataTypes,
  name: string,
  value: { readonly [field: string]: TypedDataValue },
): Uint8Array {
  const words = [typeHash(types, name)];
  for (const field of fieldsOf(types, name)) {
    const member = Object.hasOwn(value, field.name) ? value[field.name] : undefined;
    if (member === undefined) throw new TypedDataError(`${name}.${field.name} is missing`);
    words.push(encodeWord(types, field.type, member));
  }
  return keccak256(Buffer.concat(words));
}

const typeHashes = new WeakMap<TypedDataTypes, Map<string, Uint8Array>>();

export function typeHash(types: TypedDataTypes, name: string): Uint8Array {
  let known = typeHashes.get(types);
  if (known === undefined) {
    known = new Map();
    typeHashes.set(types, known);
  }
  let hash = known.get(name);
  if (hash === undefined) {
    hash = keccak256(Buffer.from(encodeType(types, name)));
    known.set(name, hash);
  }
  return hash;
}

/** `Name(type field,…)` followed by the types it refers to, sorted by name. */
export function encodeType(types: TypedDataTypes, name: string): string {
  const others = [...referredTypes(types, name)].filter((other) => other !== name).sort();
  return [name, ...others]
    .map(
      (type) =>
        `${type}(${fieldsOf(types, type)
          .map((field) => `${field.type} ${field.name}`)
          .join(',')})`,
    )
    .join('');
}

function referredTypes(types: TypedDataTypes, name: string, found = new Set<string>()): Set<string> {
  if (found.has(name)) return found;
  found.add(name);
  for (const field of fieldsOf(types, name)) {
    const base = field.type.replace(/(\[[0-9]*\])+$/, '');
    if (Object.hasOwn(types, base)) referredTypes(types, base, found);
  }
  return found;
}

function fieldsOf(types: TypedDataTypes, name: string): readonly TypedDataField[] {
  const fields = Object.hasOwn(types, name) ? types[name] : undefined;
  if (fields === undefined) throw new TypedDataError(`there is no type ${name}`);
  return fields;
}

/** One field as 32 bytes: dynamic values by their hash, atomic values padded. */
function encodeWord(types: TypedDataTypes, type: string, value: TypedDataValue): Uint8Array {
  const array = /^(.*)\[([0-9]*)\]$/.exec(type);
  if (array !== null) return encodeArray(types, array[1]!, array[2]!, value);
  if (Object.hasOwn(types, type)) {
    if (typeof value !== 'object' || value instanceof Uint8Array || isList(value)) {
      throw new TypedDataError(`a ${type} must be an object`);
    }
    return hashStruct(types, type, value);
  }
  if (type === 'string') return keccak256(Buffer.from(expectText(type, value)));
  if (type === 'bytes') return keccak256(expectBytes(type, value));
  if (type === 'bool') {
    if (typeof value !== 'boolean') throw new TypedDataError('a bool must be true or false');
    return word(value ? 1n : 0n);
  }
  if (type === 'address') return Buffer.concat([Buffer.alloc(12), expectBytes(type, value, 20)]);
  const fixed = /^bytes([1-9]|[12][0-9]|3[0-2])$/.exec(type);
  if (fixed !== null) {
    return Buffer.concat([expectBytes(type, value, Number(fixed[1]))], 32);
  }
  const number = /^(u?)int([0-9]{1,3})$/.exec(type);
  if (number !== null) return encodeInteger(type, number[1] === 'u', Number(number[2]), value);
  throw new TypedDataError(`type ${type} is not known`);
}

function encodeArray(
  types: TypedDataTypes,
  itemType: string,
  length: string,
  value: TypedDataValue,
): Uint8Array {
  if (!isList(value) || (length !== '' && value.length !== Number(length))) {
    throw new TypedDataError(`expected a list of ${length === '' ? '' : `${length} `}${itemType}`);
  }
  return keccak256(Buffer.concat(value.map((item) => encodeWord(types, itemType, item))));
}

function encodeInteger(type: string, unsigned: boolean, bits: number, value: TypedDataValue): Uint8Array {
  if (bits === 0 || bits > 256 || bits % 8 !== 0) throw new TypedDataError(`type ${type} is not known`);
  const integer = toInteger(value);
  const low = unsigned ? 0n : -(1n << BigInt(bits - 1));
  const high = 1n << BigInt(unsigned ? bits : bits - 1);
  if (integer === undefined || integer < low || integer >= high) {
    throw new TypedDataError(`value does not fit ${type}`);
  }
  return word(BigInt.asUintN(256, integer));
}

function toInteger(value: TypedDataValue): bigint | undefined {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : undefined;
  return typeof value === 'string' && /^-?[0-9]{1,78}$/.test(value) ? BigInt(value) : undefined;
}

function isList(value: TypedDataValue): value is readonly TypedDataValue[] {
  return Array.isArray(value);
}

function expectText(type: string, value: TypedDataValue): string {
  if (typeof value !== 'string') throw new TypedDataError(`a ${type} must be text`);
  return value;
}

function expectBytes(type: string, value: TypedDataValue, length?: number): Uint8Array {
  const bytes =
    typeof value === 'string' && /^0x([0-9a-fA-F]{2})*$/.test(value)
      ? Buffer.from(value.slice(2), 'hex')
      : value;
  if (!(bytes instanceof Uint8Array) || (length !== undefined && bytes.length !== length)) {
    throw new TypedDataError(`value does not fit ${type}`);
  }
  return bytes;
}

function word(value: bigint): Uint8Array {
  return Buffer.from(value.toString(16).padStart(64, '0'), 'hex');
}
