/**
 * Statements as PostgreSQL gets them: placeholders numbered, tables named with their schema. With the schema in the text
 * no connection has to be told of it, and one that a pooler hands from client to client serves every schema.
 */
import { LRUCache } from 'lru-cache';
import { countPlaceholders, numbered } from '../placeholders.ts';

export interface PreparedText {
  readonly text: string;
  readonly placeholders: number;
  /** Under which a connection keeps it prepared; undefined beyond the statements that a connection may keep. */
  readonly name: string | undefined;
}

const textsKept = 2_048;
/** A connection keeps every named statement as long as it lives, so only so many get a name. */
const maxNamed = 512;

/** The statements of one schema. */
export class Statements {
  readonly #schema: string;
  readonly #prepared = new LRUCache<string, PreparedText>({ max: textsKept });
  readonly #names = new Map<string, string>();

  constructor(schema: string) {
    this.#schema = schema;
  }

  prepare(statement: string): PreparedText {
    const kept = this.#prepared.get(statement);
    if (kept !== undefined) return kept;
    const text = numbered(qualified(statement, this.#schema));
    if (!this.#names.has(text) && this.#names.size < maxNamed) {
      this.#names.set(text, `turnpike_${this.#names.size}`);
    }
    const made = { text, placeholders: countPlaceholders(statement), name: this.#names.get(text) };
    this.#prepared.set(statement, made);
    return made;
  }
}

/** Quoted text and comments, kept as they are, or a name where a table is named; no function, and nothing named whole. */
const tableNames =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|\bDISTINCT\s+FROM\b|\b(INTO\s+)([a-z_][a-z0-9_]*)\b(?!\s*\.)|\b((?:FROM|JOIN|UPDATE|ANALYZE|VACUUM(?:\s+FULL)?|(?:TABLE|TRUNCATE)(?:\s+IF(?:\s+NOT)?\s+EXISTS)?)\s+)([a-z_][a-z0-9_]*)\b(?!\s*[.(])/gi;
const namedQueries = /\b([a-z_][a-z0-9_]*)\s+AS\s+(?:NOT\s+MATERIALIZED\s+|MATERIALIZED\s+)?\(/gi;
/** What may stand in the place of a table and is none: words of the language, and the server's catalogue. */
const noTable = /^(?:set|skip|nowait|of|only|lateral|select|values|pg_.*)$/i;

/** `FROM records` as `FROM "schema".records`. Names that the statement makes itself (`WITH …`) stay. */
export function qualified(statement: string, schema: string): string {
  const own = new Set<string>();
  if (/\bWITH\b/i.test(statement)) {
    for (const [, name = ''] of statement.matchAll(namedQueries)) own.add(name);
  }
  return statement.replace(
    tableNames,
    (all, into?: string, intoTable?: string, before?: string, table?: string) => {
      const words = into ?? before;
      const name = intoTable ?? table;
      if (words === undefined || name === undefined || noTable.test(name) || own.has(name)) return all;
      return `${words}"${schema}".${name}`;
    },
  );
}
