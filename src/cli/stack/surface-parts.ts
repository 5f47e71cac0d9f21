/** The surfaces, in the order they start. */
import { request } from 'undici';
import { RequestSignatures } from '../../credits/signatures/request-signatures.ts';
import { namesOfRegistry } from '../../gateway/content/names/registry-names.ts';
import { openContentCache, openSharedStore } from '../../gateway/content/part.ts';
import { createGatewaySurface } from '../../gateway/surface.ts';
import { urlHost } from '../../kernel/http/server.ts';
import { createCardTopUps, createNoCardTopUps } from '../../payment/card/index.ts';
import { createAuthenticator, createGifts, createPaymentSurface } from '../../payment/index.ts';
import { createX402TopUps } from '../../payment/x402/index.ts';
import { createRouterSurface } from '../../router/index.ts';
import { openBlobStore } from '../../storage/blobs/open.ts';
import { createUploadSurface } from '../../upload/index.ts';
import { version } from '../version.ts';
import { type Ledger, openLedger } from './ledger.ts';
import { createNamesDoor, openNameRegistry, solanaNodes } from './names.ts';
import type { Part, World } from './part.ts';

const gateway: Part = {
  name: 'gateway',
  what: 'chain reads, content, GraphQL',
  local: false,
  wanted: (_config, surfaces) => surfaces.includes('gateway'),
  async create(world) {
    const { config, log, keys } = world;
    return createGatewaySurface(config, {
      log,
      nodeUrls: world.arweaveNodeUrls,
      release: version,
      sharePort: world.sharesPort,
      cache: await openContentCache(config),
      shared: await openSharedStore(config),
      uploadUrl: () => world.urls.get('upload') ?? base(config.UPLOAD_URL),
      names: nameSources(world),
      adminKey: await keys.adminKey(),
      egressPayee: () => egressPayee(world),
    });
  },
};

const payment: Part = {
  name: 'payment',
  what: 'prices, top-ups, balances, sharing, names',
  local: false,
  wanted: (_config, surfaces) => surfaces.includes('payment'),
  async create(world) {
    const { config, log, keys } = world;
    const { sql, credits, pricing, cards, x402, metrics } = await sharedLedger(world);
    const signatures = new RequestSignatures({
      sql,
      service: config.ARWEAVE_ADDRESS ?? (await keys.wallet()).address,
      requireBound: config.REQUIRE_BOUND_SIGNATURES,
      perMinute: config.ACTING_SIGNATURES_PER_MINUTE,
    });
    const names = config.NAMES_ENABLED
      ? await createNamesDoor(world, { sql, credits, pricing, signatures }, metrics, cards)
      : undefined;
    const auth = createAuthenticator({ jwtSecret: await keys.jwtSecret(), signatures });
    const gifts = createGifts({ sql, credits });
    const card =
      cards === undefined
        ? createNoCardTopUps()
        : createCardTopUps({ cards, credits, pricing, gifts, appUrl: config.APP_URL });
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
        arweaveNodes: world.arweaveNodeUrls,
        solanaRpcUrls: solanaNodes(world),
        arweaveAddress: (await keys.wallet()).address,
        formerArweaveAddresses: await keys.formerWallets(),
        solanaAddress: (await keys.solana()).address,
      },
      version,
      gateways: [gatewayUrl(world)],
      doors: [
        ...(names === undefined ? [] : [names]),
        card,
        ...(x402 === undefined ? [] : [createX402TopUps({ x402, credits, pricing, auth })]),
      ],
    });
  },
  // The local provider is told where its webhooks go; Stripe's are set in its dashboard.
  started: async (world) => world.localCard?.deliverTo(`${world.urls.get('payment')}/v1/stripe-webhook`),
};

const upload: Part = {
  name: 'upload',
  what: 'data items in, receipts out, bundles to the chain',
  local: false,
  wanted: (_config, surfaces) => surfaces.includes('upload'),
  async create(world) {
    const { config, log, keys } = world;
    const { sql, credits, pricing, x402 } = await sharedLedger(world);
    const wallet = await keys.wallet();
    await fundOnLocalNetwork(world, wallet.address);
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
      arweaveNodeUrls: world.arweaveNodeUrls,
      gateway: {
        publicUrl: gatewayUrl(world),
        // The one of this process need not be asked by way of the public's door.
        admin: { url: world.urls.get('gateway') ?? gatewayUrl(world), key: await keys.adminKey() },
      },
    });
  },
};

const router: Part = {
  name: 'router',
  what: 'content from proven gateways, by id or name',
  local: false,
  wanted: (_config, surfaces) => surfaces.includes('router'),
  create(world) {
    world.router = createRouterSurface(world.config, {
      log: world.log,
      version,
      localGatewayUrl: () => world.urls.get('gateway') ?? gatewayUrl(world),
    });
    return world.router;
  },
};

export const surfaceParts: readonly Part[] = [gateway, payment, upload, router];

/** The registry, where its chain is known; a gateway without it may still ask trusted gateways. */
function nameSources(world: World) {
  const opened = world.config.NAMES_ENABLED ? openNameRegistry(world) : undefined;
  if (opened !== undefined) return [namesOfRegistry(opened.registry)];
  world.log.warn(
    'this gateway reads no names from their chain: set SOLANA_RPC_URL and NAMES_ENABLED for that',
  );
  return [];
}

/** What readers pay for more bytes goes to the service. */
async function egressPayee(world: World) {
  const { x402, pricing } = await sharedLedger(world);
  if (x402 === undefined) return undefined;
  const { address } = await world.keys.wallet();
  return { x402, pricing, wallet: { address, addressType: 'arweave' as const } };
}

function sharedLedger(world: World): Promise<Ledger> {
  world.ledger ??= openLedger(world);
  return world.ledger;
}

/** Where readers find what is stored here. */
function gatewayUrl({ config, urls }: World): string {
  return (
    base(config.GATEWAY_URL) ?? urls.get('gateway') ?? `http://${urlHost(config.HOST)}:${config.GATEWAY_PORT}`
  );
}

/** Paths are put behind it. */
const base = (url: string | undefined) => url?.replace(/\/+$/, '');

/** Bundles are paid for in AR; on the local network that costs nothing, so that the wallet is filled at start. */
async function fundOnLocalNetwork({ urls }: World, address: string): Promise<void> {
  const node = urls.get('arweave');
  if (node === undefined) return;
  const text = async (path: string) => (await (await request(`${node}${path}`)).body).text();
  const enough = 1_000_000n * 1_000_000_000_000n;
  const balance = BigInt(await text(`/wallet/${address}/balance`));
  if (balance < enough / 2n) await text(`/mint/${address}/${enough}`);
}
