/** Look-up in a CDB64 file through whatever holds its bytes: one read among the slots, one of the record. */
import { FormatError } from '../format-error.ts';
import {
  firstSlot,
  getUint64,
  hashKey,
  headerBytes,
  maxValueBytes,
  recordHeadBytes,
  slotBytes,
} from './layout.ts';

/** Up to `length` bytes from `position`; fewer only at the end of the file. At once where they are in memory. */
export type ReadBytes = (position: number, length: number) => Buffer | Promise<Buffer>;

/** Slots read at a time: at half load a probe almost never goes further. */
const slotsAtOnce = 16;
/** Read with the record's head, so that a usual record is one read. */
const valueGuess = 128;

/** The value of the first record with that key, or undefined. `header` is the file's first 4096 bytes. */
export async function findInCdb64(
  read: ReadBytes,
  header: Buffer,
  key: Uint8Array,
): Promise<Buffer | undefined> {
  const hash = new Uint32Array(2);
  hashKey(hash, key, 0, key.length);
  const low = hash[0]!;
  const high = hash[1]!;
  const table = low & 0xff;
  const tableStart = getUint64(header, table * 16);
  const slots = getUint64(header, table * 16 + 8);
  if (slots === 0) return undefined;
  let slot = firstSlot(low, high, slots);
  for (let probed = 0; probed < slots; ) {
    const count = Math.min(slotsAtOnce, slots - slot, slots - probed);
    const got = read(tableStart + slot * slotBytes, count * slotBytes);
    const bytes = got instanceof Promise ? await got : got;
    if (bytes.length < count * slotBytes) throw new FormatError('a hash table is cut off');
    for (let at = 0; at < count * slotBytes; at += slotBytes) {
      const position = getUint64(bytes, at + 8);
      if (position === 0) return undefined;
      if (bytes.readUInt32LE(at) !== low || bytes.readUInt32LE(at + 4) !== high) continue;
      const value = await valueAt(read, position, key);
      if (value !== undefined) return value;
    }
    probed += count;
    slot = (slot + count) % slots;
  }
  return undefined;
}

async function valueAt(read: ReadBytes, position: number, key: Uint8Array): Promise<Buffer | undefined> {
  if (position < headerBytes) throw new FormatError('a slot points into the header');
  const guess = recordHeadBytes + key.length + valueGuess;
  const got = read(position, guess);
  let bytes = got instanceof Promise ? await got : got;
  if (bytes.length < recordHeadBytes) throw new FormatError('a record is cut off');
  if (getUint64(bytes, 0) !== key.length) return undefined;
  const valueBytes = getUint64(bytes, 8);
  if (valueBytes > maxValueBytes) throw new FormatError('a value is too large');
  const start = recordHeadBytes + key.length;
  if (bytes.subarray(recordHeadBytes, start).compare(key) !== 0) return undefined;
  if (start + valueBytes > bytes.length) {
    bytes = await read(position, start + valueBytes);
    if (bytes.length < start + valueBytes) throw new FormatError('a record is cut off');
  }
  return bytes.subarray(start, start + valueBytes);
}
