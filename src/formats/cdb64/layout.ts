/**
 * The layout of a CDB64 file: a constant database with 64-bit positions.
 *
 *   header 4096: 256 × (table position 8 ‖ slot count 8)
 *   records: key length 8 ‖ value length 8 ‖ key ‖ value
 *   256 hash tables: slots of hash 8 ‖ record position 8, position 0 = empty
 *
 * Integers are unsigned and little-endian. A table has twice as many slots as records. All of it follows from
 * the records and their order, so that one content has one file.
 */
export const headerBytes = 4096;
export const tableCount = 256;
export const slotBytes = 16;
export const recordHeadBytes = 16;

/** Keys and values beyond these are refused by writer and reader alike. */
export const maxKeyBytes = 1024;
export const maxValueBytes = 64 * 1024;

/** The parts of an open file that are needed here; `FileHandle` of node:fs/promises is one. */
export interface ReadableFile {
  read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesRead: number }>;
}

export interface WritableFile extends ReadableFile {
  write(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesWritten: number }>;
}

export function putUint64(bytes: Buffer, at: number, value: number): void {
  bytes.writeUInt32LE(value % 2 ** 32, at);
  bytes.writeUInt32LE(Math.floor(value / 2 ** 32), at + 4);
}

/** Beyond 2^53 the value is no longer exact, and in any case beyond every size that is accepted. */
export function getUint64(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * 2 ** 32;
}

/**
 * h = 5381, then h = h · 33 XOR byte, modulo 2^64. Written to `out` as low and high half. The value is carried in
 * limbs of 22, 22 and 20 bits, whose products stay small integers: no allocation, no floating point on the way.
 */
export function hashKey(out: Uint32Array, bytes: Uint8Array, start: number, end: number): void {
  let low = 5381;
  let middle = 0;
  let high = 0;
  for (let at = start; at < end; at += 1) {
    low = Math.imul(low, 33);
    middle = Math.imul(middle, 33) + (low >> 22);
    high = (Math.imul(high, 33) + (middle >> 22)) & 0xfffff;
    middle &= 0x3fffff;
    low = (low & 0x3fffff) ^ bytes[at]!;
  }
  out[0] = low | (middle << 22);
  out[1] = (middle >> 10) | (high << 12);
}

/** Where probing starts in a table of so many slots: floor(h / 256) mod slots. Exact below 2^29 slots. */
export function firstSlot(low: number, high: number, slots: number): number {
  return ((high % slots) * 2 ** 24 + (low >>> 8)) % slots;
}

export async function readFully(
  file: ReadableFile,
  buffer: Buffer,
  length: number,
  position: number,
): Promise<number> {
  let done = 0;
  while (done < length) {
    const { bytesRead } = await file.read(buffer, done, length - done, position + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return done;
}

export async function writeFully(
  file: WritableFile,
  buffer: Buffer,
  length: number,
  position: number,
): Promise<void> {
  for (let done = 0; done < length; ) {
    const { bytesWritten } = await file.write(buffer, done, length - done, position + done);
    done += bytesWritten;
  }
}
