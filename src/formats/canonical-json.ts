/**
 * JSON in its one canonical form (RFC 8785), for signing: members sorted by UTF-16 code units, no spaces, numbers
 * and strings as ECMAScript writes them. Members that are undefined are left out. What JSON cannot carry exactly
 * (NaN, lone surrogates, functions) is refused.
 */
import { FormatError } from './format-error.ts';

const maxDepth = 64;

export function canonicalJson(value: unknown, depth = 0): string {
  if (depth > maxDepth) throw new FormatError('the value is nested too deeply');
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new FormatError('a number is not finite');
    return JSON.stringify(value);
  }
  if (typeof value === 'string') return quoted(value);
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item, depth + 1)).join(',')}]`;
  if (typeof value !== 'object') throw new FormatError(`a ${typeof value} is not JSON`);
  const members: string[] = [];
  for (const [name, member] of Object.entries(value).sort(byName)) {
    if (member !== undefined) members.push(`${quoted(name)}:${canonicalJson(member, depth + 1)}`);
  }
  return `{${members.join(',')}}`;
}

function byName([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function quoted(text: string): string {
  if (!text.isWellFormed()) throw new FormatError('a text has half a character');
  return JSON.stringify(text);
}
