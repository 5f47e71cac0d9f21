/**
 * Bencoding (BEP 3): byte strings, integers, lists, and dictionaries sorted by their raw keys. Reading is exact, bounded
 * in depth and number, and refuses a key that comes twice.
 */
import { FormatError } from '../format-error.ts';

export type Bencoded =
  | Buffer
  | string
  | number
  | readonly Bencoded[]
  | ReadonlyMap<Buffer | string, Bencoded>;

export function bencode(value: Bencoded): Buffer {
  const pieces: Buffer[] = [];
  write(value, pieces);
  return Buffer.concat(pieces);
}

function write(value: Bencoded, out: Buffer[]): void {
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value)) throw new FormatError('an integer is not exact');
    out.push(Buffer.from(`i${value}e`));
  } else if (typeof value === 'string' || Buffer.isBuffer(value)) {
    const bytes = Buffer.from(value);
    out.push(Buffer.from(`${bytes.length}:`), bytes);
  } else if (value instanceof Map) {
    const members = [...value].map(([key, member]): [Buffer, Bencoded] => [Buffer.from(key), member]);
    members.sort(([a], [b]) => Buffer.compare(a, b));
    out.push(Buffer.from('d'));
    for (const [key, member] of members) {
      write(key, out);
      write(member, out);
    }
    out.push(Buffer.from('e'));
  } else if (Array.isArray(value)) {
    out.push(Buffer.from('l'));
    for (const item of value) write(item, out);
    out.push(Buffer.from('e'));
  } else throw new FormatError('not a value of a torrent');
}

/** Keys are Latin-1 text, one character per byte, so that binary keys survive. */
export type BencodedValue = Buffer | number | readonly BencodedValue[] | BencodedDictionary;

export interface BencodedDictionary {
  readonly members: ReadonlyMap<string, BencodedValue>;
  /** The bytes as they stood in the input: what a hash is taken of. */
  readonly bytes: Buffer;
}

const maxDepth = 16;
const maxValues = 200_000;

/** The one value that the bytes hold; throws `FormatError`. */
export function bdecode(bytes: Buffer): BencodedValue {
  const decoder = new Decoder(bytes);
  const value = decoder.value(0);
  if (decoder.at !== bytes.length) throw new FormatError('bytes follow the bencoded value');
  return value;
}

export function isDictionary(value: BencodedValue | undefined): value is BencodedDictionary {
  return typeof value === 'object' && 'members' in value;
}

class Decoder {
  readonly #bytes: Buffer;
  #values = 0;
  at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  value(depth: number): BencodedValue {
    this.#values += 1;
    if (depth > maxDepth || this.#values > maxValues) throw new FormatError('too much is nested');
    const first = this.#bytes[this.at];
    if (first === 0x69) return this.#integer();
    if (first === 0x6c) return this.#list(depth);
    if (first === 0x64) return this.#dictionary(depth);
    return this.#string();
  }

  #integer(): number {
    const text = this.#until(0x65, this.at + 1, 20);
    if (!/^(?:0|-?[1-9][0-9]{0,15})$/.test(text)) throw new FormatError('a bencoded integer is wrong');
    const value = Number(text);
    if (!Number.isSafeInteger(value)) throw new FormatError('an integer is not exact');
    return value;
  }

  #string(): Buffer {
    const text = this.#until(0x3a, this.at, 10);
    if (!/^(?:0|[1-9][0-9]{0,8})$/.test(text)) throw new FormatError('a bencoded string is wrong');
    const start = this.at;
    this.at += Number(text);
    if (this.at > this.#bytes.length) throw new FormatError('a bencoded string is cut off');
    return this.#bytes.subarray(start, this.at);
  }

  #list(depth: number): BencodedValue[] {
    const items: BencodedValue[] = [];
    for (this.at += 1; !this.#closed(); ) items.push(this.value(depth + 1));
    return items;
  }

  #dictionary(depth: number): BencodedDictionary {
    const start = this.at;
    const members = new Map<string, BencodedValue>();
    for (this.at += 1; !this.#closed(); ) {
      const key = this.#string().toString('latin1');
      if (members.has(key)) throw new FormatError('a dictionary has a key twice');
      members.set(key, this.value(depth + 1));
    }
    return { members, bytes: this.#bytes.subarray(start, this.at) };
  }

  #closed(): boolean {
    if (this.at >= this.#bytes.length) throw new FormatError('a bencoded value is cut off');
    if (this.#bytes[this.at] !== 0x65) return false;
    this.at += 1;
    return true;
  }

  /** The text up to a byte, which is passed over. */
  #until(end: number, start: number, limit: number): string {
    const at = this.#bytes.subarray(start, start + limit + 1).indexOf(end);
    if (at === -1) throw new FormatError('a bencoded value is cut off');
    this.at = start + at + 1;
    return this.#bytes.toString('latin1', start, start + at);
  }
}
