/** A chain transaction in memory: binary fields as bytes, amounts as bigint, sizes as safe integers. */
import { FormatError } from '../format-error.ts';

export interface Tag {
  readonly name: Buffer;
  readonly value: Buffer;
}

export interface UnsignedTransaction {
  readonly format: 1 | 2;
  /** RSA modulus; empty for a transaction signed with ECDSA, whose key is recovered from the signature. */
  readonly owner: Buffer;
  /** A recent block's hash (48 bytes), the wallet's last transaction (32), or empty. */
  readonly lastTx: Buffer;
  readonly target: Buffer;
  /** Winston moved to the target. */
  readonly quantity: bigint;
  /** Winston paid for storage. */
  readonly reward: bigint;
  readonly tags: readonly Tag[];
  readonly dataSize: number;
  /** Empty when there is no data, and in version 1. */
  readonly dataRoot: Buffer;
  /** Version 1: the data. Version 2: the data where it travels inline, else empty. */
  readonly data: Buffer;
  /** 0 = the chain's first denomination, which is not written. */
  readonly denomination: number;
}

export interface Transaction extends UnsignedTransaction {
  /** SHA-256 of the signature. */
  readonly id: Buffer;
  readonly signature: Buffer;
}

export const limits = {
  lastTxBytes: 48,
  ownerBytes: 512,
  signatureBytes: 512,
  tagBytes: 2_048,
  tagCount: 2_048,
  amountDigits: 21,
  inlineDataBytes: 10 * 1_024 * 1_024,
} as const;

/** Bytes of all names and values together, which is what the chain limits. */
export function tagBytes(tags: readonly Tag[]): number {
  return tags.reduce((sum, tag) => sum + tag.name.length + tag.value.length, 0);
}

const none = Buffer.alloc(0);

/** An unsigned version 2 transaction from what matters to the caller; the rest has the chain's defaults. */
export function newTransaction(
  fields: Partial<Omit<UnsignedTransaction, 'tags'>> & {
    readonly reward: bigint;
    readonly tags?: readonly { readonly name: string | Buffer; readonly value: string | Buffer }[];
  },
): UnsignedTransaction {
  const bytes = (value: string | Buffer): Buffer => (typeof value === 'string' ? Buffer.from(value) : value);
  const data = fields.data ?? none;
  const transaction: UnsignedTransaction = {
    format: fields.format ?? 2,
    owner: fields.owner ?? none,
    lastTx: fields.lastTx ?? none,
    target: fields.target ?? none,
    quantity: fields.quantity ?? 0n,
    reward: fields.reward,
    tags: (fields.tags ?? []).map((tag) => ({ name: bytes(tag.name), value: bytes(tag.value) })),
    dataSize: fields.dataSize ?? data.length,
    dataRoot: fields.dataRoot ?? none,
    data,
    denomination: fields.denomination ?? 0,
  };
  checkTransaction(transaction);
  return transaction;
}

/** Throws `FormatError` for fields beyond the chain's limits or at odds with each other. */
export function checkTransaction(transaction: UnsignedTransaction): void {
  const { target, tags, dataRoot, data, dataSize, format } = transaction;
  const refuse = (reason: string): never => {
    throw new FormatError(reason);
  };
  if (transaction.lastTx.length > limits.lastTxBytes) refuse('last_tx has more than 48 bytes');
  if (transaction.owner.length > limits.ownerBytes) refuse('owner has more than 512 bytes');
  if (target.length !== 0 && target.length !== 32) refuse('target has not 32 bytes');
  if (transaction.quantity > 0n && target.length === 0) refuse('quantity without a target');
  if (tags.length > limits.tagCount) refuse('more than 2048 tags');
  if (tagBytes(tags) > limits.tagBytes) refuse('tags have more than 2048 bytes');
  if (data.length > limits.inlineDataBytes) refuse('data has more than 10 MiB');
  if (!Number.isSafeInteger(dataSize) || dataSize < 0) refuse('data_size is not a size');
  if (format === 1 && dataSize !== data.length) refuse('data_size is not the size of the data');
  if (format === 1 && transaction.denomination !== 0) refuse('version 1 has no denomination');
  if (format === 2 && (dataSize === 0) !== (dataRoot.length === 0)) refuse('data_root and data_size differ');
  if (format === 2 && dataRoot.length !== 0 && dataRoot.length !== 32) refuse('data_root has not 32 bytes');
  if (format === 2 && data.length !== 0 && data.length !== dataSize)
    refuse('data_size is not the size of the data');
}
