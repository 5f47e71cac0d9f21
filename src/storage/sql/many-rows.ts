/**
 * Many rows in one statement. SQLite gets a value for each cell, in batches of a few fixed sizes, so that it sees the same
 * statement texts again and again and keeps them prepared. PostgreSQL, for which each value is work of its own, gets an array
 * for each column where the types of the columns are told.
 */
import { type ArrayType, packArray } from './postgres/arrays.ts';
import type { SqlExecutor, SqlValue } from './sql.ts';

const batchSizes = [256, 64, 16, 4, 1];
/** Under SQLite's 32,766 and PostgreSQL's 65,535 bound values of one statement. */
const maxValues = 16_000;
/** Cells of one array. */
const largestArray = 4_096;

/** Splits a list into runs of the fixed sizes. */
export function* batches<T>(items: readonly T[], width = 1): Generator<readonly T[]> {
  let at = 0;
  for (const size of batchSizes) {
    if (size * width > maxValues) continue;
    while (items.length - at >= size) {
      yield at === 0 && size === items.length ? items : items.slice(at, at + size);
      at += size;
    }
  }
}

const texts = new Map<string, string>();

function once(key: string, make: () => string): string {
  let text = texts.get(key);
  if (text === undefined) {
    text = make();
    texts.set(key, text);
  }
  return text;
}

/** Columns by name, in the order of the cells. */
export type TypedColumns = Readonly<Record<string, ArrayType>>;

/** `INSERT INTO table (columns) VALUES (…), (…) suffix`, answering the rows of a RETURNING suffix. */
export async function insertRows<T>(
  sql: SqlExecutor,
  table: string,
  columns: readonly string[] | TypedColumns,
  rows: readonly (readonly SqlValue[])[],
  suffix = '',
): Promise<T[]> {
  if (isNames(columns)) return insertValues(sql, table, columns, rows, suffix);
  if (sql.engine !== 'postgres') return insertValues(sql, table, Object.keys(columns), rows, suffix);
  const answered: T[] = [];
  const names = Object.keys(columns).join(', ');
  for (let at = 0; at < rows.length; at += largestArray) {
    const batch = rows.slice(at, at + largestArray);
    const statement = once(`unnest ${table} ${names} ${suffix}`, () => {
      const arrays = Object.values(columns).map((type) => `CAST(? AS ${type}[])`);
      return `INSERT INTO ${table} (${names}) SELECT * FROM unnest(${arrays.join(', ')}) ${suffix}`;
    });
    const arrays = Object.values(columns).map((type, cell) =>
      packArray(
        type,
        batch.map((row) => row[cell] ?? null),
      ),
    );
    for (const row of await sql.all<T>(statement, ...arrays)) answered.push(row);
  }
  return answered;
}

const isNames = (columns: readonly string[] | TypedColumns): columns is readonly string[] =>
  Array.isArray(columns);

async function insertValues<T>(
  sql: SqlExecutor,
  table: string,
  columns: readonly string[],
  rows: readonly (readonly SqlValue[])[],
  suffix: string,
): Promise<T[]> {
  const answered: T[] = [];
  const returning = suffix.includes('RETURNING');
  const names = columns.join(', ');
  for (const batch of batches(rows, columns.length)) {
    const statement = once(`insert ${table} ${names} ${batch.length} ${suffix}`, () => {
      const row = `(${columns.map(() => '?').join(', ')})`;
      return `INSERT INTO ${table} (${names}) VALUES ${batch.map(() => row).join(', ')} ${suffix}`;
    });
    const values = batch.flat();
    if (returning) {
      for (const row of await sql.all<T>(statement, ...values)) answered.push(row);
    } else {
      await sql.run(statement, ...values);
    }
  }
  return answered;
}

const selectSizes = [1, 4, 16, 64, 128, 256];
const largestSelect = 256;

/**
 * Runs `select` with the keys in place of `{in}`: as one array, or as placeholders, of which there is a fixed number, filled
 * up with the last key.
 */
export async function selectIn<T>(
  sql: SqlExecutor,
  select: string,
  keys: readonly SqlValue[],
  ...before: SqlValue[]
): Promise<T[]> {
  if (keys.length === 0) return [];
  const type = sql.engine === 'postgres' ? arrayTypeOf(keys[0]) : undefined;
  if (type !== undefined && keys.length <= largestArray) {
    const statement = once(`any ${type} ${select}`, () =>
      select.replace('IN ({in})', `= ANY(CAST(? AS ${type}[]))`),
    );
    return sql.all<T>(statement, ...before, packArray(type, keys));
  }
  const found: T[] = [];
  for (let at = 0; at < keys.length; at += largestSelect) {
    const part = keys.slice(at, at + largestSelect);
    const size = selectSizes.find((one) => one >= part.length) ?? largestSelect;
    const last = part.at(-1) ?? null;
    while (part.length < size) part.push(last);
    const statement = once(`in ${size} ${select}`, () =>
      select.replace('{in}', part.map(() => '?').join(', ')),
    );
    const rows = await sql.all<T>(statement, ...before, ...part);
    if (keys.length <= largestSelect) return rows;
    for (const row of rows) found.push(row);
  }
  return found;
}

const arrayTypeOf = (key: SqlValue | undefined): ArrayType | undefined => {
  if (typeof key === 'number') return 'BIGINT';
  return key instanceof Uint8Array ? 'BYTEA' : undefined;
};

/** Deletes the rows of a table whose integer key columns are listed. */
export async function deleteRows(
  sql: SqlExecutor,
  table: string,
  columns: readonly string[],
  keys: readonly (readonly number[])[],
): Promise<void> {
  const names = columns.join(', ');
  for (const batch of batches(keys, columns.length)) {
    const statement = once(`delete ${table} ${names} ${batch.length}`, () => {
      const row = `(${columns.map(() => 'CAST(? AS BIGINT)').join(', ')})`;
      return `DELETE FROM ${table} WHERE (${names}) IN (VALUES ${batch.map(() => row).join(', ')})`;
    });
    await sql.run(statement, ...batch.flat());
  }
}
