/** Transfers as Ethereum and its kin take them: EIP-1559 transactions (type 2) in RLP, signed. */
import { ethereumAddress } from './address.ts';
import { keccak256 } from './keccak.ts';
import { recoverPublicKey, signDigest } from './secp256k1.ts';

export interface EvmTransaction {
  readonly chainId: number;
  readonly nonce: bigint;
  readonly to: string;
  readonly value: bigint;
  /** `0x` and hex digits. */
  readonly data: string;
  readonly gasLimit: bigint;
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
}

/** `raw`: what is sent. `hash`: by which the chain knows it. */
export function signTransfer(
  transaction: EvmTransaction,
  privateKey: Uint8Array,
): { readonly raw: string; readonly hash: string } {
  const fields = [
    ...[integer(BigInt(transaction.chainId)), integer(transaction.nonce)],
    ...[integer(transaction.maxPriorityFeePerGas), integer(transaction.maxFeePerGas)],
    ...[integer(transaction.gasLimit), bytesOf(transaction.to), integer(transaction.value)],
    ...[bytesOf(transaction.data), []],
  ];
  const { signature, recovery } = signDigest(keccak256(typed(fields)), privateKey);
  const [r, s] = [signature.subarray(0, 32), signature.subarray(32, 64)].map((half) =>
    integer(BigInt(`0x${Buffer.from(half).toString('hex')}`)),
  );
  const raw = typed([...fields, integer(BigInt(recovery)), r ?? empty, s ?? empty]);
  return { raw: hex(raw), hash: hex(keccak256(raw)) };
}

/** A transaction as it was sent, and who signed it; undefined where it is none of this kind, or not signed. */
export function readTransfer(
  raw: string,
): (EvmTransaction & { readonly from: string; readonly hash: string }) | undefined {
  const bytes = /^0x02(?:[0-9a-fA-F]{2}){1,4096}$/.test(raw) ? bytesOf(raw) : Buffer.alloc(0);
  const decoded = bytes.length === 0 ? undefined : decodeAll(bytes.subarray(1));
  if (decoded === undefined || decoded.length !== 12) return undefined;
  // One spelling each. What has an access list is not of this kind: another text was signed than is made again here.
  if (!typed(decoded).equals(bytes) || !numberPlaces.every((place) => isNumber(decoded[place]))) {
    return undefined;
  }
  const signed = decoded.slice(0, 9);
  const numbers = decoded.map((field) => (field instanceof Uint8Array ? numberOf(field) : 0n));
  const [chainId = 0n, nonce = 0n, maxPriorityFeePerGas = 0n, maxFeePerGas = 0n, gasLimit = 0n] = numbers;
  const [to, data] = [decoded[5], decoded[7]];
  if (!(to instanceof Uint8Array) || !(data instanceof Uint8Array) || to.length !== 20) return undefined;
  const signature = Buffer.from([10, 11].map((place) => hexWord(numbers[place] ?? 0n)).join(''), 'hex');
  const publicKey = recoverPublicKey(keccak256(typed(signed)), signature, Number(numbers[9] ?? 0n));
  if (publicKey === undefined) return undefined;
  return {
    ...{ chainId: Number(chainId), nonce, maxPriorityFeePerGas, maxFeePerGas, gasLimit },
    ...{ to: hex(to), value: numbers[6] ?? 0n, data: hex(data) },
    ...{ from: ethereumAddress(publicKey), hash: hex(keccak256(bytes)) },
  };
}

/** Chain, nonce, fees, gas, value, and the signature. */
const numberPlaces = [0, 1, 2, 3, 4, 6, 9, 10, 11];
const isNumber = (field: Rlp | undefined): boolean =>
  field instanceof Uint8Array && field.length <= 32 && field[0] !== 0;

type Rlp = Uint8Array | readonly Rlp[];

const empty = new Uint8Array(0);
const typed = (fields: readonly Rlp[]): Buffer => Buffer.concat([Uint8Array.of(2), encode(fields)]);

/** Recursive length prefix: short texts by one byte in front, longer ones by their length and its length. */
function encode(value: Rlp): Buffer {
  if (value instanceof Uint8Array) {
    if (value.length === 1 && (value[0] ?? 0) < 0x80) return Buffer.from(value);
    return Buffer.concat([prefix(0x80, value.length), value]);
  }
  const contents = Buffer.concat(value.map(encode));
  return Buffer.concat([prefix(0xc0, contents.length), contents]);
}

function prefix(base: number, length: number): Buffer {
  if (length < 56) return Buffer.of(base + length);
  const size = Buffer.from(integer(BigInt(length)));
  return Buffer.concat([Buffer.of(base + 55 + size.length), size]);
}

/** Without leading zeros; nothing at all is zero. */
function integer(value: bigint): Uint8Array {
  if (value === 0n) return empty;
  const digits = value.toString(16);
  return Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex');
}

const numberOf = (bytes: Uint8Array): bigint =>
  bytes.length === 0 || bytes.length > 32 ? 0n : BigInt(hex(bytes));
const hexWord = (value: bigint): string => value.toString(16).padStart(64, '0');

/** The fields of the one list that the bytes are; lists within it come out empty. Undefined where they are none. */
function decodeAll(bytes: Buffer): Rlp[] | undefined {
  const outer = itemAt(bytes, 0);
  if (outer === undefined || !outer.isList || outer.end !== bytes.length) return undefined;
  const fields: Rlp[] = [];
  for (let at = outer.begin; at < outer.end; ) {
    const item = itemAt(bytes, at);
    if (item === undefined || item.end > outer.end) return undefined;
    fields.push(item.isList ? [] : bytes.subarray(item.begin, item.end));
    at = item.end;
  }
  return fields;
}

/** Where one item's contents begin and end. */
function itemAt(bytes: Buffer, at: number) {
  const first = bytes[at];
  if (first === undefined) return undefined;
  if (first < 0x80) return { isList: false, begin: at, end: at + 1 };
  const isList = first >= 0xc0;
  const short = first - (isList ? 0xc0 : 0x80);
  const sizeBytes = short > 55 ? short - 55 : 0;
  if (at + 1 + sizeBytes > bytes.length || sizeBytes > 4) return undefined;
  const length = sizeBytes === 0 ? short : bytes.readUIntBE(at + 1, sizeBytes);
  const begin = at + 1 + sizeBytes;
  return begin + length > bytes.length ? undefined : { isList, begin, end: begin + length };
}

const bytesOf = (text: string): Buffer => Buffer.from(text.slice(2), 'hex');
const hex = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`;
