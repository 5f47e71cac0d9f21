/** A chain transaction in memory: binary fields as bytes, amounts as bigint, sizes as safe integers. */
import { FormatError } from '../format-error.ts';

/** A well-formed transaction that the chain does not take; `code` is the node's word for the reason. */
export class TransactionRuleError extends FormatError {
  override readonly name = 'TransactionRuleError';
  readonly code: 'tx_fields_too_large' | 'tx_data_size_data_root_mismatch' | 'invalid_target_length';

  constructor(code: TransactionRuleError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

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

/** Throws `TransactionRuleError` for fields beyond the chain's limits or at odds with each other. */
export function checkTransaction(transaction: UnsignedTransaction): void {
  const { target, tags, dataRoot, data, dataSize, format } = transaction;
  const refuse = (code: TransactionRuleError['code'], reason: string): never => {
    throw new TransactionRuleError(code, reason);
  };
  if (transaction.lastTx.length > limits.lastTxBytes) refuse('tx_fields_too_large', 'last_tx is too long');
  if (transaction.owner.length > limits.ownerBytes) refuse('tx_fields_too_large', 'owner is too long');
  if (tags.length > limits.tagCount) refuse('tx_fields_too_large', 'there are more than 2048 tags');
  if (tagBytes(tags) > limits.tagBytes) refuse('tx_fields_too_large', 'tags have more than 2048 bytes');
  if (data.length > limits.inlineDataBytes) refuse('tx_fields_too_large', 'data has more than 10 MiB');
  if (!Number.isSafeInteger(dataSize) || dataSize < 0) refuse('tx_fields_too_large', 'data_size is no size');
  if (target.length !== 0 && target.length !== 32)
    refuse('invalid_target_length', 'target is not an address');
  if (transaction.quantity > 0n && target.length === 0) {
    refuse('invalid_target_length', 'quantity goes to no target');
  }
  const mismatch = (reason: string): never => refuse('tx_data_size_data_root_mismatch', reason);
  if (format === 1) {
    if (dataSize !== data.length) mismatch('data_size is not the size of the data');
    if (transaction.denomination !== 0) refuse('tx_fields_too_large', 'version 1 has no denomination');
    return;
  }
  if (dataRoot.length !== (dataSize === 0 ? 0 : 32)) mismatch('data_root does not fit data_size');
  if (data.length !== 0 && data.length !== dataSize) mismatch('data_size is not the size of the data');
}
