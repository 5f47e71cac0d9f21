/** `?` placeholders as PostgreSQL's `$1`, `$2`, …, and a name under which to prepare the statement. */
import { LRUCache } from 'lru-cache';

export interface PreparedText {
  readonly text: string;
  /** Undefined beyond the statements that a server connection keeps prepared. */
  readonly name: string | undefined;
}

const textsKept = 2_048;
/** A connection keeps every named statement as long as it lives, so only so many get a name. */
const maxNamed = 512;

/** Quoted text and comments, kept as they are, or one placeholder. */
const tokens = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|\?/g;

const prepared = new LRUCache<string, PreparedText>({ max: textsKept });
const names = new Map<string, string>();

export function prepare(statement: string): PreparedText {
  const kept = prepared.get(statement);
  if (kept !== undefined) return kept;
  const text = numbered(statement);
  if (!names.has(text) && names.size < maxNamed) names.set(text, `turnpike_${names.size}`);
  const made = { text, name: names.get(text) };
  prepared.set(statement, made);
  return made;
}

export function numbered(statement: string): string {
  let count = 0;
  return statement.replace(tokens, (token) => {
    if (token !== '?') return token;
    count += 1;
    return `$${count}`;
  });
}
