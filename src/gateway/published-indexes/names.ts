/** Names and members as they may stand in a document, a path or on disk. */
import { FormatError } from '../../formats/format-error.ts';
import { isRecord } from '../../formats/json.ts';

const indexName = /^[a-z0-9-]{1,64}$/;
const partName = /^[A-Za-z0-9._-]{1,128}$/;
const sha256Hex = /^[0-9a-f]{64}$/;

/** Names that every JavaScript object answers to are refused: no look-up may ever find what nobody put there. */
const inherited = new Set([...Object.getOwnPropertyNames(Object.prototype), 'prototype']);

export function isIndexName(text: string): boolean {
  return indexName.test(text) && !inherited.has(text);
}

/** A band or a file. Never a path: no slash, no `.`, no `..`. */
export function isPartName(text: string): boolean {
  return partName.test(text) && text !== '.' && !text.includes('..') && !inherited.has(text);
}

export function isSha256(text: string): boolean {
  return sha256Hex.test(text);
}

/** Own members only: nothing is ever inherited from a prototype. Throws `FormatError` for what has none. */
export function ownMembers(value: unknown, problem: string): Readonly<Record<string, unknown>> {
  if (!isRecord(value)) throw new FormatError(problem);
  return Object.assign(Object.create(null), value);
}
