/** A block, a record and its tags as rows of the tables. */
import type { Selected } from '../chain-index/records.ts';
import { walkTags } from '../chain-index/tags.ts';
import type { Columns } from './tables.ts';

export interface BlockRow {
  readonly height: number;
  readonly id: Buffer;
  readonly previous: Buffer;
  readonly timestamp: number;
  readonly tx_count: number;
  readonly block_size: string;
  readonly nonce: Buffer | null;
  readonly hash: Buffer | null;
}

/** Columns of `records` that an export reads. */
export const exportedColumns =
  'record, id, kind, height, block_index, indexed_at, format, signature_type, target, anchor, quantity, reward, data_size, data_root, content_type, tags, parent_offset, item_offset, data_offset, item_size, owner, parent, root';

/** Of a record that is mined. */
export type ExportedRecord = Selected<typeof exportedColumns> & {
  readonly height: number;
  readonly signature_size: number | null;
};

/** What a record only refers to. */
export interface Relations {
  readonly owner: { readonly address: Buffer; readonly key: Buffer | null };
  readonly parent: Buffer | null;
  readonly root: Buffer | null;
}

/** Keys longer than this (RSA moduli) are left out: they would be most of the file. */
const maxOwnerBytes = 64;
/** Bytes of the signature type that an item begins with. */
const typeBytes = 2;

const bytes = (value: Buffer | null): Buffer | null => (value === null || value.length === 0 ? null : value);

export function addBlock(to: Columns<'blocks'>, row: BlockRow): void {
  to.indepHash.blob(row.id);
  to.height.number(row.height);
  to.previousBlock.blob(bytes(row.previous));
  to.nonce.blob(bytes(row.nonce));
  to.hash.blob(bytes(row.hash));
  to.timestamp.number(row.timestamp);
  to.txCount.number(row.tx_count);
  to.size.number(Number(row.block_size));
}

export function addTransaction(to: Columns<'transactions'>, row: ExportedRecord, relations: Relations): void {
  const { owner } = relations;
  to.id.blob(row.id);
  to.blockIndex.number(row.block_index);
  to.target.blob(bytes(row.target));
  to.anchor.blob(bytes(row.anchor));
  to.dataSize.number(row.data_size);
  to.contentType.text(row.content_type);
  to.height.number(row.height);
  to.ownerAddress.blob(owner.address);
  to.owner.blob(owner.key !== null && owner.key.length <= maxOwnerBytes ? bytes(owner.key) : null);
  if (row.kind === 1) addItemPart(to, row, relations);
  else addChainPart(to, row);
}

function addChainPart(to: Columns<'transactions'>, row: ExportedRecord): void {
  to.isDataItem.bool(false);
  to.indexedAt.none();
  to.quantity.decimal(row.quantity);
  to.reward.decimal(row.reward);
  to.format.number(row.format);
  to.dataRoot.blob(bytes(row.data_root));
  to.rootTransactionId.blob(row.id);
  for (const column of [
    to.parent,
    to.offset,
    to.size,
    to.dataOffset,
    to.ownerOffset,
    to.ownerSize,
    to.signatureOffset,
    to.signatureSize,
    to.signatureType,
    to.rootParentOffset,
  ]) {
    column.none();
  }
}

function addItemPart(
  to: Columns<'transactions'>,
  row: ExportedRecord,
  { owner, parent, root }: Relations,
): void {
  const { item_offset: offset, signature_size: signatureSize } = row;
  const signatureOffset = offset === null ? null : offset + typeBytes;
  to.isDataItem.bool(true);
  to.indexedAt.number(row.indexed_at);
  to.quantity.none();
  to.reward.none();
  to.format.none();
  to.dataRoot.none();
  to.rootTransactionId.blob(root);
  to.parent.blob(parent);
  to.offset.number(offset);
  to.size.number(row.item_size);
  to.dataOffset.number(row.data_offset);
  to.ownerOffset.number(
    signatureOffset === null || signatureSize === null ? null : signatureOffset + signatureSize,
  );
  to.ownerSize.number(owner.key?.length ?? null);
  to.signatureOffset.number(signatureOffset);
  to.signatureSize.number(signatureSize);
  to.signatureType.number(row.signature_type);
  to.rootParentOffset.number(row.parent_offset);
}

/** Calls `endRow` after each tag. */
export function addTags(to: Columns<'tags'>, row: ExportedRecord, endRow: () => void): void {
  const isItem = row.kind === 1;
  let index = 0;
  walkTags(row.tags, (nameStart, valueStart, end) => {
    to.height.number(row.height);
    to.id.blob(row.id);
    to.tagIndex.number(index);
    to.indexedAt.number(isItem ? row.indexed_at : null);
    to.name.blob(row.tags, nameStart, valueStart);
    to.value.blob(row.tags, valueStart, end);
    to.isDataItem.bool(isItem);
    index += 1;
    endRow();
  });
}
