/** How PostgreSQL's values arrive: exactly as SQLite's do (see `sql.ts`). */
import { types } from 'pg';

/** Object ids of built-in types, from PostgreSQL's catalogue pg_type. */
const oid = { bool: 16, int8: 20 };

/** Text-format parsers for one pool; numeric has none and stays text, bytea arrives as Buffer. */
export function typeParsers(): { getTypeParser: typeof types.getTypeParser } {
  const parsers = new Map<number, (text: string) => unknown>([
    [oid.bool, (text) => (text === 't' ? 1 : 0)],
    [oid.int8, safeInteger],
  ]);
  return {
    getTypeParser: (id: number, format?: 'text' | 'binary') =>
      parsers.get(id) ?? types.getTypeParser(id, format as 'text'),
  };
}

function safeInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} is beyond the safe integers`);
  return value;
}
