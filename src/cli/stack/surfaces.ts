/** The surfaces as they are put together here, and the chain of names, which the gateway and the payment server read. */
import type { Config } from '../../config/config.ts';
import { RequestSignatures } from '../../credits/signatures/request-signatures.ts';
import type { Blocklist } from '../../delivery/moderation/blocklist.ts';
import { namesOfRegistry } from '../../gateway/content/names/sources.ts';
import { openContentCache, openSharedStore } from '../../gateway/content/part.ts';
import { createGatewaySurface, type GatewaySurface } from '../../gateway/surface.ts';
import { StartupError } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Surface } from '../../kernel/part.ts';
import { createNames, type Names } from '../../names/part.ts';
import { createAuthenticator } from '../../payment/auth/request-wallet.ts';
import { createCardPart, noCardPart } from '../../payment/card/part.ts';
import { createGifts } from '../../payment/gifts.ts';
import { createPaymentSurface } from '../../payment/surface.ts';
import { createX402Part } from '../../payment/x402/part.ts';
import { createNameChain } from '../../registry/chain.ts';
import { createNameRegistry } from '../../registry/name-registry.ts';
import { configuredPrograms } from '../../registry/programs.ts';
import { openBlobStore } from '../../storage/blobs/open.ts';
import { createUploadSurface } from '../../upload/surface.ts';
import { version } from '../version.ts';
import type { Ledger, SharedLedger } from './ledger.ts';
import type { LocalNetwork } from './local-network.ts';
import type { ServiceKeys } from './service-keys.ts';

/** What each of them is made with. */
export interface SurfaceNeeds {
  readonly config: Config;
  readonly log: Logger;
  readonly keys: ServiceKeys;
  readonly network: LocalNetwork;
}

export interface GatewayNeeds extends SurfaceNeeds {
  /** Opened when readers pay for bytes. */
  readonly ledger: SharedLedger;
  /** This process is one of several of the gateway. */
  readonly sharesPort: boolean;
  /** The upload service of this stack, which has what is not on the chain yet. */
  readonly uploadUrl: () => string | undefined;
  /** Of the local world: starts everything anew, because the chain is another one. */
  readonly onOtherChain: (() => void) | undefined;
}

export async function makeGateway(needs: GatewayNeeds): Promise<GatewaySurface> {
  const { config, log, keys, network, sharesPort, uploadUrl, onOtherChain } = needs;
  return createGatewaySurface(config, {
    log,
    nodeUrls: network.arweaveNodeUrls(),
    release: version,
    sharePort: sharesPort,
    cache: await openContentCache(config),
    shared: await openSharedStore(config),
    uploadUrl,
    names: nameSources(needs),
    adminKey: await keys.adminKey(),
    egressPayee: () => egressPayee(needs),
    onOtherChain,
  });
}

/** The registry, where its chain is known; a gateway without it may still ask trusted gateways. */
function nameSources({ config, log, network }: SurfaceNeeds) {
  const opened = config.NAMES_ENABLED ? openNameRegistry(config, network.solanaRpcUrls()) : undefined;
  if (opened !== undefined) return [namesOfRegistry(opened.registry)];
  log.warn('this gateway reads no names from their chain: set SOLANA_RPC_URL and NAMES_ENABLED for that');
  return [];
}

/** What readers pay for more bytes goes to the service. */
async function egressPayee({ ledger, keys }: GatewayNeeds) {
  const { x402, pricing } = await ledger.open();
  if (x402 === undefined) return undefined;
  const { address } = await keys.wallet();
  return { x402, pricing, wallet: { address, addressType: 'arweave' as const } };
}

/** Undefined without nodes. The caller closes the chain. */
function openNameRegistry(config: Config, urls: readonly string[]) {
  if (urls.length === 0) return undefined;
  const chain = createNameChain({ urls, timeoutMs: config.SOLANA_RPC_TIMEOUT_MS });
  return { chain, registry: createNameRegistry(chain, configuredPrograms(config)) };
}

