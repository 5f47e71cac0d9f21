import type { SqlValue } from './sql.ts';

/** Throws for a number that a database would store as another one. */
export function assertExact(value: SqlValue): void {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return;
  if (!Number.isFinite(value) || Number.isInteger(value)) {
    throw new RangeError(`${value} cannot be stored exactly`);
  }
}
