/** EIP-712 for keys in the page: the digest of typed data as `eth_signTypedData_v4` takes it. */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { concatBytes, decodeHex, utf8 } from '../../services/encoding.ts';

type Types = Readonly<Record<string, readonly { readonly name: string; readonly type: string }[]>>;

export interface TypedData {
  /** With `EIP712Domain`. */
  readonly types: Types;
  readonly primaryType: string;
  readonly domain: Readonly<Record<string, unknown>>;
  readonly message: Readonly<Record<string, unknown>>;
}

export function hashTypedData({ types, primaryType, domain, message }: TypedData): Uint8Array {
  return keccak_256(
    concatBytes(
      Uint8Array.of(0x19, 0x01),
      hashStruct(types, 'EIP712Domain', domain),
      hashStruct(types, primaryType, message),
    ),
  );
}

function hashStruct(types: Types, name: string, value: Readonly<Record<string, unknown>>): Uint8Array {
  const words = fieldsOf(types, name).map((field) => wordOf(types, field.type, value[field.name]));
  return keccak_256(concatBytes(keccak_256(utf8(encodeType(types, name))), ...words));
}

/** `Name(type field,…)`, then the types it refers to by name. */
function encodeType(types: Types, name: string): string {
  const referred = new Set<string>();
  const visit = (type: string): void => {
    if (referred.has(type)) return;
    referred.add(type);
    for (const field of fieldsOf(types, type)) {
      const base = field.type.replace(/(\[[0-9]*\])+$/, '');
      if (Object.hasOwn(types, base)) visit(base);
    }
  };
  visit(name);
  const others = [...referred].filter((type) => type !== name).sort();
  return [name, ...others]
    .map((type) => `${type}(${fieldsOf(types, type).map((field) => `${field.type} ${field.name}`)})`)
    .join('');
}

function fieldsOf(types: Types, name: string): Types[string] {
  const fields = Object.hasOwn(types, name) ? types[name] : undefined;
  if (fields === undefined) throw new TypeError(`there is no type ${name}`);
  return fields;
}

function wordOf(types: Types, type: string, value: unknown): Uint8Array {
  const item = /^(.*)\[[0-9]*\]$/.exec(type)?.[1];
  if (item !== undefined) {
    if (!Array.isArray(value)) throw new TypeError(`a list of ${item} is needed`);
    return keccak_256(concatBytes(...value.map((one: unknown) => wordOf(types, item, one))));
  }
  if (Object.hasOwn(types, type)) return hashStruct(types, type, value as Readonly<Record<string, unknown>>);
  if (type === 'string') return keccak_256(utf8(String(value)));
  if (type === 'bytes') return keccak_256(bytesOf(value));
  if (type === 'bool') return integerWord(value === true ? 1n : 0n);
  if (type === 'address') return concatBytes(new Uint8Array(12), bytesOf(value, 20));
  const width = /^bytes([0-9]{1,2})$/.exec(type)?.[1];
  if (width !== undefined) {
    const bytes = bytesOf(value, Number(width));
    return concatBytes(bytes, new Uint8Array(32 - bytes.length));
  }
  if (!/^u?int[0-9]{0,3}$/.test(type)) throw new TypeError(`type ${type} is not known`);
  return integerWord(BigInt(value as string | number | bigint));
}

const integerWord = (value: bigint): Uint8Array =>
  decodeHex(BigInt.asUintN(256, value).toString(16).padStart(64, '0')) ?? new Uint8Array(32);

function bytesOf(value: unknown, length?: number): Uint8Array {
  const bytes = value instanceof Uint8Array ? value : decodeHex(String(value));
  if (bytes === undefined || (length !== undefined && bytes.length !== length)) {
    throw new TypeError('bytes of another length are needed');
  }
  return bytes;
}
