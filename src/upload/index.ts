/**
 * The upload surface ({upload_url}, interface §4.3): takes signed data items, has them paid in credits, and
 * brings them to the chain.
 *
 * - `routes/`     one file per route or small family, named as the path reads
 * - `intake/`     one item from its first byte to its receipt: streamed, verified, paid and stored
 * - `multipart/`  uploads in parts
 * - `bundler/`    items into bundles, bundles to the chain, and the proof that they arrived
 * - `gateway/`    telling the gateway what was taken in
 * - `chain/`      the nodes it asks
 *
 * What the gateway gets, so that an item can be read before its bundle is mined:
 *
 * 1. `GET|HEAD /v1/data-item/{id}` answers the raw bytes of an item that is held here, header and payload, with
 *    single byte ranges (RFC 9110 §14). Response headers: `content-length`, `accept-ranges: bytes`,
 *    `etag: "<id>"`, `x-payload-offset` (bytes of the item's header: the payload is everything behind it),
 *    `x-payload-content-type`, and once the item is in a bundle that was posted, `x-root-transaction-id` and
 *    `x-root-offset` (start of the item within that transaction's data). 404 when there is no such item here,
 *    also once the local copy has been let go because the item is permanent on the chain.
 * 2. After an item is taken in, its header is posted to `POST {gateway}/ar-io/admin/queue-data-item` with
 *    `Authorization: Bearer <admin key>`, up to 50 to a call: a JSON array of {id, owner (public key,
 *    base64url), owner_address, signature, signature_type (number), target, anchor, content_type, data_size
 *    (payload bytes), tags [{name, value} base64url], uploaded_at (ms)}. Repeated until the gateway answers 2xx;
 *    the same header may arrive twice.
 */
import type { Credits } from '../credits/credits.ts';
import type { Logger } from '../kernel/log.ts';
import type { X402Payments } from '../payments/x402/x402.ts';
import type { Pricing } from '../pricing/pricing.ts';
import type { BlobStore } from '../storage/blobs/blobs.ts';
import type { FreeBytes } from '../storage/disk-space.ts';
import type { Sql } from '../storage/sql/sql.ts';
import type { ArweaveKey } from '../wallets/arweave/rsa.ts';

export interface UploadDeps {
  readonly log: Logger;
  /** The `ledger` database, with `uploadMigrations` among its migrations. */
  readonly sql: Sql;
  /** For this surface alone: what it lets go is gone. */
  readonly blobs: BlobStore;
  readonly credits: Credits;
  readonly pricing: Pricing;
  /** Absent: x402 payments are not taken. */
  readonly x402?: X402Payments;
  /** Pays for bundles, and signs nothing but their transactions. */
  readonly wallet: ArweaveKey;
  /** Signs receipts. */
  readonly receiptKey: ArweaveKey;
  /** Signs data that came unsigned with an x402 payment. */
  readonly dataKey: ArweaveKey;
  /** Deposit addresses by token, for `/info`. */
  readonly addresses: Readonly<Record<string, string>>;
  /** In order of preference. */
  readonly arweaveNodeUrls: readonly string[];
  /** The gateway that serves what is uploaded here: its public address for receipts, and how to tell it. */
  readonly gateway: {
    readonly publicUrl: string;
    readonly admin?: { readonly url: string; readonly key: string };
  };
  /** Unix milliseconds. */
  readonly now?: () => number;
  /** Asks a file system for its free bytes; without it the system is asked. */
  readonly freeBytes?: FreeBytes;
}

export { uploadMigrations } from './migrations.ts';
export { createUploadSurface } from './surface.ts';
