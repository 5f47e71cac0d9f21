/** The upload service as it is put together here. */
import type { Config } from '../../config/config.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Surface } from '../../kernel/part.ts';
import { openBlobStore } from '../../storage/blobs/open.ts';
import { createUploadSurface } from '../../upload/surface.ts';
import type { Ledger } from './ledger.ts';
import type { LocalNetwork } from './local-network.ts';
import type { ServiceKeys } from './service-keys.ts';

export interface UploadNeeds {
  readonly log: Logger;
  readonly keys: ServiceKeys;
  readonly network: LocalNetwork;
  readonly ledger: Ledger;
  /** For readers, and for the upload service itself. */
  readonly gateway: { readonly publicUrl: string; readonly adminUrl: string };
}

/** Bundles are paid for in AR; on the local network that costs nothing, so that the wallet is filled at start. */
const localFunds = 1_000_000n * 1_000_000_000_000n;

export async function makeUpload(config: Config, needs: UploadNeeds): Promise<Surface> {
  const { log, keys, network, gateway } = needs;
  const { sql, credits, pricing, x402 } = needs.ledger;
  const wallet = await keys.wallet();
  await network.arweave?.fund(wallet.address, localFunds);
  return createUploadSurface(config, {
    log,
    sql,
    blobs: await openBlobStore({ blobStoreUrl: config.BLOB_STORE_URL, dataDir: config.DATA_DIR }),
    credits,
    pricing,
    ...(x402 === undefined ? {} : { x402 }),
    wallet,
    receiptKey: await keys.receipts(),
    dataKey: await keys.unsignedData(),
    // Where the payment surface takes each token.
    addresses: {
      ethereum: config.ETHEREUM_ADDRESS ?? '',
      solana: config.SOLANA_ADDRESS ?? (await keys.solana()).address,
      matic: config.MATIC_ADDRESS ?? '',
    },
    arweaveNodeUrls: network.arweaveNodeUrls(),
    gateway: {
      publicUrl: gateway.publicUrl,
      admin: { url: gateway.adminUrl, key: await keys.adminKey() },
    },
  });
}
