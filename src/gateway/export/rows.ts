/** A record of the index as rows of the tables. */
import { unpackRawTags } from '../index/tags.ts';
import type { Cell } from './tables.ts';

export interface RecordRow {
  readonly id: Buffer;
  readonly kind: number;
  readonly height: number;
  readonly block_index: number | null;
  readonly indexed_at: number;
  readonly format: number;
  readonly signature_type: number;
  readonly target: Buffer | null;
  readonly anchor: Buffer | null;
  readonly quantity: string;
  readonly reward: string;
  readonly data_size: number;
  readonly data_root: Buffer | null;
  readonly content_type: string | null;
  readonly tags: Buffer;
  readonly parent_offset: number | null;
  readonly item_offset: number | null;
  readonly data_offset: number | null;
  readonly item_size: number | null;
  readonly owner_address: Buffer;
  readonly owner_key: Buffer | null;
  readonly signature_size: number | null;
  readonly parent_id: Buffer | null;
  readonly root_id: Buffer | null;
}

/** Keys longer than this (RSA moduli) are left out: they would be most of the file. */
const maxOwnerBytes = 64;
/** Bytes of the signature type that an item begins with. */
const typeBytes = 2;

const big = (value: number | null): bigint | null => (value === null ? null : BigInt(value));
const bytes = (value: Buffer | null): Buffer | null => (value === null || value.length === 0 ? null : value);

/** In the order of `tables.transactions`. */
export function transactionRow(row: RecordRow): Cell[] {
  return row.kind === 1 ? itemRow(row) : chainRow(row);
}

function chainRow(row: RecordRow): Cell[] {
  return [
    row.id,
    null,
    row.block_index,
    false,
    bytes(row.target),
    BigInt(row.quantity),
    BigInt(row.reward),
    bytes(row.anchor),
    BigInt(row.data_size),
    row.content_type,
    row.format,
    BigInt(row.height),
    row.owner_address,
    bytes(row.data_root),
    null,
    null,
    null,
    null,
    null,
    null,
    smallKey(row.owner_key),
    null,
    null,
    null,
    row.id,
    null,
  ];
}

function itemRow(row: RecordRow): Cell[] {
  const { item_offset: offset, signature_size: signatureSize } = row;
  const signatureOffset = offset === null ? null : offset + typeBytes;
  const ownerOffset =
    signatureOffset === null || signatureSize === null ? null : signatureOffset + signatureSize;
  return [
    row.id,
    BigInt(row.indexed_at),
    row.block_index,
    true,
    bytes(row.target),
    null,
    null,
    bytes(row.anchor),
    BigInt(row.data_size),
    row.content_type,
    null,
    BigInt(row.height),
    row.owner_address,
    null,
    row.parent_id,
    big(offset),
    big(row.item_size),
    big(row.data_offset),
    big(ownerOffset),
    row.owner_key?.length ?? null,
    smallKey(row.owner_key),
    big(signatureOffset),
    signatureSize,
    row.signature_type,
    row.root_id,
    big(row.parent_offset),
  ];
}

function smallKey(key: Buffer | null): Buffer | null {
  return key !== null && key.length <= maxOwnerBytes ? bytes(key) : null;
}

/** In the order of `tables.tags`. */
export function* tagRows(row: RecordRow): Generator<Cell[]> {
  const height = BigInt(row.height);
  const isItem = row.kind === 1;
  const indexedAt = isItem ? BigInt(row.indexed_at) : null;
  let index = 0;
  for (const { name, value } of unpackRawTags(row.tags)) {
    yield [height, row.id, index, indexedAt, name, value, isItem];
    index += 1;
  }
}