export interface PaymentNeeds extends SurfaceNeeds {
  readonly ledger: Ledger;
  /** Where readers find what is stored here. */
  readonly gatewayUrl: string;
}

/** Card, x402 and names are plugged into it. */
export async function makePayment(needs: PaymentNeeds): Promise<Surface> {
  const { config, log, keys, network, ledger, gatewayUrl } = needs;
  const { sql, credits, pricing, cards, x402, metrics } = ledger;
  const wallet = await keys.wallet();
  const solana = await keys.solana();
  const signatures = new RequestSignatures({
    sql,
    service: config.ARWEAVE_ADDRESS ?? wallet.address,
    requireBound: config.REQUIRE_BOUND_SIGNATURES,
    perMinute: config.ACTING_SIGNATURES_PER_MINUTE,
  });
  const names = config.NAMES_ENABLED ? [await makeNames(needs, signatures)] : [];
  const auth = createAuthenticator({ jwtSecret: await keys.jwtSecret(), signatures });
  const gifts = createGifts({ sql, credits });
  const card =
    cards === undefined
      ? noCardPart
      : createCardPart({ cards, credits, pricing, gifts, appUrl: config.APP_URL });
  return createPaymentSurface(config, {
    log,
    sql,
    credits,
    pricing,
    auth,
    signatures,
    gifts,
    metrics,
    chains: {
      arweaveNodes: network.arweaveNodeUrls(),
      solanaRpcUrls: network.solanaRpcUrls(),
      arweaveAddress: wallet.address,
      formerArweaveAddresses: await keys.formerWallets(),
      solanaAddress: solana.address,
    },
    version,
    gateways: [gatewayUrl],
    parts: [
      ...names,
      card,
      ...(x402 === undefined ? [] : [createX402Part({ x402, credits, pricing, auth })]),
    ],
  });
}

/** The part of the payment server that sells names. The service's Solana key buys them and pays for it. */
async function makeNames(needs: PaymentNeeds, signatures: RequestSignatures): Promise<Names> {
  const { config, log, network, ledger } = needs;
  const { sql, credits, pricing, metrics, cards } = ledger;
  const key = await needs.keys.solana();
  // The local ledger gives the key that sells names its first lamports and tokens.
  await network.solana?.fund(key.address);
  const opened = openNameRegistry(config, network.solanaRpcUrls());
  if (opened === undefined) throw new StartupError('SOLANA_RPC_URL must be set, or NAMES_ENABLED to false');
  const names = createNames(config, {
    ...opened,
    log: log.child({ part: 'names' }),
    metrics,
    sql,
    credits,
    pricing,
    signatures,
    key,
    ...(cards !== undefined && { cards }),
  });
  return {
    ...names,
    async stop() {
      await names.stop();
      await opened.chain.close();
    },
  };
}

export interface UploadNeeds extends SurfaceNeeds {
  readonly ledger: Ledger;
  /** For readers, and for the upload service itself. */
  readonly gateway: { readonly publicUrl: string; readonly adminUrl: string };
  /** What is not given back; undefined where no gateway's list is followed. */
  readonly blocklist: Blocklist | undefined;
}

/** Bundles are paid for in AR; on the local network that costs nothing, so that the wallet is filled at start. */
const localFunds = 1_000_000n * 1_000_000_000_000n;

export async function makeUpload(needs: UploadNeeds): Promise<Surface> {
  const { config, log, keys, network, gateway, blocklist } = needs;
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
      ...(config.ETHEREUM_ADDRESS && { ethereum: config.ETHEREUM_ADDRESS }),
      solana: config.SOLANA_ADDRESS ?? (await keys.solana()).address,
      ...(config.MATIC_ADDRESS && { matic: config.MATIC_ADDRESS }),
    },
    arweaveNodeUrls: network.arweaveNodeUrls(),
    blocklist,
    gateway: {
      publicUrl: gateway.publicUrl,
      admin: { url: gateway.adminUrl, key: await keys.adminKey() },
    },
  });
}
