/**
 * What an operation may cost, told from its text and variables before anything runs: the bytes that its answer is
 * expected to have, every value at least 32, and what its searches are worth beside them. The unit is the meter's, so
 * that a client's allowance means the same for content and for queries. It need not be exact: what counts is that
 * aliases, `first`, and lists within rows multiply.
 */
import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  type ValueNode,
  valueFromASTUntyped,
} from 'graphql';
import { badInput } from './errors.ts';
import { maxFirst } from './resolvers.ts';

export interface Cost {
  /** Rows of all pages together. */
  readonly rows: number;
  /** Values of the answer. */
  readonly values: number;
  /** Bytes of the answer, and of what finding it is worth. */
  readonly bytes: number;
}

export type Variables = Readonly<Record<string, unknown>>;

/** The cost of one operation of a document, by its variables. */
export interface CostRule {
  /** Fields of the operation, those of fragments wherever they are spread. */
  readonly fields: number;
  costOf(variables: Variables): Cost;
}

/** One page of the largest size and some more. */
export const maxRows = 2_000;
/** 2,000 rows with every field once are within it. */
export const maxCost = 6 * 1024 * 1024;

const valueBytes = 32;
/** Base64url of an RSA signature or key. */
const longValueBytes = 700;
const searchBytes = 1_024;
/** Some short searches, whatever is selected of it. */
const completenessBytes = 8 * searchBytes;
/** A `count` and a pattern may walk a whole index, or all values of a tag; a page only its rows. */
const walkBytes = 256 * 1024;
/** What a `count` costs of the rows. */
const countRows = 100;
const defaultFirst = 10;

const longValues = new Set(['signature', 'key']);
/** How often what is selected within is answered: the usual number of tags, and of things in our own schema. */
const times = new Map([
  ['tags', 8],
  ['ranges', 100],
  ['missingBlocks', 100],
  ['missingTransactions', 100],
  ['unreadBundles', 100],
  ['leftOutBundles', 100],
  ['types', 32],
  ['fields', 6],
  ['args', 2],
  ['inputFields', 4],
  ['enumValues', 4],
  ['interfaces', 4],
  ['possibleTypes', 4],
  ['directives', 4],
  ['locations', 4],
  // Most types have nothing inside.
  ['ofType', 0.5],
]);
const connections = new Set(['transactions', 'blocks']);

/** What one request may ask for, its operations together. */
export class RequestBudget {
  #rows = 0;
  #bytes = 0;

  /** Throws where it is too much. */
  take({ rows, bytes }: Cost): void {
    if (this.#rows + rows > maxRows) throw badInput(`a request may ask for ${maxRows} rows in all`);
    if (this.#bytes + bytes > maxCost) {
      throw badInput(
        `query costs ${kibibytes(bytes)}, and a request may cost ${kibibytes(maxCost)} in all: ask for fewer rows or fields`,
      );
    }
    this.#rows += rows;
    this.#bytes += bytes;
  }
}

const kibibytes = (bytes: number): number => Math.ceil(bytes / 1024);

/** For a document that is valid: fragments are there, and do not go round in circles. */
export function costRule(document: DocumentNode, operation: OperationDefinitionNode): CostRule {
  const counted = new Counter(document, operation);
  return { fields: counted.fields, costOf: (variables) => counted.costOf(variables) };
}

interface Weight {
  values: number;
  bytes: number;
}

/** A page: so many rows of this weight. */
interface Page {
  readonly first: (variables: Variables) => number;
  readonly row: Weight;
}

interface Argument {
  readonly isConstant: boolean;
  readonly value: (variables: Variables) => unknown;
}

class Counter {
  fields = 0;
  readonly #fragments = new Map<string, FragmentDefinitionNode>();
  readonly #defaults = new Map<string, unknown>();
  readonly #fixed = { rows: 0, values: 0, bytes: 0 };
  readonly #pages: Page[] = [];
  /** Tag filters that are known only with the variables. */
  readonly #filters: ((variables: Variables) => unknown)[] = [];

