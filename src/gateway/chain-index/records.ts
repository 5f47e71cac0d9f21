/** What is written about a transaction or data item, and how it becomes a row. */

import type { TypedColumns } from '../../storage/sql/many-rows.ts';
import type { SqlValue } from '../../storage/sql/sql.ts';
import { minedPos, pendingPos, type RecordKind } from './order.ts';
import { packTags, type RawTag } from './tags.ts';
import {
  bundleTerm,
  CHAIN_TERM,
  EVERY_TERM,
  ownerTerm,
  recipientTerm,
  type TermSpec,
  tagTerm,
} from './terms.ts';

/** The signed header: what does not change wherever the record ends up. */
export interface Header {
  readonly id: Buffer;
  readonly kind: RecordKind;
  readonly ownerAddress: Buffer;
  readonly ownerKey: Buffer | null;
  readonly signature: Buffer | null;
  readonly signatureType: number;
  readonly format: number;
  readonly target: Buffer | null;
  readonly anchor: Buffer | null;
  readonly quantity: string;
  readonly reward: string;
  readonly denomination: number;
  readonly dataSize: number;
  readonly dataRoot: Buffer | null;
  readonly tags: readonly RawTag[];
}

/** Where in the chain: the block of the transaction, or of the item's root transaction. */
export interface Mined {
  readonly height: number;
  readonly blockIndex: number;
  /** Where it is known; for those who are told of it. */
  readonly blockId?: Buffer | undefined;
}

/** Where in a bundle; `root` and `parent` are record keys. */
export interface Placed {
  readonly root: number;
  readonly parent: number;
  readonly parentOffset: number;
  readonly itemOffset: number;
  readonly dataOffset: number;
  readonly itemSize: number;
}

export interface Entry {
  readonly header: Header;
  readonly mined: Mined | undefined;
  readonly placed: Placed | undefined;
  /** Id of the bundle the item is in. */
  readonly bundle: Buffer | undefined;
  /** SHA-256 of the payload, where it was computed. */
  readonly hash: Buffer | undefined;
  /** The signature was checked over the payload with that hash. */
  readonly verified: boolean;
}

/** An entry with the keys of its terms. */
export interface Prepared {
  readonly entry: Entry;
  readonly owner: number;
  readonly terms: readonly number[];
  readonly tags: Buffer;
  /** What the history said about the item, and how many batches it had then. */
  readonly history?: { readonly isThere: boolean; readonly batches: number } | undefined;
}

/** A row of `records`. */
export interface RecordRow {
  readonly record: number;
  readonly id: Buffer;
  readonly kind: RecordKind;
  readonly height: number | null;
  readonly block_index: number | null;
  readonly pos: number;
  readonly indexed_at: number;
  readonly owner: number;
  readonly format: number;
  readonly signature_type: number;
  readonly target: Buffer | null;
  readonly anchor: Buffer | null;
  readonly quantity: string;
  readonly reward: string;
  readonly denomination: number;
  readonly data_size: number;
  readonly data_root: Buffer | null;
  readonly end_offset: number | null;
  readonly content_type: string | null;
  readonly content_encoding: string | null;
  readonly tags: Buffer;
  readonly root: number | null;
  readonly parent: number | null;
  readonly parent_offset: number | null;
  readonly item_offset: number | null;
  readonly data_offset: number | null;
  readonly item_size: number | null;
  readonly terms: Buffer;
  readonly hash: Buffer | null;
  readonly verified: number;
}

type NamesIn<List> = List extends `${infer Name}, ${infer Rest}` ? Name | NamesIn<Rest> : List;

/** The part of a row that a list of columns selects, such as `id, kind`. */
export type Selected<List extends string> = Pick<RecordRow, NamesIn<List> & keyof RecordRow>;

/** The columns of a list with the name of their table before each. */
export const columnsOf = (table: string, list: string): string =>
  list
    .split(', ')
    .map((column) => `${table}.${column}`)
    .join(', ');

