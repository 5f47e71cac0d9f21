/** Columns and their values, written as they are listed: one list makes the statement and its values. */
import type { SqlValue } from './sql.ts';

export type Columns = Readonly<Record<string, SqlValue>>;

/** `(a, b) VALUES (?, ?)` */
export function insertion(columns: Columns): string {
  const names = Object.keys(columns);
  return `(${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`;
}

/** `a = ?, b = ?` */
export const assignments = (columns: Columns): string =>
  Object.keys(columns)
    .map((name) => `${name} = ?`)
    .join(', ');

/** Without those that are undefined: they keep the value they have. */
export const given = (columns: Readonly<Record<string, SqlValue | undefined>>): Columns =>
  Object.fromEntries(
    Object.entries(columns).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );

/** `ant_id AS "antId", name`: columns under their names in camel case. */
export const selection = (names: readonly string[]): string =>
  names
    .map((name) => `${name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)} AS "${name}"`)
    .join(', ');
