/**
 * Arrays in PostgreSQL's binary form: one parameter with a column of many rows in place of a parameter for each cell.
 * The driver sends a Buffer as it is.
 */
import type { SqlValue } from '../sql.ts';

/** Object ids of the types, from PostgreSQL's catalogue pg_type. */
const elementTypes = { BIGINT: 20, BYTEA: 17, TEXT: 25 } as const;

export type ArrayType = keyof typeof elementTypes;

const headerBytes = 20;

/** Layout: dimensions, whether there are nulls, type, length, first index; then each element behind its length, -1 for a null. */
export function packArray(type: ArrayType, values: readonly SqlValue[]): Buffer {
  const elements = values.map((value) => elementOf(type, value));
  let size = headerBytes + 4 * elements.length;
  for (const element of elements) size += typeof element === 'number' ? 8 : (element?.length ?? 0);
  const packed = Buffer.allocUnsafe(size);
  packed.writeInt32BE(elements.length === 0 ? 0 : 1, 0);
  packed.writeInt32BE(elements.includes(null) ? 1 : 0, 4);
  packed.writeInt32BE(elementTypes[type], 8);
  packed.writeInt32BE(elements.length, 12);
  packed.writeInt32BE(1, 16);
  let at = headerBytes;
  for (const element of elements) {
    if (element === null) {
      packed.writeInt32BE(-1, at);
      at += 4;
    } else if (typeof element === 'number') {
      packed.writeInt32BE(8, at);
      packed.writeInt32BE(Math.floor(element / 2 ** 32), at + 4);
      packed.writeUInt32BE(element >>> 0, at + 8);
      at += 12;
    } else {
      packed.writeInt32BE(element.length, at);
      packed.set(element, at + 4);
      at += 4 + element.length;
    }
  }
  return packed;
}

/** Throws for a value that is not of the type. */
function elementOf(type: ArrayType, value: SqlValue): number | Uint8Array | null {
  if (value === null) return null;
  if (type === 'TEXT' && typeof value === 'string') return Buffer.from(value);
  if (type === 'BYTEA' && value instanceof Uint8Array) return value;
  if (type === 'BIGINT' && typeof value === 'number' && Number.isSafeInteger(value)) return value;
  throw new RangeError(`${String(value)} cannot be stored in an array of ${type}`);
}
