/** Transactions as the node's JSON: binary fields base64url, amounts and sizes decimal strings. */
import { decodeBase64url, encodeBase64url } from '../base64url.ts';
import { FormatError } from '../format-error.ts';
import { isRecord } from '../json.ts';
import { checkTransaction, limits, type Tag, type Transaction, TransactionRuleError } from './transaction.ts';

export interface TransactionJson {
  format: number;
  id: string;
  last_tx: string;
  owner: string;
  tags: { name: string; value: string }[];
  target: string;
  quantity: string;
  data: string;
  data_size: string;
  data_tree: string[];
  data_root: string;
  reward: string;
  signature: string;
  denomination?: string;
}

/** The transaction that a parsed JSON value describes; fields it does not know are ignored. */
export function parseTransactionJson(json: unknown): Transaction {
  const fields = record(json, 'transaction');
  const data = binary(fields, 'data', Math.ceil((limits.inlineDataBytes * 4) / 3), '');
  const format = parseFormat(fields.format);
  const transaction: Transaction = {
    format,
    id: binary(fields, 'id', 43),
    lastTx: binary(fields, 'last_tx', 64),
    owner: binary(fields, 'owner', 683),
    tags: parseTags(fields.tags),
    target: binary(fields, 'target', 43, ''),
    quantity: BigInt(decimal(fields, 'quantity', '0')),
    reward: BigInt(decimal(fields, 'reward', '0')),
    signature: binary(fields, 'signature', 683),
    // Version 1 carries its data, so its size and root may be left out; the root is never signed there.
    dataSize: size(decimal(fields, 'data_size', format === 1 ? String(data.length) : undefined)),
    dataRoot: binary(fields, 'data_root', 43, format === 1 ? '' : undefined),
    data,
    denomination: size(decimal(fields, 'denomination', '0')),
  };
  if (transaction.id.length !== 32) throw new FormatError('id has not 32 bytes');
  checkTransaction(transaction);
  return transaction;
}

/** `data` says whether inline data is written; the node's answers for version 2 leave it out. */
export function transactionToJson(transaction: Transaction, data: 'with data' | 'header'): TransactionJson {
  const header: TransactionJson = {
    format: transaction.format,
    id: encodeBase64url(transaction.id),
    last_tx: encodeBase64url(transaction.lastTx),
    owner: encodeBase64url(transaction.owner),
    tags: transaction.tags.map((tag) => ({
      name: encodeBase64url(tag.name),
      value: encodeBase64url(tag.value),
    })),
    target: encodeBase64url(transaction.target),
    quantity: String(transaction.quantity),
    data: data === 'with data' ? encodeBase64url(transaction.data) : '',
    data_size: String(transaction.dataSize),
    data_tree: [],
    data_root: encodeBase64url(transaction.dataRoot),
    reward: String(transaction.reward),
    signature: encodeBase64url(transaction.signature),
  };
  return transaction.denomination > 0
    ? { ...header, denomination: String(transaction.denomination) }
    : header;
}

type Fields = Readonly<Record<string, unknown>>;

function record(value: unknown, what: string): Fields {
  if (!isRecord(value)) throw new FormatError(`${what} is not an object`);
  return value;
}

function text(value: unknown, what: string, maxLength: number, fallback?: string): string {
  const given = value === undefined ? fallback : value;
  if (typeof given !== 'string') throw new FormatError(`${what} is not a string`);
  if (given.length > maxLength) throw new TransactionRuleError('tx_fields_too_large', `${what} is too long`);
  return given;
}

function binary(fields: Fields, name: string, maxLength: number, fallback?: string): Buffer {
  return decodeBase64url(text(fields[name], name, maxLength, fallback), name);
}

function decimal(fields: Fields, name: string, fallback?: string): string {
  const digits = text(fields[name], name, limits.amountDigits, fallback);
  if (!/^(?:0|[1-9][0-9]*)$/.test(digits)) throw new FormatError(`${name} is not a decimal integer`);
  return digits;
}

function size(digits: string): number {
  const value = Number(digits);
  if (!Number.isSafeInteger(value)) throw new FormatError('a size is beyond 2^53 - 1');
  return value;
}

function parseFormat(value: unknown): 1 | 2 {
  if (value === 1 || value === 2) return value;
  throw new FormatError('format is not 1 or 2');
}

function parseTags(value: unknown): Tag[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw new FormatError('tags is not an array');
  if (value.length > limits.tagCount) {
    throw new TransactionRuleError('tx_fields_too_large', 'there are more than 2048 tags');
  }
  return value.map((entry: unknown) => {
    const tag = record(entry, 'tag');
    return { name: binary(tag, 'name', 2_731), value: binary(tag, 'value', 2_731) };
  });
}
