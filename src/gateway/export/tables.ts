/** The tables of an export: names, order and types are what public import scripts read. */
import type { Heights } from './grid.ts';
import { Column } from './parquet/column.ts';

const required = { required: true };
const repeating = { dictionary: true };
const each = { required: true, dictionary: true };

/** Fresh, empty columns of a table, in its order. */
export const tables = {
  blocks: () => ({
    indepHash: new Column('indep_hash', 'blob', required),
    height: new Column('height', 'uint64', required),
    previousBlock: new Column('previous_block', 'blob'),
    nonce: new Column('nonce', 'blob'),
    hash: new Column('hash', 'blob'),
    timestamp: new Column('block_timestamp', 'int64', required),
    txCount: new Column('tx_count', 'int64', required),
    size: new Column('block_size', 'uint64'),
  }),
  transactions: () => ({
    id: new Column('id', 'blob', required),
    indexedAt: new Column('indexed_at', 'uint64'),
    blockIndex: new Column('block_transaction_index', 'uint16'),
    isDataItem: new Column('is_data_item', 'bool', required),
    target: new Column('target', 'blob', repeating),
    quantity: new Column('quantity', 'decimal'),
    reward: new Column('reward', 'decimal'),
    anchor: new Column('anchor', 'blob'),
    dataSize: new Column('data_size', 'uint64'),
    contentType: new Column('content_type', 'text', repeating),
    format: new Column('format', 'uint8'),
    height: new Column('height', 'uint64', required),
    ownerAddress: new Column('owner_address', 'blob', repeating),
    dataRoot: new Column('data_root', 'blob'),
    parent: new Column('parent', 'blob', repeating),
    offset: new Column('offset', 'uint64'),
    size: new Column('size', 'uint64'),
    dataOffset: new Column('data_offset', 'uint64'),
    ownerOffset: new Column('owner_offset', 'uint64'),
    ownerSize: new Column('owner_size', 'uint32'),
    owner: new Column('owner', 'blob', repeating),
    signatureOffset: new Column('signature_offset', 'uint64'),
    signatureSize: new Column('signature_size', 'uint32'),
    signatureType: new Column('signature_type', 'uint32'),
    rootTransactionId: new Column('root_transaction_id', 'blob', repeating),
    rootParentOffset: new Column('root_parent_offset', 'uint64'),
  }),
  tags: () => ({
    height: new Column('height', 'uint64', required),
    id: new Column('id', 'blob', each),
    tagIndex: new Column('tag_index', 'uint16', required),
    indexedAt: new Column('indexed_at', 'uint64'),
    name: new Column('tag_name', 'blob', each),
    value: new Column('tag_value', 'blob', required),
    isDataItem: new Column('is_data_item', 'bool', required),
  }),
} satisfies Record<string, () => Record<string, Column>>;

export type TableName = keyof typeof tables;
export type Columns<T extends TableName> = ReturnType<(typeof tables)[T]>;

export const tableNames: readonly TableName[] = ['blocks', 'transactions', 'tags'];

/** Where the files of a partition lie, below the folder of a version. */
export function partitionFolder(table: TableName, { from, to }: Heights): string[] {
  return [table, 'data', `height=${from}-${to}`];
}
