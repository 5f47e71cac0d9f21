/**
 * The values of a `cdb64-root-tx` index: where a data item is, as a MessagePack map in one exact form, so that
 * equal content gives equal files.
 *
 *   r root transaction id · p path of ids from the root to the parent · i offset of the item's header in the
 *   root's data · d offset of its payload · s size of header and payload
 */
import { FormatError } from '../format-error.ts';

export interface RootEntry {
  /** Root transaction first, direct parent last: 1 to 10 ids of 32 bytes. */
  readonly path: readonly Buffer[];
  /** Absent in entries that only name the root. */
  readonly offsets?: {
    readonly item: number;
    readonly data: number;
    /** Header and payload. */
    readonly size?: number;
  };
}

const maxPath = 10;
/** The letters r, p, i, d and s. */
const names = { root: 0x72, path: 0x70, item: 0x69, data: 0x64, size: 0x73 };

/** One id is written as `r`; a longer path as `p`. */
export function encodeRootEntry(entry: RootEntry): Buffer {
  const { path, offsets } = entry;
  if (path.length < 1 || path.length > maxPath) throw new FormatError('a path has 1 to 10 ids');
  for (const id of path) if (id.length !== 32) throw new FormatError('an id has 32 bytes');
  const out = Buffer.allocUnsafe(8 + path.length * 34 + 3 * 11);
  out[0] = 0x80 | (1 + (offsets === undefined ? 0 : offsets.size === undefined ? 2 : 3));
  let at = 1;
  if (path.length === 1) at = putId(out, putKey(out, at, names.root), path[0]!);
  else {
    at = putKey(out, at, names.path);
    out[at] = 0x90 | path.length;
    at += 1;
    for (const id of path) at = putId(out, at, id);
  }
  if (offsets !== undefined) {
    at = putInteger(out, putKey(out, at, names.item), offsets.item);
    at = putInteger(out, putKey(out, at, names.data), offsets.data);
    if (offsets.size !== undefined) at = putInteger(out, putKey(out, at, names.size), offsets.size);
  }
  return out.subarray(0, at);
}

export function decodeRootEntry(bytes: Buffer): RootEntry {
  const input = new Reader(bytes);
  const members = input.byte() ^ 0x80;
  if (members < 1 || members > 4) throw new FormatError('an entry is a map of 1 to 4 members');
  let path: Buffer[] | undefined;
  const numbers = new Map<string, number>();
  for (let member = 0; member < members; member += 1) {
    if (input.byte() !== 0xa1) throw new FormatError('a member has an unknown name');
    const name = String.fromCharCode(input.byte());
    if (name === 'r' && path === undefined) path = [input.id()];
    else if (name === 'p' && path === undefined) path = input.ids();
    else if ((name === 'i' || name === 'd' || name === 's') && !numbers.has(name))
      numbers.set(name, input.integer());
    else throw new FormatError('a member has an unknown name or is there twice');
  }
  input.end();
  const item = numbers.get('i');
  const data = numbers.get('d');
  const size = numbers.get('s');
  if (path === undefined) throw new FormatError('an entry names no root');
  if (item === undefined && data === undefined && size === undefined) return { path };
  if (item === undefined || data === undefined || data <= item)
    throw new FormatError('the offsets of an entry contradict each other');
  if (size === undefined) return { path, offsets: { item, data } };
  if (size < data - item) throw new FormatError('an item is smaller than its header');
  return { path, offsets: { item, data, size } };
}

function putKey(out: Buffer, at: number, name: number): number {
  out[at] = 0xa1;
  out[at + 1] = name;
  return at + 2;
}

function putId(out: Buffer, at: number, id: Buffer): number {
  out[at] = 0xc4;
  out[at + 1] = 32;
  out.set(id, at + 2);
  return at + 34;
}

function putInteger(out: Buffer, at: number, value: number): number {
  if (!Number.isSafeInteger(value) || value < 0) throw new FormatError('an offset is a safe integer');
  if (value < 0x80) {
    out[at] = value;
    return at + 1;
  }
  if (value < 0x100) {
    out[at] = 0xcc;
    return out.writeUInt8(value, at + 1);
  }
  if (value < 0x10000) {
    out[at] = 0xcd;
    return out.writeUInt16BE(value, at + 1);
  }
  if (value < 2 ** 32) {
    out[at] = 0xce;
    return out.writeUInt32BE(value, at + 1);
  }
  out[at] = 0xcb;
  return out.writeDoubleBE(value, at + 1);
}

class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  byte(): number {
    return this.#bytes.readUInt8(this.#take(1));
  }

  id(): Buffer {
    if (this.byte() !== 0xc4 || this.byte() !== 32) throw new FormatError('an id has 32 bytes');
    const start = this.#take(32);
    return this.#bytes.subarray(start, start + 32);
  }

  ids(): Buffer[] {
    const count = this.byte() ^ 0x90;
    if (count < 1 || count > maxPath) throw new FormatError('a path has 1 to 10 ids');
    return Array.from({ length: count }, () => this.id());
  }

  integer(): number {
    const value = this.#number(this.byte());
    if (!Number.isSafeInteger(value) || value < 0) throw new FormatError('an offset is a safe integer');
    return value;
  }

  end(): void {
    if (this.#at !== this.#bytes.length) throw new FormatError('an entry has bytes after its end');
  }

  #number(type: number): number {
    if (type < 0x80) return type;
    if (type === 0xcc) return this.#bytes.readUInt8(this.#take(1));
    if (type === 0xcd) return this.#bytes.readUInt16BE(this.#take(2));
    if (type === 0xce) return this.#bytes.readUInt32BE(this.#take(4));
    if (type === 0xcf) return Number(this.#bytes.readBigUInt64BE(this.#take(8)));
    if (type === 0xcb) return this.#bytes.readDoubleBE(this.#take(8));
    throw new FormatError('an offset is no number');
  }

  #take(length: number): number {
    const start = this.#at;
    if (start + length > this.#bytes.length) throw new FormatError('an entry is cut off');
    this.#at += length;
    return start;
  }
}
