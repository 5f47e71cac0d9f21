/**
 * The filter language of unbundling, indexing and webhooks: one JSON object with exactly one key. Parsing is
 * strict and happens at start-up, so that a misspelt filter is an error with its place in the document and
 * not an index that stays empty. The canonical text (RFC 8785: keys sorted, no blanks) is the identity under
 * which a filter is stored.
 */

export interface TagCondition {
  readonly name: string;
  readonly value?: string;
  readonly valueStartsWith?: string;
}

export interface HashPartition {
  readonly partitionCount: number;
  readonly partitionKey: string;
  readonly targetPartitions: readonly number[];
}

export type Filter =
  | { readonly always: true }
  | { readonly never: true }
  | { readonly tags: readonly TagCondition[] }
  | { readonly attributes: Readonly<Record<string, string | number>> }
  | { readonly isNestedBundle: true }
  | { readonly hashPartition: HashPartition }
  | { readonly and: readonly Filter[] }
  | { readonly or: readonly Filter[] }
  | { readonly not: Filter };

/** Which bundles are read, and which of their items are indexed. */
export interface Filters {
  readonly unbundle: Filter;
  readonly index: Filter;
}

export class FilterError extends Error {
  override readonly name = 'FilterError';
}

/** Attributes of transactions and data items that a filter may name. */
export const recordAttributes: readonly string[] =
  `id format anchor last_tx owner owner_address target quantity
  reward signature signature_type data_size data_root content_type content_encoding parent_id root_tx_id
  root_transaction_id`.split(/\s+/);

const maxDepth = 32;

/** Reads a filter from parsed JSON; throws `FilterError` naming the place that is wrong. */
export function parseFilter(json: unknown, attributes: readonly string[] = recordAttributes): Filter {
  return filterAt(json, '$', 0, attributes);
}

/** Reads a filter from the text of a variable; nothing at all means never. */
export function parseFilterText(text: string | undefined, attributes?: readonly string[]): Filter {
  if (text === undefined || text.trim() === '') return { never: true };
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new FilterError('is not JSON');
  }
  return parseFilter(json, attributes);
}

/** RFC 8785 for the values that a filter can hold. */
export function canonicalFilter(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalFilter).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonicalFilter(member)}`).join(',')}}`;
  }
  return JSON.stringify(value);
}

function filterAt(json: unknown, path: string, depth: number, attributes: readonly string[]): Filter {
  if (depth > maxDepth) throw new FilterError(`${path} is nested deeper than ${maxDepth}`);
  const members = objectAt(json, path);
  const [member, ...others] = members;
  if (member === undefined) throw new FilterError(`${path} must have one key`);
  if (others.length > 0) {
    const keys = members.map(([key]) => key).join(', ');
    throw new FilterError(`${path} must have one key, not ${members.length} (${keys}): join them with "and"`);
  }
  const [key, value] = member;
  const inside = `${path}.${key}`;
  switch (key) {
    case 'always':
      return { always: trueAt(value, inside) };
    case 'never':
      return { never: trueAt(value, inside) };
    case 'isNestedBundle':
      return { isNestedBundle: trueAt(value, inside) };
    case 'tags':
      return { tags: arrayAt(value, inside).map((tag, index) => tagAt(tag, `${inside}[${index}]`)) };
    case 'attributes':
      return { attributes: attributesAt(value, inside, attributes) };
    case 'hashPartition':
      return { hashPartition: partitionAt(value, inside, attributes) };
    case 'and':
      return { and: filtersAt(value, inside, depth, attributes) };
    case 'or':
      return { or: filtersAt(value, inside, depth, attributes) };
    case 'not':
      return { not: filterAt(value, inside, depth + 1, attributes) };
    default:
      throw new FilterError(`${inside} is not a filter`);
  }
}

function filtersAt(json: unknown, path: string, depth: number, attributes: readonly string[]): Filter[] {
  return arrayAt(json, path).map((filter, index) =>
    filterAt(filter, `${path}[${index}]`, depth + 1, attributes),
  );
}

function tagAt(json: unknown, path: string): TagCondition {
  let name: string | undefined;
  const rest: { value?: string; valueStartsWith?: string } = {};
  for (const [key, member] of objectAt(json, path)) {
    if (key === 'name') name = textAt(member, `${path}.${key}`);
    else if (key === 'value' || key === 'valueStartsWith') rest[key] = textAt(member, `${path}.${key}`);
    else throw new FilterError(`${path}.${key} is not a part of a tag`);
  }
  if (name === undefined) throw new FilterError(`${path}.name is missing`);
  return { name, ...rest };
}

function attributesAt(
  json: unknown,
  path: string,
  known: readonly string[],
): Record<string, string | number> {
  const found: Record<string, string | number> = {};
  for (const [key, value] of objectAt(json, path)) {
    attributeAt(key, path, known);
    if (typeof value !== 'string' && typeof value !== 'number') {
      throw new FilterError(`${path}.${key} must be a string or a number`);
    }
    found[key] = value;
  }
  return found;
}

function partitionAt(json: unknown, path: string, known: readonly string[]): HashPartition {
  const members = new Map(objectAt(json, path));
  for (const key of members.keys()) {
    if (key !== 'partitionCount' && key !== 'partitionKey' && key !== 'targetPartitions') {
      throw new FilterError(`${path}.${key} is not a part of hashPartition`);
    }
  }
  const partitionCount = integerAt(members.get('partitionCount'), `${path}.partitionCount`);
  if (partitionCount < 1) throw new FilterError(`${path}.partitionCount must be 1 or more`);
  const partitionKey = textAt(members.get('partitionKey'), `${path}.partitionKey`);
  attributeAt(partitionKey, `${path}.partitionKey`, known);
  const targets = `${path}.targetPartitions`;
  const targetPartitions = arrayAt(members.get('targetPartitions'), targets).map((target, index) => {
    const partition = integerAt(target, `${targets}[${index}]`);
    if (partition >= partitionCount) {
      throw new FilterError(`${targets}[${index}] must be below partitionCount`);
    }
    return partition;
  });
  if (targetPartitions.length === 0) throw new FilterError(`${targets} must not be empty`);
  return { partitionCount, partitionKey, targetPartitions };
}

function attributeAt(name: string, path: string, known: readonly string[]): void {
  if (!known.includes(name)) throw new FilterError(`${path} names "${name}", which is not an attribute`);
}

function objectAt(json: unknown, path: string): [string, unknown][] {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw new FilterError(`${path} must be an object`);
  }
  return Object.entries(json);
}

function arrayAt(json: unknown, path: string): unknown[] {
  if (!Array.isArray(json)) throw new FilterError(`${path} must be a list`);
  return json;
}

function textAt(json: unknown, path: string): string {
  if (typeof json !== 'string') throw new FilterError(`${path} must be a string`);
  return json;
}

function integerAt(json: unknown, path: string): number {
  if (typeof json !== 'number' || !Number.isSafeInteger(json) || json < 0) {
    throw new FilterError(`${path} must be a whole number`);
  }
  return json;
}

function trueAt(json: unknown, path: string): true {
  if (json !== true) throw new FilterError(`${path} must be true`);
  return true;
}
