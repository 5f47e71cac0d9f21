/** A chain transaction as a header of the index. */
import { hash } from 'node:crypto';
import type { Transaction } from '../../formats/arweave/transaction.ts';
import { transactionOwner } from '../../formats/arweave/transaction-signature.ts';
import { TRANSACTION } from '../chain-index/order.ts';
import type { Header } from '../chain-index/records.ts';
import { ECDSA_SIGNATURE } from '../chain-index/sql-index.ts';

const RSA_SIGNATURE = 1;

/** undefined when the signature names no signer. */
export function headerOf(transaction: Transaction): Header | undefined {
  const ownerKey = transactionOwner(transaction);
  if (ownerKey === undefined) return undefined;
  return {
    id: transaction.id,
    kind: TRANSACTION,
    ownerKey,
    ownerAddress: hash('sha256', ownerKey, 'buffer'),
    signature: transaction.signature,
    signatureType: transaction.owner.length === 0 ? ECDSA_SIGNATURE : RSA_SIGNATURE,
    format: transaction.format,
    target: orNull(transaction.target),
    anchor: orNull(transaction.lastTx),
    quantity: String(transaction.quantity),
    reward: String(transaction.reward),
    denomination: transaction.denomination,
    dataSize: transaction.dataSize,
    dataRoot: orNull(transaction.dataRoot),
    tags: transaction.tags,
  };
}

function orNull(bytes: Buffer): Buffer | null {
  return bytes.length === 0 ? null : bytes;
}