/** The columns that a new record is written to. */
export const recordTypes = {
  id: 'BYTEA',
  kind: 'BIGINT',
  height: 'BIGINT',
  block_index: 'BIGINT',
  pos: 'BIGINT',
  indexed_at: 'BIGINT',
  owner: 'BIGINT',
  format: 'BIGINT',
  signature_type: 'BIGINT',
  target: 'BYTEA',
  anchor: 'BYTEA',
  quantity: 'TEXT',
  reward: 'TEXT',
  denomination: 'BIGINT',
  data_size: 'BIGINT',
  data_root: 'BYTEA',
  content_type: 'TEXT',
  content_encoding: 'TEXT',
  tags: 'BYTEA',
  root: 'BIGINT',
  parent: 'BIGINT',
  parent_offset: 'BIGINT',
  item_offset: 'BIGINT',
  data_offset: 'BIGINT',
  item_size: 'BIGINT',
  terms: 'BYTEA',
  hash: 'BYTEA',
  verified: 'BIGINT',
} as const satisfies TypedColumns;

export const recordColumns = Object.keys(recordTypes);

export function positionOf(kind: RecordKind, mined: Mined | undefined, indexedAt: number): number {
  return mined === undefined ? pendingPos(indexedAt) : minedPos(mined.height, mined.blockIndex, kind);
}

/** The cells of `recordColumns`. */
export function recordRow(prepared: Prepared, indexedAt: number): SqlValue[] {
  const { entry, owner, terms, tags } = prepared;
  const { header, mined, placed } = entry;
  return [
    header.id,
    header.kind,
    mined?.height ?? null,
    mined?.blockIndex ?? null,
    positionOf(header.kind, mined, indexedAt),
    indexedAt,
    owner,
    header.format,
    header.signatureType,
    header.target,
    header.anchor,
    header.quantity,
    header.reward,
    header.denomination,
    header.dataSize,
    header.dataRoot,
    tagText(header.tags, 'content-type'),
    tagText(header.tags, 'content-encoding'),
    tags,
    placed?.root ?? null,
    placed?.parent ?? null,
    placed?.parentOffset ?? null,
    placed?.itemOffset ?? null,
    placed?.dataOffset ?? null,
    placed?.itemSize ?? null,
    packTerms(terms),
    entry.hash ?? null,
    entry.verified ? 1 : 0,
  ];
}

/** All terms of an entry but the special ones; the owner comes first. */
export function termSpecs(entry: Entry): TermSpec[] {
  const { header } = entry;
  const specs = [ownerTerm(header.ownerAddress, header.ownerKey)];
  if (header.target !== null && header.target.length === 32) specs.push(recipientTerm(header.target));
  if (entry.bundle !== undefined) specs.push(bundleTerm(entry.bundle));
  for (const tag of header.tags) specs.push(tagTerm(tag.name, tag.value));
  return specs;
}

export function prepare(
  entry: Entry,
  specs: readonly TermSpec[],
  keys: ReadonlyMap<TermSpec, number>,
): Prepared {
  const terms = specs.map((spec) => {
    const key = keys.get(spec);
    if (key === undefined) throw new Error('a term was not interned');
    return key;
  });
  const owner = terms[0];
  if (owner === undefined) throw new Error('a record has no owner term');
  return { entry, owner, terms: [...new Set(terms)], tags: packTags(entry.header.tags) };
}

/** The terms under which a record is posted at its position, special ones included. */
export function postedTerms(kind: number, terms: readonly number[]): number[] {
  return kind === 0 ? [EVERY_TERM, CHAIN_TERM, ...terms] : [EVERY_TERM, ...terms];
}

/** Six bytes a term: room for 2^48 terms. */
export function packTerms(terms: readonly number[]): Buffer {
  const packed = Buffer.allocUnsafe(terms.length * 6);
  terms.forEach((term, index) => {
    packed.writeUIntBE(term, index * 6, 6);
  });
  return packed;
}

export function unpackTerms(packed: Buffer): number[] {
  const terms: number[] = [];
  for (let at = 0; at < packed.length; at += 6) terms.push(packed.readUIntBE(at, 6));
  return terms;
}

/** The value of the first tag with that name in any case, as text without NUL (PostgreSQL keeps none). */
export function tagText(tags: readonly RawTag[], lowerName: string): string | null {
  for (const { name, value } of tags) {
    if (
      name.length === lowerName.length &&
      Buffer.from(name).toString('latin1').toLowerCase() === lowerName
    ) {
      return Buffer.from(value).toString('utf8').replaceAll('\0', '');
    }
  }
  return null;
}
