/**
 * Receipts: the service's signed promise to have an item in a posted bundle by a height. The signature covers
 * version, id, deadline and timestamp as a deep hash and has no salt, so that the receipt of an item can be made
 * again from its row and is the same byte for byte.
 */
import { deepHash } from '../../formats/deep-hash.ts';
import { type ArweaveKey, signPss } from '../../wallets/arweave/rsa.ts';
import type { StoredItem } from '../items/item-rows.ts';

export const receiptVersion = '0.2.0';
/** Blocks from the height at which an item is taken in to its deadline. */
export const deadlineBlocks = 200;

export interface Receipt {
  readonly id: string;
  readonly owner: string;
  readonly timestamp: number;
  readonly winc: string;
  readonly version: string;
  readonly deadlineHeight: number;
  readonly dataCaches: readonly string[];
  readonly fastFinalityIndexes: readonly string[];
  readonly public: string;
  readonly signature: string;
  /** createdApproval, revokedApprovals, x402Payment, payer: what belongs to the upload that made the item. */
  readonly [extra: string]: unknown;
}

type Promised = Pick<StoredItem, 'id' | 'owner' | 'winc' | 'receivedAt' | 'deadlineHeight' | 'answer'>;

export class Receipts {
  readonly #key: ArweaveKey;
  readonly #modulus: string;
  readonly #caches: () => {
    readonly dataCaches: readonly string[];
    readonly fastFinalityIndexes: readonly string[];
  };

  constructor(
    key: ArweaveKey,
    caches: () => { dataCaches: readonly string[]; fastFinalityIndexes: readonly string[] },
  ) {
    this.#key = key;
    this.#modulus = key.modulus.toString('base64url');
    this.#caches = caches;
  }

  async sign(item: Promised): Promise<Receipt> {
    const { id, owner, receivedAt: timestamp, deadlineHeight } = item;
    const signature = await signPss(this.#key.privateKey, receiptMessage(id, deadlineHeight, timestamp), 0);
    return {
      id,
      owner,
      timestamp,
      winc: item.winc.toString(),
      version: receiptVersion,
      deadlineHeight,
      ...this.#caches(),
      public: this.#modulus,
      signature: signature.toString('base64url'),
      ...item.answer,
    };
  }
}

/** The 48 bytes that a receipt signs. */
export function receiptMessage(id: string, deadlineHeight: number, timestamp: number): Buffer {
  return deepHash(['Bundlr', receiptVersion, id, String(deadlineHeight), String(timestamp)]);
}
