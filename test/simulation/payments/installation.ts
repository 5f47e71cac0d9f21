/** An installation that sells credits and takes uploads: processes on one ledger, and whom they deal with outside. */
import { ledgerMigrations } from '../../../src/cli/ledger-database.ts';
import { type Config, readConfig } from '../../../src/config/config.ts';
import { createCredits } from '../../../src/credits/ledger/ledger.ts';
import { RequestSignatures } from '../../../src/credits/signatures/request-signatures.ts';
import { parseSolanaAddress } from '../../../src/formats/solana/address.ts';
import { createAuthenticator } from '../../../src/payment/auth/request-wallet.ts';
import { createCardPart } from '../../../src/payment/card/part.ts';
import { createGifts } from '../../../src/payment/gifts.ts';
import { createPaymentSurface } from '../../../src/payment/surface.ts';
import { createX402Part } from '../../../src/payment/x402/part.ts';
import { createCardPayments } from '../../../src/payments/card/card-payments.ts';
import { failReturn } from '../../../src/payments/returns/rows.ts';
import { createX402Payments } from '../../../src/payments/x402/x402-payments.ts';
import { createUploadSurface } from '../../../src/upload/surface.ts';
import { byteForWinc, testAdminKey } from '../../../src/upload/testing.ts';
import { ethereumAddress } from '../../../src/wallets/ethereum/address.ts';
import { publicKeyOf } from '../../../src/wallets/ethereum/secp256k1.ts';
import { solanaAddress } from '../../../src/wallets/solana/address.ts';
import { ed25519RawPublicKey, signEd25519 } from '../../../src/wallets/solana/ed25519.ts';
import { ed25519TestKey, ethereumTestKey, testArweaveKey } from '../../../src/wallets/testing/keys.ts';
import { ArweaveNetwork } from '../arweave.ts';
import { SimulatedBlobs } from '../blobs.ts';
import { balancerUrl, cardSettings, SimulatedCards } from '../cards.ts';
import { SimulatedDatabase } from '../database.ts';
import { EvmNetwork } from '../evm.ts';
import type { Network } from '../network.ts';
import type { Life } from '../process.ts';
import type { Server } from '../scenario.ts';
import { logOf } from '../uploads/installation.ts';
import type { World } from '../world.ts';
import { Facilitator } from './facilitator.ts';

/** Dollars on this chain pay by x402 and by report. */
const usdc = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913';
/** One wallet is paid in both ways. */
export const payee = ethereumAddress(publicKeyOf(ethereumTestKey('payee')));
export const serviceWallet = testArweaveKey;

export interface PayProcess extends Server {
  readonly paymentUrl: string;
  readonly uploadUrl: string;
}

export interface PaymentInstallation {
  readonly ledger: SimulatedDatabase;
  readonly cards: SimulatedCards;
  readonly processes: readonly PayProcess[];
  readonly arweave: ArweaveNetwork;
  readonly chain: EvmNetwork;
  readonly facilitator: Facilitator;
  readonly balancerUrl: string;
}

export function createPayments(world: World, network: Network): PaymentInstallation {
  const random = world.random('payments');
  const ledger = new SimulatedDatabase(world, 'money', ledgerMigrations);
  const cards = new SimulatedCards(world);
  const blobs = new SimulatedBlobs(world);
  const arweave = new ArweaveNetwork(world, network, 1 + random.below(2), 'ar');
  arweave.funds.set(serviceWallet.address, 10n ** 15n);
  const chain = new EvmNetwork(world, network, { name: 'base', nodes: 1 + random.below(3), asset: usdc });
  const facilitator = new Facilitator(world, network, chain);
  const outside = { arweave, chain, facilitator };
  const processes = Array.from({ length: 1 + random.below(2) }, (_, index): PayProcess => {
    const ports = { payment: 4_000 + index, upload: 4_100 + index };
    const config = configOf(ports, outside);
    return {
      process: world.process(`pay-${index + 1}`),
      paymentUrl: `http://127.0.0.1:${ports.payment}`,
      uploadUrl: `http://127.0.0.1:${ports.upload}`,
      program: (life) => run(life, config, outside, ledger, blobs),
    };
  });
  const services = processes.map(({ process, paymentUrl }) => ({ process, url: paymentUrl }));
  cards.balance(world, network, services);
  return { ledger, cards, processes, arweave, chain, facilitator, balancerUrl };
}

interface OutsideWorld {
  readonly arweave: ArweaveNetwork;
  readonly chain: EvmNetwork;
  readonly facilitator: Facilitator;
}