  constructor(document: DocumentNode, operation: OperationDefinitionNode) {
    for (const definition of document.definitions) {
      if (definition.kind === Kind.FRAGMENT_DEFINITION)
        this.#fragments.set(definition.name.value, definition);
    }
    for (const { variable, defaultValue } of operation.variableDefinitions ?? []) {
      if (defaultValue !== undefined) {
        this.#defaults.set(variable.name.value, valueFromASTUntyped(defaultValue));
      }
    }
    for (const field of this.#fieldsOf(operation.selectionSet)) {
      if (connections.has(field.name.value)) this.#addPage(field);
      else {
        if (!field.name.value.startsWith('__')) this.#fixed.rows += 1;
        add(this.#fixed, this.#weigh(field));
      }
    }
  }

  costOf(variables: Variables): Cost {
    let { rows, values, bytes } = this.#fixed;
    for (const { first, row } of this.#pages) {
      const length = first(variables);
      rows += length;
      values += length * row.values;
      bytes += length * row.bytes;
    }
    for (const filter of this.#filters) bytes += patternsIn(filter(variables)) * walkBytes;
    return { rows, values, bytes };
  }

  #addPage(connection: FieldNode): void {
    this.#fixed.bytes += searchBytes;
    const row: Weight = { values: 0, bytes: 0 };
    for (const field of this.#fieldsOf(connection.selectionSet)) {
      if (field.name.value === 'edges') add(row, this.#weigh(field));
      else add(this.#fixed, this.#weigh(field));
      if (field.name.value === 'count') {
        this.#fixed.rows += countRows;
        this.#fixed.bytes += walkBytes;
      }
    }
    const first = this.#argument(connection, 'first');
    const length = first.isConstant ? pageLength(first.value({})) : undefined;
    this.#pages.push({ row, first: (variables) => length ?? pageLength(first.value(variables)) });
    const tags = this.#argument(connection, 'tags');
    if (tags.isConstant) this.#fixed.bytes += patternsIn(tags.value({})) * walkBytes;
    else this.#filters.push(tags.value);
  }

  #weigh(field: FieldNode): Weight {
    const name = field.name.value;
    if (field.selectionSet === undefined) {
      return { values: 1, bytes: longValues.has(name) ? longValueBytes : valueBytes };
    }
    const inside: Weight = { values: 0, bytes: 0 };
    for (const inner of this.#fieldsOf(field.selectionSet)) add(inside, this.#weigh(inner));
    const often = times.get(name) ?? 1;
    const own = name === 'completeness' ? completenessBytes : valueBytes;
    return { values: 1 + often * inside.values, bytes: own + often * inside.bytes };
  }

  /** With those of fragments; each is counted once for each place where it is selected. */
  *#fieldsOf(set: SelectionSetNode | undefined): Generator<FieldNode> {
    for (const selection of set?.selections ?? []) {
      if (selection.kind === Kind.FIELD) {
        this.fields += 1;
        yield selection;
      } else if (selection.kind === Kind.INLINE_FRAGMENT) yield* this.#fieldsOf(selection.selectionSet);
      else yield* this.#fieldsOf(this.#fragments.get(selection.name.value)?.selectionSet);
    }
  }

  #argument(field: FieldNode, name: string): Argument {
    const node = field.arguments?.find((argument) => argument.name.value === name)?.value;
    if (node?.kind === Kind.VARIABLE) {
      const variable = node.name.value;
      return { isConstant: false, value: (variables) => this.#variable(variables, variable) };
    }
    if (node === undefined || !hasVariables(node)) {
      return { isConstant: true, value: () => node && valueFromASTUntyped(node) };
    }
    const defaults = Object.fromEntries(this.#defaults);
    return {
      isConstant: false,
      value: (variables) => valueFromASTUntyped(node, { ...defaults, ...variables }),
    };
  }

  #variable(variables: Variables, name: string): unknown {
    const given = Object.hasOwn(variables, name) ? variables[name] : undefined;
    return given === undefined ? this.#defaults.get(name) : given;
  }
}

function add(sum: Weight, { values, bytes }: Weight): void {
  sum.values += values;
  sum.bytes += bytes;
}

/** What is no number is refused later, before it is asked for. */
function pageLength(first: unknown): number {
  return typeof first === 'number' && first >= 0 ? Math.min(first, maxFirst) : defaultFirst;
}

/** Tag filters that are no plain comparison. A list of one may be given without the list. */
function patternsIn(tags: unknown): number {
  const filters: unknown[] = Array.isArray(tags) ? tags : [tags];
  return filters.filter(
    (filter) =>
      typeof filter === 'object' &&
      filter !== null &&
      'match' in filter &&
      typeof filter.match === 'string' &&
      filter.match !== 'EXACT',
  ).length;
}

function hasVariables(value: ValueNode): boolean {
  if (value.kind === Kind.VARIABLE) return true;
  if (value.kind === Kind.LIST) return value.values.some(hasVariables);
  return value.kind === Kind.OBJECT && value.fields.some((field) => hasVariables(field.value));
}
