/** The `?` of a statement, outside of quotes and comments, and the values that take their places. */
import type { SqlValue } from './sql.ts';

/** Quoted text and comments, kept as they are, or one placeholder. */
const tokens = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|\?/g;

export function countPlaceholders(statement: string): number {
  let count = 0;
  for (const [token] of statement.matchAll(tokens)) if (token === '?') count += 1;
  return count;
}

/** With `$1`, `$2`, … as PostgreSQL wants them. */
export function numbered(statement: string): string {
  let count = 0;
  return statement.replace(tokens, (token) => {
    if (token !== '?') return token;
    count += 1;
    return `$${count}`;
  });
}

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
