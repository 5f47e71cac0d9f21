/**
 * Receipts: the service's signed promise to have an item in a posted bundle by a height. The signature covers
 * version, id, deadline and timestamp as a deep hash and has no salt, so that the receipt of an item can be made
 * again from its row and is the same byte for byte.
 *
 * An RSA signature costs more than all else that a repeated upload asks for, so it is made once and kept with the
 * item's row. It is stored a moment after the answer: one that a crash took is made again.
 */
import type { KeyObject } from 'node:crypto';
import { receiptMessage, receiptVersion } from '../../formats/receipt.ts';
import type { RunReport } from '../../kernel/background/run-record.ts';
import { WakeableTask } from '../../kernel/background/wakeable-task.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { type ArweaveKey, signPss, withoutSalt } from '../../wallets/arweave/rsa.ts';
import { type StoredItem, type StoredSignature, setReceipt } from '../items/item-rows.ts';

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

/** Hosts of gateways: which have the bytes of an item, and which know it. */
export type Places = Pick<Receipt, 'dataCaches' | 'fastFinalityIndexes'>;

type Promised = Pick<StoredItem, 'id' | 'owner' | 'winc' | 'receivedAt' | 'deadlineHeight' | 'answer'> & {
  readonly receipt?: StoredSignature | undefined;
};

type SignedItem = Pick<StoredItem, 'id' | 'receivedAt' | 'deadlineHeight'>;

/** Signatures that were made at about the same time are stored together. */
const gatherMs = 50;
/** Each by itself, so that no transaction holds one row while it waits for another; so many share a commit. */
const storedAtOnce = 16;
const retryMs = 5_000;
/** Beyond it the oldest are not stored: they are made again when they are asked for. */
const maxUnstored = 10_000;

interface ReceiptsOptions {
  readonly key: ArweaveKey;
  readonly sql: Sql;
  /** Who has the bytes and who knows the item, at the moment of asking. */
  readonly caches: () => Places;
}

export class Receipts {
  readonly #options: ReceiptsOptions;
  readonly #modulus: string;
  readonly #signingKey: KeyObject;
  /** Signatures that are being made or are not stored yet, by what they sign. */
  readonly #unstored = new Map<string, { readonly item: SignedItem; readonly signature: Promise<Buffer> }>();
  readonly #storing = new WakeableTask({
    name: 'store receipts',
    run: async () => {
      await this.#store();
      return undefined;
    },
    failed: () => retryMs,
  });

  constructor(options: ReceiptsOptions) {
    this.#options = options;
    this.#modulus = options.key.modulus.toString('base64url');
    this.#signingKey = withoutSalt(options.key.privateKey);
  }

  start(): void {
    this.#storing.start();
  }

  reports(): readonly RunReport[] {
    return this.#storing.reports();
  }

  /** Tries to store what is not stored yet. */
  async stop(): Promise<void> {
    await this.#storing.stop();
    await this.#store().catch(() => {});
  }

  /** The receipt of a stored item. */
  async of(item: Promised): Promise<Receipt> {
    const signature = await this.#signature(item);
    return {
      id: item.id,
      owner: item.owner,
      timestamp: item.receivedAt,
      winc: item.winc.toString(),
      version: receiptVersion,
      deadlineHeight: item.deadlineHeight,
      ...this.#options.caches(),
      public: this.#modulus,
      signature: signature.toString('base64url'),
      ...item.answer,
    };
  }

  #signature(item: Promised): Promise<Buffer> | Buffer {
    const { key } = this.#options;
    // The service may have got another key since.
    if (item.receipt?.key === key.address) return item.receipt.signature;
    const { id, deadlineHeight, receivedAt } = item;
    const message = receiptMessage(id, deadlineHeight, receivedAt);
    const what = message.toString('base64url');
    const begun = this.#unstored.get(what);
    if (begun !== undefined) return begun.signature;
    const signature = signPss(this.#signingKey, message, 0);
    this.#unstored.set(what, { item: { id, deadlineHeight, receivedAt }, signature });
    signature.then(
      () => this.#storing.wake(gatherMs),
      () => this.#unstored.delete(what),
    );
    this.#forgetOldest();
    return signature;
  }

  #forgetOldest(): void {
    for (const what of this.#unstored.keys()) {
      if (this.#unstored.size <= maxUnstored) return;
      this.#unstored.delete(what);
    }
  }

  async #store(): Promise<void> {
    const { sql, key } = this.#options;
    const waiting = [...this.#unstored];
    for (let from = 0; from < waiting.length; from += storedAtOnce) {
      await Promise.all(
        waiting.slice(from, from + storedAtOnce).map(async ([what, { item, signature }]) => {
          await setReceipt(sql, item, { key: key.address, signature: await signature });
          this.#unstored.delete(what);
        }),
      );
    }
  }
}
