/** The tables of an export: names, order and types are what public import scripts read. */
import type { SchemaElement } from 'hyparquet-writer';

export type Cell = Uint8Array | string | number | bigint | boolean | null;

export interface Column {
  readonly schema: SchemaElement;
  /** Values that are nearly all different, or that lie together, gain nothing from a dictionary. */
  readonly plain: boolean;
}

type Kind = 'blob' | 'text' | 'bool' | 'int64' | 'uint64' | 'uint32' | 'uint16' | 'uint8' | 'decimal';

function column(name: string, kind: Kind, options: { required?: boolean; plain?: boolean } = {}): Column {
  const repetition_type = options.required === true ? 'REQUIRED' : 'OPTIONAL';
  const base = { name, repetition_type } as const;
  const schema: SchemaElement = (() => {
    switch (kind) {
      case 'blob':
        return { ...base, type: 'BYTE_ARRAY' };
      case 'text':
        return { ...base, type: 'BYTE_ARRAY', converted_type: 'UTF8' };
      case 'bool':
        return { ...base, type: 'BOOLEAN' };
      case 'int64':
        return { ...base, type: 'INT64' };
      case 'uint64':
        return { ...base, type: 'INT64', converted_type: 'UINT_64' };
      case 'uint32':
        return { ...base, type: 'INT32', converted_type: 'UINT_32' };
      case 'uint16':
        return { ...base, type: 'INT32', converted_type: 'UINT_16' };
      case 'uint8':
        return { ...base, type: 'INT32', converted_type: 'UINT_8' };
      case 'decimal':
        // Twenty digits need nine bytes.
        return {
          ...base,
          type: 'FIXED_LEN_BYTE_ARRAY',
          type_length: 9,
          converted_type: 'DECIMAL',
          precision: 20,
          scale: 0,
        };
    }
  })();
  return { schema, plain: options.plain === true };
}

const required = { required: true };
const unique = { required: true, plain: true };
const plain = { plain: true };

export const tables = {
  blocks: [
    column('indep_hash', 'blob', unique),
    column('height', 'uint64', required),
    column('previous_block', 'blob', plain),
    column('nonce', 'blob', plain),
    column('hash', 'blob', plain),
    column('block_timestamp', 'int64', required),
    column('tx_count', 'int64', required),
    column('block_size', 'uint64'),
  ],
  transactions: [
    column('id', 'blob', unique),
    column('indexed_at', 'uint64'),
    column('block_transaction_index', 'uint16'),
    column('is_data_item', 'bool', required),
    column('target', 'blob'),
    column('quantity', 'decimal'),
    column('reward', 'decimal'),
    column('anchor', 'blob', plain),
    column('data_size', 'uint64', plain),
    column('content_type', 'text'),
    column('format', 'uint8'),
    column('height', 'uint64', required),
    column('owner_address', 'blob'),
    column('data_root', 'blob', plain),
    column('parent', 'blob'),
    column('offset', 'uint64', plain),
    column('size', 'uint64', plain),
    column('data_offset', 'uint64', plain),
    column('owner_offset', 'uint64', plain),
    column('owner_size', 'uint32'),
    column('owner', 'blob'),
    column('signature_offset', 'uint64', plain),
    column('signature_size', 'uint32'),
    column('signature_type', 'uint32'),
    column('root_transaction_id', 'blob'),
    column('root_parent_offset', 'uint64'),
  ],
  tags: [
    column('height', 'uint64', required),
    column('id', 'blob', unique),
    column('tag_index', 'uint16', required),
    column('indexed_at', 'uint64'),
    column('tag_name', 'blob', required),
    column('tag_value', 'blob', required),
    column('is_data_item', 'bool', required),
  ],
} as const satisfies Record<string, readonly Column[]>;

export type TableName = keyof typeof tables;