/** Put together as `cli/stack` does. */
async function run(
  life: Life,
  config: Config,
  { arweave, facilitator }: OutsideWorld,
  ledger: SimulatedDatabase,
  blobs: SimulatedBlobs,
): Promise<void> {
  const log = logOf(life);
  const sql = ledger.open();
  const credits = createCredits({ sql });
  const pricing = byteForWinc({ sql, credits });
  const cards = createCardPayments(
    { ...config, ...cardSettings },
    {
      ...{ sql, pricing, log },
      returnFailedIn: (tx, id) => failReturn(tx, credits, id, 'the refund failed', Date.now()),
    },
  );
  const x402 = createX402Payments(
    { ...config, X402_FACILITATOR_URL: facilitator.url, X402_PAYMENT_ADDRESS: payee },
    { sql, credits, pricing, log },
  );
  const signatures = new RequestSignatures({
    ...{ sql, credits, service: serviceWallet.address },
    requireBound: config.REQUIRE_BOUND_SIGNATURES,
    perMinute: config.ACTING_SIGNATURES_PER_MINUTE,
  });
  const auth = createAuthenticator({ jwtSecret: 'a secret of this world', signatures });
  const gifts = createGifts({ sql, credits });
  const arweaveNodes = arweave.nodes.map(({ url }) => url);
  const solanaKey = ed25519TestKey('service');
  const payment = createPaymentSurface(config, {
    ...{ log, sql, credits, pricing, auth, signatures, gifts },
    chains: { arweaveNodes, arweaveAddress: serviceWallet.address },
    waysBack: {
      cards,
      arweaveKey: serviceWallet,
      solanaKey: {
        address: parseSolanaAddress(solanaAddress(ed25519RawPublicKey(solanaKey))),
        sign: (message) => signEd25519(solanaKey, message),
      },
      evmKey: undefined,
      x402: { payTo: undefined, rpcUrls: {} },
    },
    outside: [cards.outside, x402.outside],
    version: '1',
    adminKey: testAdminKey,
    gateways: ['http://gateway.test'],
    parts: [
      createCardPart({ cards, credits, pricing, gifts, appUrl: undefined }),
      createX402Part({ x402, credits, pricing, auth }),
    ],
  });
  const upload = createUploadSurface(config, {
    ...{ log, sql, credits, pricing, x402, version: '1', adminKey: testAdminKey },
    ...{ wallet: serviceWallet, receiptKey: serviceWallet, dataKey: serviceWallet },
    blobs: blobs.open(),
    addresses: {},
    arweaveNodeUrls: arweaveNodes,
    gateway: { publicUrl: 'http://gateway.test' },
    freeBytes: async () => 10 ** 12,
  });
  await payment.start();
  await upload.start();
}

function configOf(ports: { payment: number; upload: number }, { chain }: OutsideWorld): Config {
  const rpcUrls = chain.nodes.map(({ url }) => url).join(',');
  return readConfig({
    PAYMENT_PORT: String(ports.payment),
    UPLOAD_PORT: String(ports.upload),
    DATA_DIR: '/nowhere',
    FREE_UPLOAD_LIMIT: '0',
    WORKER_THREADS: '1',
    // What a clock that was ahead put off may wait for 512 of them: less than what health takes for stuck.
    BUNDLE_POLL_MS: '20000',
    BUNDLE_MAX_WAIT_MS: '1200000',
    BUNDLE_CONFIRMATIONS: '18',
    ARWEAVE_MIN_CONFIRMATIONS: '18',
    MIN_FREE_DISK_BYTES: '0',
    BASE_ETH_ADDRESS: payee,
    BASE_RPC_URL: rpcUrls,
    X402_NETWORKS: 'base',
    X402_RPC_URLS: JSON.stringify({ base: rpcUrls }),
    STRIPE_RECONCILE_INTERVAL_MS: '900000',
    PAYMENT_RATE_LIMIT_PER_MINUTE: '100000',
    PAYMENT_RATE_LIMIT_BURST: '100000',
    UNKNOWN_PAYMENTS_PER_MINUTE: '100000',
    ACTING_SIGNATURES_PER_MINUTE: '100000',
    LEDGER_CHECK_INTERVAL_MS: '3600000',
    RETURN_WINDOW_DAYS: '30',
    EVENTS_POLL_MS: '10000',
    PENDING_PAYMENT_RECHECK_MS: '30000',
  });
}
