/**
 * Rows of an answer as JSON text. Most of what a page costs would be to copy each row into a tree, to escape its strings
 * and to join them. So the rows of a query are left to a writer that is made once for what the query selects of a row,
 * and a row remembers the text it was last written as: what is stable is read again and again.
 */
import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { isRecord } from '../../formats/json.ts';
import { atMost } from '../../kernel/at-most.ts';

/** An object of an answer that remembers what was written of it. */
export interface WrittenRow {
  written?: { readonly by: RowWriter; readonly text: string } | undefined;
}

/** A query whose rows are left whole, to be run against the schema of `createSchema` with `wholeRows`. */
export interface SplitQuery {
  readonly document: DocumentNode;
  /** The data of its result as JSON. */
  readonly stringify: Write;
}

type Write = (value: unknown) => string;

/** What is selected under one key, after fragments and repeated fields are put together. */
interface Field {
  readonly key: string;
  readonly name: string;
  readonly node: FieldNode;
  /** undefined for a leaf. */
  readonly fields: Fields | undefined;
}
type Fields = Map<string, Field>;

const writersKept = 500;

class RowWriter {
  readonly #write: Write;

  constructor(write: Write) {
    this.#write = write;
  }

  write(row: WrittenRow): string {
    const { written } = row;
    if (written?.by === this) return written.text;
    const text = this.#write(row);
    row.written = { by: this, text };
    return text;
  }
}

export class RowWriters {
  readonly #schema: GraphQLSchema;
  /** By what is selected: query texts that select the same share what rows remember. */
  readonly #writers = new LRUCache<string, RowWriter>(atMost(writersKept));

  constructor(schema: GraphQLSchema) {
    this.#schema = schema;
  }

  /** undefined where variables decide what is selected, or there are no rows. */
  split(document: DocumentNode, operation: OperationDefinitionNode): SplitQuery | undefined {
    const query = this.#schema.getQueryType();
    const fields = selected(document, operation.selectionSet);
    if (fields === undefined || !isObjectType(query)) return undefined;
    const rows = new Set<Field>();
    const stringify = this.#whole(query, fields, rows);
    if (rows.size === 0) return undefined;
    const selectionSet = selectionOf(fields, rows);
    return {
      document: { kind: Kind.DOCUMENT, definitions: [{ ...operation, selectionSet }] },
      stringify,
    };
  }

  /** Writes objects above the rows; which fields are rows is noted in `rows`. */
  #whole(type: GraphQLObjectType, fields: Fields, rows: Set<Field>): Write {
    return membersWriter(fields, 'key', (field) => {
      const path = `${type.name}.${field.name}`;
      const definition = type.getFields()[field.name];
      if (definition === undefined || field.fields === undefined) return leaf;
      if (path === 'Query.transactions') {
        const page = nullableType(definition.type);
        return isObjectType(page) ? this.#whole(page, field.fields, rows) : leaf;
      }
      if (path !== 'Query.transaction' && path !== 'TransactionConnection.edges') return leaf;
      rows.add(field);
      return rowsWriter(definition.type, this.#rowWriter(definition.type, field.fields));
    });
  }

  #rowWriter(type: GraphQLOutputType, fields: Fields): RowWriter {
    const named = nullableType(type);
    const row = isListType(named) ? nullableType(named.ofType) : named;
    const key = `${String(row)}${textOf(fields)}`;
    let writer = this.#writers.get(key);
    if (writer === undefined) {
      writer = new RowWriter(valueWriter(row, fields));
      this.#writers.set(key, writer);
    }
    return writer;
  }
}

const isRow = (value: unknown): value is WrittenRow => typeof value === 'object' && value !== null;

/** One row, or a list of them. */
function rowsWriter(type: GraphQLOutputType, writer: RowWriter): Write {
  const one: Write = (row) => (isRow(row) ? writer.write(row) : 'null');
  if (!isListType(nullableType(type))) return one;
  return (rows) => {
    if (!Array.isArray(rows)) return 'null';
    // Joined when the answer is encoded, once: `join` would copy all of it before that.
    let text = '[';
    for (let at = 0; at < rows.length; at += 1) text += at === 0 ? one(rows[at]) : `,${one(rows[at])}`;
    return `${text}]`;
  };
}

const nullableType = (type: GraphQLOutputType): GraphQLOutputType =>
  isNonNullType(type) ? type.ofType : type;

function valueWriter(given: GraphQLOutputType, fields: Fields): Write {
  const type = nullableType(given);
  if (isListType(type)) {
    const one = valueWriter(type.ofType, fields);
    return (list) => (Array.isArray(list) ? `[${list.map(one).join(',')}]` : 'null');
  }
  if (!isObjectType(type)) return leaf;
  const types = type.getFields();
  return membersWriter(fields, 'name', ({ name, fields: inside }) => {
    const member = types[name];
    if (name === '__typename') return () => JSON.stringify(type.name);
    return member === undefined || inside === undefined ? leaf : valueWriter(member.type, inside);
  });
}

/** Numbers and strings as they are, and what the executor has made. */
const leaf: Write = (value) => (value === undefined ? 'null' : JSON.stringify(value));

/** Members of a row stand under their names, those of a result under their keys. */
function membersWriter(fields: Fields, under: 'key' | 'name', writerOf: (field: Field) => Write): Write {
  const members = [...fields.values()].map((field, index) => ({
    start: `${index === 0 ? '{' : ','}${JSON.stringify(field.key)}:`,
    from: field[under],
    write: writerOf(field),
  }));
  return (value) => {
    if (!isRecord(value)) return 'null';
    let text = '';
    for (const { start, from, write } of members) text += start + write(value[from]);
    return `${text}}`;
  };
}

/** undefined where a directive decides what is selected. */
function selected(document: DocumentNode, set: SelectionSetNode): Fields | undefined {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
  }
  const collect = (from: SelectionSetNode | undefined, into: Fields): boolean =>
    (from?.selections ?? []).every((selection) => {
      if ((selection.directives?.length ?? 0) > 0) return false;
      if (selection.kind === Kind.INLINE_FRAGMENT) return collect(selection.selectionSet, into);
      if (selection.kind === Kind.FRAGMENT_SPREAD) {
        return collect(fragments.get(selection.name.value)?.selectionSet, into);
      }
      const key = (selection.alias ?? selection.name).value;
      const fields: Fields | undefined = selection.selectionSet === undefined ? undefined : new Map();
      const field = into.get(key) ?? { key, name: selection.name.value, node: selection, fields };
      into.set(key, field);
      return field.fields === undefined || collect(selection.selectionSet, field.fields);
    });
  const fields: Fields = new Map();
  return collect(set, fields) ? fields : undefined;
}

/** The fields again as a query has them, the rows without what is selected of them. */
function selectionOf(fields: Fields, rows: ReadonlySet<Field>): SelectionSetNode {
  return {
    kind: Kind.SELECTION_SET,
    selections: [...fields.values()].map((field) => {
      const { selectionSet: _, ...node } = field.node;
      return field.fields === undefined || rows.has(field)
        ? node
        : { ...node, selectionSet: selectionOf(field.fields, rows) };
    }),
  };
}

/** The same for what selects the same. */
function textOf(fields: Fields): string {
  const texts = [...fields.values()].map(
    ({ key, name, fields: inside }) => `${key}:${name}${inside === undefined ? '' : textOf(inside)}`,
  );
  return `{${texts.join(' ')}}`;
}
