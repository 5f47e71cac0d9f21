/** Rows under the names that the program uses: the column `created_at` is the field `createdAt`, null is undefined. */
import { type StaticEncode, type TSchema, Type } from 'typebox';
import type { Columns } from './columns.ts';
import type { Row, SqlValue } from './sql.ts';
import { amountText, rowReader } from './typed-rows.ts';

export const optionalText = Type.Union([Type.String(), Type.Undefined()]);
export const optionalInteger = Type.Union([Type.Integer(), Type.Undefined()]);
export const optionalAmount = Type.Union([amountText, Type.Undefined()]);

const fieldOf = (column: string) => column.replace(/_[a-z]/g, (found) => found.slice(1).toUpperCase());
const columnOf = (field: string) => field.replace(/[A-Z]/g, (found) => `_${found.toLowerCase()}`);

/** Like `rowReader`, for a schema of fields. */
export function fieldsReader<Schema extends TSchema>(
  what: string,
  schema: Schema,
): (row: Row) => StaticEncode<Schema> {
  const read = rowReader(what, schema);
  return (row) =>
    read(Object.fromEntries(Object.entries(row).map(([name, value]) => [fieldOf(name), value ?? undefined])));
}

/** `created_at, changed_at`: the columns of these fields. */
export const columnList = (fields: object): string => Object.keys(fields).map(columnOf).join(', ');

/** Fields as they are stored: nothing is null, an amount its decimal text, a truth value 0 or 1. */
export function columnsOf(fields: Readonly<Record<string, SqlValue | boolean | undefined>>): Columns {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [columnOf(name), stored(value)]));
}

function stored(value: SqlValue | boolean | undefined): SqlValue {
  if (typeof value === 'boolean') return value ? 1 : 0;
  return typeof value === 'bigint' ? value.toString() : (value ?? null);
}
