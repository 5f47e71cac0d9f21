/**
 * Transaction messages, legacy and version 0: what the signers sign. `compileMessage` puts accounts in the order
 * the header asks for (fee payer, writable signers, read-only signers, writable, read-only); `parseMessage`
 * refuses whatever a validator's sanitizer refuses.
 */
import { decodeBase58, encodeBase58 } from '../base58.ts';
import { FormatError } from '../format-error.ts';
import { addressBytes, type SolanaAddress } from './address.ts';
import { Reader, Writer } from './bytes.ts';
import { isReserved } from './programs.ts';

export interface AccountMeta {
  readonly address: SolanaAddress;
  readonly signer: boolean;
  readonly writable: boolean;
}

const meta =
  (signer: boolean, writable: boolean) =>
  (address: SolanaAddress): AccountMeta => ({ address, signer, writable });
export const readOnly = meta(false, false);
export const writable = meta(false, true);
export const signer = meta(true, false);
export const writableSigner = meta(true, true);

export interface Instruction {
  readonly programId: SolanaAddress;
  readonly accounts: readonly AccountMeta[];
  readonly data: Uint8Array;
}

export interface CompiledInstruction {
  readonly programIndex: number;
  readonly accounts: readonly number[];
  readonly data: Buffer;
}

/** Accounts of a version 0 message that are named by their place in a table account. */
export interface TableLookup {
  readonly table: SolanaAddress;
  readonly writable: readonly number[];
  readonly readonly: readonly number[];
}

/** What the lookups of a message stand for, in the order in which instructions count them. */
export interface LoadedAddresses {
  readonly writable: readonly SolanaAddress[];
  readonly readonly: readonly SolanaAddress[];
}

const noneLoaded: LoadedAddresses = { writable: [], readonly: [] };

export interface Message {
  readonly version: 'legacy' | 0;
  readonly requiredSignatures: number;
  readonly readonlySigned: number;
  readonly readonlyUnsigned: number;
  /** The accounts that the message itself names. */
  readonly staticKeys: readonly SolanaAddress[];
  /** Those, and behind them what the lookups have loaded. */
  readonly keys: readonly SolanaAddress[];
  readonly loaded: LoadedAddresses;
  readonly blockhash: string;
  readonly instructions: readonly CompiledInstruction[];
  readonly lookups: readonly TableLookup[];
}

export interface MessageParts {
  readonly version?: 'legacy' | 0;
  readonly feePayer: SolanaAddress;
  readonly blockhash: string;
  readonly instructions: readonly Instruction[];
}

/** Whether the key at this place may be written: the message asks for it, and no rule forbids it. */
export function isWritableKey(message: Message, index: number): boolean {
  if (!asksToWrite(message, index)) return false;
  if (isReserved(message.keys[index]!)) return false;
  return !message.instructions.some(({ programIndex }) => programIndex === index);
}

function asksToWrite(message: Message, index: number): boolean {
  const { requiredSignatures, readonlySigned, readonlyUnsigned, staticKeys, loaded } = message;
  if (index < requiredSignatures) return index < requiredSignatures - readonlySigned;
  if (index < staticKeys.length) return index < staticKeys.length - readonlyUnsigned;
  return index < staticKeys.length + loaded.writable.length;
}

/** The message with what its lookups stand for. */
export function withLoaded(message: Message, loaded: LoadedAddresses): Message {
  return { ...message, loaded, keys: [...message.staticKeys, ...loaded.writable, ...loaded.readonly] };
}

export function compileMessage(parts: MessageParts): Buffer {
  const metas = orderedMetas(parts);
  const place = new Map(metas.map(({ address }, index) => [address, index]));
  if (metas.length > 256) throw new FormatError('a message names at most 256 accounts');
  const signers = metas.filter((meta) => meta.signer);
  const writer = new Writer();
  if (parts.version !== 'legacy') writer.u8(0x80);
  writer.u8(signers.length);
  writer.u8(signers.filter((meta) => !meta.writable).length);
  writer.u8(metas.filter((meta) => !meta.signer && !meta.writable).length);
  writer.compactU16(metas.length);
  for (const meta of metas) writer.bytes(addressBytes(meta.address));
  writer.bytes(blockhashBytes(parts.blockhash));
  writer.compactU16(parts.instructions.length);
  for (const instruction of parts.instructions) {
    writer.u8(place.get(instruction.programId)!);
    writer.compactU16(instruction.accounts.length);
    for (const meta of instruction.accounts) writer.u8(place.get(meta.address)!);
    writer.compactU16(instruction.data.length).bytes(instruction.data);
  }
  if (parts.version !== 'legacy') writer.compactU16(0);
  return writer.finish();
}

