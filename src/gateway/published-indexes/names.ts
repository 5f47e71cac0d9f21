/** Names of indexes, bands and files as they may stand in a document, a path or on disk. */

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
