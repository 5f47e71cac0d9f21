/**
 * Rows and stored JSON, read through their schema: what a database holds is trusted no further than its shape, because
 * another version, a repair by hand or another program may have written it. Each schema is compiled at its first use.
 */
import { type StaticEncode, type TSchema, Type } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import { tryParseJson } from '../../formats/json.ts';

/** An amount as it is stored: a decimal integer of any length. */
export const amountText = Type.String({ pattern: '^-?[0-9]+$' });
export const textOrNull = Type.Union([Type.String(), Type.Null()]);
export const integerOrNull = Type.Union([Type.Integer(), Type.Null()]);
export const bytesOrNull = Type.Union([Type.Refine(Type.Unsafe<Buffer>({}), Buffer.isBuffer), Type.Null()]);
/** A truth value, as both engines answer it. */
export const flag = Type.Union([Type.Literal(0), Type.Literal(1)]);

/** One column, checked by hand: for rows of a single column, and for reads that must be fast. */
export function readAmount(value: unknown): bigint {
  if (typeof value === 'string' && /^-?[0-9]+$/.test(value)) return BigInt(value);
  throw new Error('a stored amount is no decimal integer');
}
export function readText(value: unknown): string {
  if (typeof value === 'string') return value;
  throw new Error('a stored text is none');
}
export function readInteger(value: unknown): number {
  if (Number.isSafeInteger(value)) return Number(value);
  throw new Error('a stored integer is none');
}

/** Reads one row; throws where it has another shape. `what` names it in that error. */
export function rowReader<Schema extends TSchema>(
  what: string,
  schema: Schema,
): (row: unknown) => StaticEncode<Schema> {
  const read = checked(schema);
  return (row) => read(row, what);
}

/** The same for JSON that is kept as text; the id of its row is for the error. */
export function jsonReader<Schema extends TSchema>(
  what: string,
  schema: Schema,
): (text: string, id?: string) => StaticEncode<Schema> {
  const read = checked(schema);
  return (text, id) => {
    const name = id === undefined ? what : `${what} ${id}`;
    const parsed = tryParseJson(text);
    if (parsed === undefined) throw new Error(`${name} is not JSON`);
    return read(parsed, name);
  };
}

function checked<Schema extends TSchema>(
  schema: Schema,
): (value: unknown, what: string) => StaticEncode<Schema> {
  let compiled: Validator<Record<never, never>, Schema> | undefined;
  return (value, what) => {
    compiled ??= Compile(schema);
    if (compiled.Check(value)) return value;
    const [first] = compiled.Errors(value);
    throw new Error(`${what} has another shape than was stored: ${first?.instancePath} ${first?.message}`);
  };
}
