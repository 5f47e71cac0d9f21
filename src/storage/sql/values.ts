import type { SqlValue } from './sql.ts';

/** Throws unless there is a value for each placeholder, and each is stored as what it is. */
export function assertStorable(values: readonly SqlValue[], placeholders: number): void {
  if (values.length !== placeholders) {
    throw new TypeError(`a statement with ${placeholders} placeholders was given ${values.length} values`);
  }
  for (const value of values) {
    if (typeof value !== 'number' || Number.isSafeInteger(value)) continue;
    if (!Number.isFinite(value) || Number.isInteger(value)) {
      throw new RangeError(`${value} cannot be stored exactly`);
    }
  }
}