/** Every account once, with the strongest rights any instruction asks for. */
function orderedMetas(parts: MessageParts): AccountMeta[] {
  const metas = new Map<SolanaAddress, AccountMeta>();
  const add = (meta: AccountMeta) => {
    const known = metas.get(meta.address);
    metas.set(meta.address, {
      address: meta.address,
      signer: meta.signer || (known?.signer ?? false),
      writable: meta.writable || (known?.writable ?? false),
    });
  };
  add(writableSigner(parts.feePayer));
  for (const instruction of parts.instructions) {
    for (const meta of instruction.accounts) add(meta);
    add(readOnly(instruction.programId));
  }
  const rank = (meta: AccountMeta) => (meta.signer ? 0 : 2) + (meta.writable ? 0 : 1);
  const [payer, ...others] = [...metas.values()];
  return payer === undefined ? [] : [payer, ...others.sort((a, b) => rank(a) - rank(b))];
}

export function parseMessage(bytes: Uint8Array): Message {
  const reader = new Reader(bytes);
  const first = reader.u8();
  if (first > 0x80) throw new FormatError(`message version ${first & 0x7f} is not known`);
  const version = first === 0x80 ? 0 : 'legacy';
  const header = {
    requiredSignatures: version === 0 ? reader.u8() : first,
    readonlySigned: reader.u8(),
    readonlyUnsigned: reader.u8(),
  };
  const keys = readList(reader, 32, () => reader.address());
  const message: Message = {
    version,
    ...header,
    staticKeys: keys,
    keys,
    loaded: noneLoaded,
    blockhash: encodeBase58(reader.take(32)),
    instructions: readList(reader, 3, () => readInstruction(reader)),
    lookups: version === 0 ? readList(reader, 34, () => readLookup(reader)) : [],
  };
  sanitize(message);
  reader.end('the message');
  return message;
}

function readInstruction(reader: Reader): CompiledInstruction {
  const programIndex = reader.u8();
  const accounts = [...reader.take(reader.compactU16())];
  return { programIndex, accounts, data: reader.take(reader.compactU16()) };
}

function readLookup(reader: Reader): TableLookup {
  const table = reader.address();
  const writable = [...reader.take(reader.compactU16())];
  return { table, writable, readonly: [...reader.take(reader.compactU16())] };
}

/** `least` is the fewest bytes an entry can have: a count that cannot fit is refused before any is read. */
function readList<T>(reader: Reader, least: number, read: () => T): T[] {
  const count = reader.compactU16();
  if (count * least > reader.remaining) throw new FormatError('a list is longer than its bytes');
  return Array.from({ length: count }, read);
}

function sanitize(message: Message): void {
  const { keys, requiredSignatures, readonlySigned, readonlyUnsigned, lookups } = message;
  if (requiredSignatures === 0) throw new FormatError('a message needs a fee payer');
  if (readonlySigned >= requiredSignatures) throw new FormatError('the fee payer must be writable');
  if (requiredSignatures + readonlyUnsigned > keys.length)
    throw new FormatError('the header counts too many');
  let loaded = 0;
  for (const lookup of lookups) {
    const count = lookup.writable.length + lookup.readonly.length;
    if (count === 0) throw new FormatError('a table lookup loads nothing');
    loaded += count;
  }
  if (keys.length + loaded > 256) throw new FormatError('a message names at most 256 accounts');
  for (const instruction of message.instructions) {
    if (instruction.programIndex === 0 || instruction.programIndex >= keys.length) {
      throw new FormatError('an instruction names no program');
    }
    if (instruction.accounts.some((index) => index >= keys.length + loaded)) {
      throw new FormatError('an instruction names an account that is not there');
    }
  }
}

function blockhashBytes(text: string): Buffer {
  const bytes = decodeBase58(text, 'blockhash');
  if (bytes.length !== 32) throw new FormatError('a blockhash has 32 bytes');
  return bytes;
}
