/** Conditions on the documents that the provider keeps, for lists and searches. Paths and values are bound, never pasted. */

export interface Condition {
  readonly sql: string;
  readonly values: readonly (string | number)[];
}

export const notDeleted: Condition = { sql: "json_extract(body, '$.deleted') IS NULL", values: [] };

const operators = { '=': '=', '>': '>', '>=': '>=', '<': '<', '<=': '<=' } as const;
export type Comparison = keyof typeof operators;

/** `$.status`, `$.payment_method_details.card.last4`; a metadata key is quoted, see `metadataPath`. */
export const memberPath = (field: string): string => `$.${field}`;

/** undefined where no path can name the key. */
export function metadataPath(key: string): string | undefined {
  return /["\\]/.test(key) ? undefined : `$.metadata."${key}"`;
}

export function compare(path: string, comparison: Comparison, value: string | number | boolean): Condition {
  // A truth of JSON is 1 or 0 here.
  const bound = typeof value === 'boolean' ? Number(value) : value;
  return { sql: `json_extract(body, ?) ${operators[comparison]} ?`, values: [path, bound] };
}

/** Without regard to case, as the search language has it. */
export function contains(path: string, part: string): Condition {
  return { sql: 'instr(lower(json_extract(body, ?)), lower(?)) > 0', values: [path, part] };
}

export function isAbsent(path: string): Condition {
  return { sql: 'json_extract(body, ?) IS NULL', values: [path] };
}

/** What is absent does not fulfil a condition, so it fulfils its opposite. */
export function not({ sql, values }: Condition): Condition {
  return { sql: `NOT coalesce((${sql}), 0)`, values };
}

export function oneOf(path: string, values: readonly string[]): Condition {
  return {
    sql: `json_extract(body, ?) IN (${values.map(() => '?').join(', ')})`,
    values: [path, ...values],
  };
}

export const all = (conditions: readonly Condition[]): Condition => joined(conditions, ' AND ', '1 = 1');
export const any = (conditions: readonly Condition[]): Condition => joined(conditions, ' OR ', '1 = 0');

function joined(conditions: readonly Condition[], by: string, none: string): Condition {
  if (conditions.length === 0) return { sql: none, values: [] };
  return {
    sql: conditions.map(({ sql }) => `(${sql})`).join(by),
    values: conditions.flatMap(({ values }) => values),
  };
}
