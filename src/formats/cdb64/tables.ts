/**
 * The hash tables that follow from a file's records. They are made in groups of neighbouring tables that fit a
 * memory budget, with one pass over the records per group: memory does not grow with the number of records.
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

/** Hands over the hash (low and high half) and the position of every record whose table is from `first` to `last`. */
export type EachHash = (
  first: number,
  last: number,
  visit: (low: number, high: number, position: number) => void,
) => Promise<void> | void;

/** Hashes as the records on file give them. */
export function hashesOnFile(file: ReadableFile, recordsEnd: number): EachHash {
  const hash = new Uint32Array(2);
  return (first, last, visit) =>
    walkRecords(file, recordsEnd, (bytes, at, keyBytes, _valueBytes, position) => {
      hashKey(hash, bytes, at, at + keyBytes);
      const table = hash[0]! & 0xff;
      if (table >= first && table <= last) visit(hash[0]!, hash[1]!, position);
    });
}

/**
 * Hands over the bytes of all tables in order, group by group. Keys that were chosen to collide make the work grow
 * with the square of their number: beyond `maxProbes` it is refused.
 */
export async function makeTables(
  counts: readonly number[],
  each: EachHash,
  use: (bytes: Buffer) => Promise<void>,
  maxProbes = Number.POSITIVE_INFINITY,
): Promise<void> {
  let probes = 0;
  for (let first = 0; first < tableCount; ) {
    let end = first;
    let bytes = 0;
    const starts: number[] = [];
    while (end < tableCount) {
      const size = slotsOf(counts[end] ?? 0) * slotBytes;
      if (end > first && bytes + size > groupBudget) break;
      starts.push(bytes);
      bytes += size;
      end += 1;
    }
    if (bytes > 0) {
      const group = Buffer.alloc(bytes);
      const view = new DataView(group.buffer, group.byteOffset, group.length);
      await each(first, end - 1, (low, high, position) => {
        const table = low & 0xff;
        probes += put(view, starts[table - first]!, slotsOf(counts[table] ?? 0), low, high, position);
        if (probes > maxProbes) throw new FormatError('too many keys have the same hash');
      });
      await use(group);
    }
    first = end;
  }
}

/** Into the first free slot from where the hash points; answers how many slots it tried. A record's position is never 0. */
function put(
  view: DataView,
  start: number,
  slots: number,
  low: number,
  high: number,
  position: number,
): number {
  let slot = firstSlot(low, high, slots);
  let probes = 1;
  let place = start + slot * slotBytes;
  while (view.getUint32(place + 8, true) !== 0 || view.getUint32(place + 12, true) !== 0) {
    slot = slot + 1 === slots ? 0 : slot + 1;
    place = start + slot * slotBytes;
    probes += 1;
  }
  view.setUint32(place, low, true);
  view.setUint32(place + 4, high, true);
  view.setUint32(place + 8, position, true);
  view.setUint32(place + 12, position / 2 ** 32, true);
  return probes;
}

function slotsOf(records: number): number {
  const slots = records * 2;
  if (slots > maxSlots) throw new FormatError('a hash table has too many records: split the file');
  return slots;
}
