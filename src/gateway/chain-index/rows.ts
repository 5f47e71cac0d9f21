/**
 * Many rows in one statement. Batches come in a few fixed sizes, so that the engines see the same statement
 * texts again and again and keep them prepared.
 */
import type { SqlExecutor, SqlValue } from '../../storage/sql/sql.ts';

const batchSizes = [256, 64, 16, 4, 1];
/** Under SQLite's 32,766 and PostgreSQL's 65,535 bound values of one statement. */
const maxValues = 16_000;

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

/** `INSERT INTO table (columns) VALUES (…), (…) suffix`, answering the rows of a RETURNING suffix. */
export async function insertRows<T>(
  sql: SqlExecutor,
  table: string,
  columns: readonly string[],
  rows: readonly (readonly SqlValue[])[],
  suffix = '',
): Promise<T[]> {
  const answered: T[] = [];
  const returning = suffix.includes('RETURNING');
  for (const batch of batches(rows, columns.length)) {
    const statement = once(`insert ${table} ${columns.length} ${batch.length} ${suffix}`, () => {
      const row = `(${columns.map(() => '?').join(', ')})`;
      return `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${batch.map(() => row).join(', ')} ${suffix}`;
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

/** Runs `select` with `{in}` replaced by placeholders; the list is filled up to a fixed size with its last key. */
export async function selectIn<T>(
  sql: SqlExecutor,
  select: string,
  keys: readonly SqlValue[],
  ...before: SqlValue[]
): Promise<T[]> {
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

/** Deletes the rows of a table whose integer key columns are listed. */
export async function deleteRows(
  sql: SqlExecutor,
  table: string,
  columns: readonly string[],
  keys: readonly (readonly number[])[],
): Promise<void> {
  for (const batch of batches(keys, columns.length)) {
    const statement = once(`delete ${table} ${batch.length}`, () => {
      const row = `(${columns.map(() => 'CAST(? AS BIGINT)').join(', ')})`;
      return `DELETE FROM ${table} WHERE (${columns.join(', ')}) IN (VALUES ${batch.map(() => row).join(', ')})`;
    });
    await sql.run(statement, ...batch.flat());
  }
}
