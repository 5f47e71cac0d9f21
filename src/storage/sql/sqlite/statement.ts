/** One prepared SQLite statement: values bound and rows built the same way on every connection. */
import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';
import { assertStorable, countPlaceholders } from '../placeholders.ts';
import type { SqlValue } from '../sql.ts';

export class SqliteStatement {
  readonly #statement: StatementSync;
  readonly #names: readonly string[];
  readonly #placeholders: number;

  constructor(database: DatabaseSync, text: string) {
    this.#statement = database.prepare(withBoundLimits(text));
    this.#statement.setReturnArrays(true);
    this.#placeholders = countPlaceholders(text);
    this.#names = this.#statement.columns().map((column) => column.name);
  }

  all<T>(values: readonly SqlValue[]): T[] {
    const rows: unknown[] = this.#statement.all(...this.#bind(values));
    for (let index = 0; index < rows.length; index += 1) rows[index] = this.#row(rows[index]);
    return rows as T[];
  }

  get<T>(values: readonly SqlValue[]): T | undefined {
    const cells: unknown = this.#statement.get(...this.#bind(values));
    return cells === undefined ? undefined : (this.#row(cells) as T);
  }

  run(values: readonly SqlValue[]): number {
    return Number(this.#statement.run(...this.#bind(values)).changes);
  }

  *iterate<T>(values: readonly SqlValue[]): Generator<T> {
    for (const cells of this.#statement.iterate(...this.#bind(values))) yield this.#row(cells) as T;
  }

  #bind(values: readonly SqlValue[]): SQLInputValue[] {
    assertStorable(values, this.#placeholders);
    return values.map(bindable);
  }

  /** Rows are built from arrays: ordinary objects of one shape, unlike the engine's prototype-less ones. */
  #row(cells: unknown): unknown {
    const row: Record<string, unknown> = {};
    const names = this.#names;
    const values = cells as SQLOutputValue[];
    for (let index = 0; index < names.length; index += 1) {
      const value = values[index];
      row[names[index]!] =
        value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value;
    }
    return row;
  }
}

/**
 * The engine binds every number as a double, which a text column would keep as `5.0`; integers therefore go
 * in as 64-bit integers. A bigint is an amount: it goes in as decimal text, of any length.
 */
function bindable(value: SqlValue): SQLInputValue {
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : value;
  return typeof value === 'bigint' ? value.toString() : value;
}

/**
 * The engine reads the value of a plain `LIMIT ?` for its plan, and so it plans such a statement anew each time that it is
 * given one, which takes ten times as long as most of them. It does not look into an expression.
 */
function withBoundLimits(text: string): string {
  return text.replace(/\bLIMIT \?/g, 'LIMIT CAST(? AS INTEGER)');
}

/** True when a statement surely changes nothing, so that any connection may run it. */
export function isQuery(text: string): boolean {
  if (/^\s*SELECT\b/i.test(text)) return true;
  return /^\s*WITH\b/i.test(text) && !/\b(?:INSERT|UPDATE|DELETE|REPLACE)\b/i.test(text);
}
