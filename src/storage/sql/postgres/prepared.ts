/** A statement as PostgreSQL wants it, and the name under which a connection keeps it prepared. */
import { LRUCache } from 'lru-cache';
import { countPlaceholders, numbered } from '../placeholders.ts';

export interface PreparedText {
  readonly text: string;
  readonly placeholders: number;
  /** Undefined beyond the statements that a connection may keep. */
  readonly name: string | undefined;
}

const textsKept = 2_048;
/** A connection keeps every named statement as long as it lives, so only so many get a name. */
const maxNamed = 512;

const prepared = new LRUCache<string, PreparedText>({ max: textsKept });
const names = new Map<string, string>();

export function prepare(statement: string): PreparedText {
  const kept = prepared.get(statement);
  if (kept !== undefined) return kept;
  const text = numbered(statement);
  if (!names.has(text) && names.size < maxNamed) names.set(text, `turnpike_${names.size}`);
  const made = { text, placeholders: countPlaceholders(statement), name: names.get(text) };
  prepared.set(statement, made);
  return made;
}
