/**
 * The hash tables that follow from a file's records. They are made in groups of neighbouring tables that fit a
 * memory budget, with one walk over the records per group: memory does not grow with the number of records.
 */
import { FormatError } from '../format-error.ts';
import {
  firstSlot,
  getUint64,
  hashKey,
  headerBytes,
  maxKeyBytes,
  maxValueBytes,
  putUint64,
  type ReadableFile,
  readFully,
  recordHeadBytes,
  slotBytes,
  tableCount,
} from './layout.ts';

const pieceBytes = 1024 * 1024;
const groupBudget = 64 * 1024 * 1024;
const maxSlots = 2 ** 28;

/** Called with the bytes that hold the record whole; `at` is where its key starts in them. */
export type VisitRecord = (
  bytes: Buffer,
  at: number,
  keyBytes: number,
  valueBytes: number,
  position: number,
) => void;

/** Visits every record from the first to `end`; throws `FormatError` where they do not end exactly there. */
export async function walkRecords(file: ReadableFile, end: number, visit: VisitRecord): Promise<void> {
  const buffer = Buffer.allocUnsafe(pieceBytes);
  let position = headerBytes;
  while (position < end) {
    const wanted = Math.min(pieceBytes, end - position);
    const got = await readFully(file, buffer, wanted, position);
    if (got < wanted) throw new FormatError('the file ends inside its records');
    let at = 0;
    while (at + recordHeadBytes <= got) {
      const keyBytes = getUint64(buffer, at);
      const valueBytes = getUint64(buffer, at + 8);
      if (keyBytes > maxKeyBytes || valueBytes > maxValueBytes)
        throw new FormatError('a record is too large');
      const size = recordHeadBytes + keyBytes + valueBytes;
      if (at + size > got) break;
      visit(buffer, at + recordHeadBytes, keyBytes, valueBytes, position + at);
      at += size;
    }
    if (at === 0) throw new FormatError('a record reaches into the tables');
    position += at;
  }
}

/** The header of a file with so many records per table, whose tables start at `tablesStart`. */
export function encodeHeader(
  counts: readonly number[],
  tablesStart: number,
): { header: Buffer; size: number } {
  const header = Buffer.alloc(headerBytes);
  let position = tablesStart;
  for (let table = 0; table < tableCount; table += 1) {
    const slots = slotsOf(counts[table] ?? 0);
    putUint64(header, table * 16, position);
    putUint64(header, table * 16 + 8, slots);
    position += slots * slotBytes;
  }
  if (!Number.isSafeInteger(position)) throw new FormatError('the file is too large');
  return { header, size: position };
}

/** Hands over the bytes of all tables in order, group by group. */
export async function makeTables(
  file: ReadableFile,
  counts: readonly number[],
  recordsEnd: number,
  use: (bytes: Buffer) => Promise<void>,
): Promise<void> {
  for (let first = 0; first < tableCount; ) {
    let last = first;
    let bytes = 0;
    const starts: number[] = [];
    while (last < tableCount) {
      const size = slotsOf(counts[last] ?? 0) * slotBytes;
      if (last > first && bytes + size > groupBudget) break;
      starts.push(bytes);
      bytes += size;
      last += 1;
    }
    if (bytes > 0) await use(await fillGroup(file, counts, recordsEnd, first, starts, bytes));
    first = last;
  }
}

async function fillGroup(
  file: ReadableFile,
  counts: readonly number[],
  recordsEnd: number,
  first: number,
  starts: readonly number[],
  size: number,
): Promise<Buffer> {
  const group = Buffer.alloc(size);
  const hash = new Uint32Array(2);
  await walkRecords(file, recordsEnd, (bytes, at, keyBytes, _valueBytes, position) => {
    hashKey(hash, bytes, at, at + keyBytes);
    const low = hash[0]!;
    const high = hash[1]!;
    const start = starts[(low & 0xff) - first];
    if (start === undefined) return;
    const slots = slotsOf(counts[low & 0xff] ?? 0);
    let slot = firstSlot(low, high, slots);
    while (getUint64(group, start + slot * slotBytes + 8) !== 0) slot = (slot + 1) % slots;
    const place = start + slot * slotBytes;
    group.writeUInt32LE(low, place);
    group.writeUInt32LE(high, place + 4);
    putUint64(group, place + 8, position);
  });
  return group;
}

function slotsOf(records: number): number {
  const slots = records * 2;
  if (slots > maxSlots) throw new FormatError('a hash table has too many records: split the file');
  return slots;
}
