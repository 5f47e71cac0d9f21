/** The upload service as it is put together here. Loaded when it is made. */
import type { TopUpPage } from '../../credits/lack.ts';
import type { Blocklist } from '../../delivery/moderation/blocklist.ts';
import type { Surface } from '../../kernel/part.ts';
import { openBlobStore } from '../../storage/blobs/open.ts';
import { createUploadSurface } from '../../upload/surface.ts';
import { version } from '../version.ts';
import type { Ledger } from './shared-ledger.ts';
import type { SurfaceNeeds } from './surface-needs.ts';

interface UploadNeeds extends SurfaceNeeds {
  readonly ledger: Ledger;
  /** For readers, and for the upload service itself. */
  readonly gateway: { readonly publicUrl: string; readonly adminUrl: string };
  /** What is not given back; undefined where no gateway's list is followed. */
  readonly blocklist: Blocklist | undefined;
  readonly topUpPage: TopUpPage;
}

/** Bundles are paid for in AR; on the local network that costs nothing, so that the wallet is filled at start. */
const localFunds = 1_000_000n * 1_000_000_000_000n;

export async function makeUpload(needs: UploadNeeds): Promise<Surface> {
  const { config, log, keys, network, gateway, blocklist, topUpPage } = needs;
  const { sql, credits, pricing, x402, soundness } = needs.ledger;
  const wallet = await keys.wallet();
  await network.used.fundArweave(wallet.address, localFunds);
  const adminKey = await keys.adminKey();
  return createUploadSurface(config, {
    log,
    version,
    adminKey,
    sql,
    blobs: await openBlobStore({ blobStoreUrl: config.BLOB_STORE_URL, dataDir: config.DATA_DIR }),
    credits,
    soundness,
    pricing,
    ...(x402 === undefined ? {} : { x402 }),
    wallet,
    formerWallets: await keys.formerWallets(),
    receiptKey: await keys.receipts(),
    dataKey: await keys.unsignedData(),
    // Where the payment surface takes each token.
    addresses: {
      ...(config.ETHEREUM_ADDRESS && { ethereum: config.ETHEREUM_ADDRESS }),
      solana: config.SOLANA_ADDRESS ?? (await keys.solana()).address,
      ...(config.MATIC_ADDRESS && { matic: config.MATIC_ADDRESS }),
    },
    arweaveNodeUrls: network.arweaveNodeUrls(),
    blocklist,
    topUpPage,
    gateway: {
      publicUrl: gateway.publicUrl,
      admin: { url: gateway.adminUrl, key: adminKey },
    },
    otherGateways: config.ANNOUNCE_GATEWAYS.filter(
      // The one of this service is told anyway.
      ({ url }) => url !== gateway.adminUrl && url !== gateway.publicUrl,
    ).map((place) => ({
      url: place.url,
      key: keys.gatewayKey(place),
      host: place.host ?? new URL(place.url).host,
      hasData: place.data ?? true,
    })),
  });
}
