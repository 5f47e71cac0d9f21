/**
 * Proves that a file that came from elsewhere is sound before anything looks into it: its header and tables must
 * be, byte for byte, those that its records make. Then every record is reachable and every slot is true.
 */
import { FormatError } from '../format-error.ts';
import {
  getUint64,
  hashKey,
  headerBytes,
  maxValueBytes,
  type ReadableFile,
  readFully,
  tableCount,
} from './layout.ts';
import { encodeHeader, hashesOnFile, makeTables, walkRecords } from './tables.ts';

export interface CheckOptions {
  /** Every key has exactly so many bytes. */
  readonly keyBytes?: number;
  /** The first byte of every key. */
  readonly prefix?: number;
  readonly maxValueBytes?: number;
  /** Throws for a value that the kind of index does not allow. */
  readonly value?: (bytes: Buffer) => void;
}

/** At half load a key is found after one or two probes; a few thousand that collide are no reason to refuse a file. */
const probesPerRecord = 16;
const spareProbes = 50_000_000;

/** How many records there are; throws `FormatError` for anything wrong. */
export async function checkCdb64(
  file: ReadableFile,
  size: number,
  options: CheckOptions = {},
): Promise<number> {
  const header = Buffer.alloc(headerBytes);
  if ((await readFully(file, header, headerBytes, 0)) < headerBytes)
    throw new FormatError('the file has no header');
  const recordsEnd = getUint64(header, 0);
  if (recordsEnd < headerBytes || recordsEnd > size)
    throw new FormatError('the first table is outside the file');
  const counts = new Array<number>(tableCount).fill(0);
  const hash = new Uint32Array(2);
  const limit = options.maxValueBytes ?? maxValueBytes;
  let records = 0;
  await walkRecords(file, recordsEnd, (bytes, at, keyBytes, valueBytes) => {
    if (options.keyBytes !== undefined && keyBytes !== options.keyBytes)
      throw new FormatError('a key has another length');
    if (options.prefix !== undefined && bytes[at] !== options.prefix)
      throw new FormatError('a key belongs to another partition');
    if (valueBytes > limit) throw new FormatError('a value is too large');
    options.value?.(bytes.subarray(at + keyBytes, at + keyBytes + valueBytes));
    hashKey(hash, bytes, at, at + keyBytes);
    const table = hash[0]! & 0xff;
    counts[table] = counts[table]! + 1;
    records += 1;
  });
  const expected = encodeHeader(counts, recordsEnd);
  if (expected.size !== size) throw new FormatError('the file has another size than its records make');
  if (!expected.header.equals(header)) throw new FormatError('the header does not fit the records');
  let position = recordsEnd;
  const compare = async (tables: Buffer): Promise<void> => {
    const stored = Buffer.allocUnsafe(Math.min(tables.length, 1024 * 1024));
    for (let at = 0; at < tables.length; at += stored.length) {
      const length = Math.min(stored.length, tables.length - at);
      const got = await readFully(file, stored, length, position + at);
      if (got < length || tables.compare(stored, 0, length, at, at + length) !== 0)
        throw new FormatError('a hash table does not fit the records');
    }
    position += tables.length;
  };
  await makeTables(counts, hashesOnFile(file, recordsEnd), compare, spareProbes + probesPerRecord * records);
  return records;
}
