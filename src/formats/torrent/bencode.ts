/** Bencoding (BEP 3): byte strings, integers, lists, and dictionaries sorted by their raw keys. */
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
