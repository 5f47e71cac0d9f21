/**
 * Cursors: base64url of a JSON array. Opaque to clients, but other gateways merge pages on the fields, so the
 * layout is the public one: `[height, blockTransactionIndex, isDataItem, id, indexedAt]` for transactions
 * (height and index null while not mined), `[height]` for blocks.
 */
import { isTxId, tryDecodeBase64url } from '../../formats/base64url.ts';
import { isCount, tryParseJson } from '../../formats/json.ts';
import {
  DATA_ITEM,
  MAX_BLOCK_INDEX,
  MAX_HEIGHT,
  minedPos,
  pendingPos,
  TRANSACTION,
} from '../chain-index/order.ts';
import { badInput } from './errors.ts';

export interface TransactionCursor {
  readonly id: Buffer;
  /** Position in order of height. */
  readonly pos: number;
  readonly indexedAt: number;
}

const maxCursorLength = 512;
/** Times of indexing stay below the year 9000, so that positions of pending records stay exact. */
const maxIndexedAt = 2 ** 38;

export function transactionCursor(
  height: number | null,
  blockIndex: number | null,
  isDataItem: boolean,
  id: string,
  indexedAt: number,
): string {
  // Written by hand: nothing in it needs escaping, and a page has up to a thousand.
  const text = `[${height},${blockIndex},${isDataItem},"${id}",${indexedAt}]`;
  return Buffer.from(text, 'latin1').toString('base64url');
}

export function parseTransactionCursor(cursor: string): TransactionCursor {
  const fields = decode(cursor);
  if (fields === undefined || fields.length !== 5) throw badInput('Invalid transaction cursor');
  const [height, blockIndex, isDataItem, id, indexedAt] = fields;
  if (typeof id !== 'string' || !isTxId(id) || typeof isDataItem !== 'boolean') {
    throw badInput('Invalid transaction cursor');
  }
  if (!isCountUpTo(indexedAt, maxIndexedAt)) throw badInput('Invalid transaction cursor');
  const bytes = Buffer.from(id, 'base64url');
  if (height === null && blockIndex === null) return { id: bytes, pos: pendingPos(indexedAt), indexedAt };
  if (!isCountUpTo(height, MAX_HEIGHT) || !isCountUpTo(blockIndex, MAX_BLOCK_INDEX)) {
    throw badInput('Invalid transaction cursor');
  }
  const pos = minedPos(height, blockIndex, isDataItem ? DATA_ITEM : TRANSACTION);
  return { id: bytes, pos, indexedAt };
}

export function blockCursor(height: number): string {
  return Buffer.from(`[${height}]`, 'latin1').toString('base64url');
}

export function parseBlockCursor(cursor: string): number {
  const fields = decode(cursor);
  const height = fields?.[0];
  if (fields?.length !== 1 || !isCountUpTo(height, MAX_HEIGHT)) throw badInput('Invalid block cursor');
  return height;
}

function decode(cursor: string): unknown[] | undefined {
  const bytes = cursor.length <= maxCursorLength ? tryDecodeBase64url(cursor) : undefined;
  if (bytes === undefined) return undefined;
  const fields = tryParseJson(bytes.toString('utf8'));
  return Array.isArray(fields) ? fields : undefined;
}

function isCountUpTo(value: unknown, max: number): value is number {
  return isCount(value) && value <= max;
}
