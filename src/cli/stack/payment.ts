/** The payment server as it is put together here. Loaded when it is made. */
import type { Config } from '../../config/config.ts';
import type { TopUpPage } from '../../credits/lack.ts';
import { RequestSignatures } from '../../credits/signatures/request-signatures.ts';
import { StartupError } from '../../kernel/errors.ts';
import type { Surface } from '../../kernel/part.ts';
import { countOpenActions } from '../../names/actions/open-list.ts';
import { createNames, type Names } from '../../names/part.ts';
import { takenBackNames } from '../../names/receipts.ts';
import { unknownNames } from '../../names/unknown-transactions.ts';
import { createAuthenticator } from '../../payment/auth/request-wallet.ts';
import { createCardPart, noCardPart } from '../../payment/card/part.ts';
import { createGifts } from '../../payment/gifts.ts';
import { createPaymentSurface } from '../../payment/surface.ts';
import { createX402Part } from '../../payment/x402/part.ts';
import type { OutsideSource } from '../../payments/outside-records.ts';
import { parseEvmKey } from '../../payments/returns/ways/ways.ts';
import { configuredPrograms } from '../../registry/programs.ts';
import { unknownBundles } from '../../upload/reports/unknown-bundles.ts';
import { isKnownToEveryone } from '../../wallets/local-wallets.ts';
import { version } from '../version.ts';
import { NameListeners, type NameReaders } from './name-listeners.ts';
import { openNameRegistry } from './name-registry.ts';
import type { Ledger } from './shared-ledger.ts';
import type { SurfaceNeeds } from './surface-needs.ts';

interface PaymentNeeds extends SurfaceNeeds {
  readonly ledger: Ledger;
  /** Where readers find what is stored here. */
  readonly gatewayUrl: string;
  /** Where this process reads what the chain has: the gateway of its own, where there is one. */
  readonly gatewayAt: string;
  /** Who shows names, of this process or elsewhere. */
  readonly nameReaders: NameReaders;
  readonly topUpPage: TopUpPage;
}

/** Card, x402 and names are plugged into it. */
export async function makePayment(needs: PaymentNeeds): Promise<Surface> {
  const { config, log, keys, network, ledger, gatewayUrl } = needs;
  const { sql, credits, pricing, cards, x402, metrics, soundness } = ledger;
  const wallet = await keys.wallet();
  const formerWallets = await keys.formerWallets();
  const solana = await keys.solana();
  const signatures = new RequestSignatures({
    sql,
    credits,
    service: config.ARWEAVE_ADDRESS ?? wallet.address,
    requireBound: config.REQUIRE_BOUND_SIGNATURES,
    perMinute: config.ACTING_SIGNATURES_PER_MINUTE,
  });
  const names = config.NAMES_ENABLED ? [await makeNames(needs, signatures)] : [];
  const auth = createAuthenticator({ jwtSecret: await keys.jwtSecret(), signatures });
  const gifts = createGifts({ sql, credits });
  // Whoever has such a key, which is everybody, would spend what was paid for.
  const refuses = config.WORLD === 'local' ? undefined : isKnownToEveryone;
  const card =
    cards === undefined
      ? noCardPart
      : createCardPart({ cards, credits, pricing, gifts, appUrl: config.APP_URL, refuses });
  return createPaymentSurface(config, {
    log,
    sql,
    credits,
    soundness,
    pricing,
    auth,
    signatures,
    gifts,
    refuses,
    topUpPage: needs.topUpPage,
    metrics,
    outside: [
      ...(cards === undefined ? [] : [cards.outside]),
      ...(x402 === undefined ? [] : [x402.outside]),
      unknownBundles({ sql, gatewayUrl: needs.gatewayAt, wallets: [wallet.address, ...formerWallets] }),
      ...names.map(({ outside }) => outside),
    ],
    chains: {
      arweaveNodes: network.arweaveNodeUrls(),
      gateways: [needs.gatewayAt],
      solanaRpcUrls: network.solanaRpcUrls(),
      arweaveAddress: wallet.address,
      formerArweaveAddresses: formerWallets,
      solanaAddress: solana.address,
      arioMint: arioMint(config),
    },
    waysBack: {
      cards,
      arweaveKey: wallet,
      solanaKey: solana,
      evmKey: evmKey(config.RETURN_EVM_KEY ?? network.used.facilitator?.payeeKey),
      x402: {
        payTo: config.X402_PAYMENT_ADDRESS ?? network.used.facilitator?.payTo,
        rpcUrls: { ...network.used.facilitator?.rpcUrls, ...config.X402_RPC_URLS },
      },
    },
    version,
    adminKey: await keys.adminKey(),
    names: {
      keptNames: (limit) => takenBackNames(sql, limit),
      openActions: () => countOpenActions(sql),
    },
    gateways: [gatewayUrl],
    parts: [
      ...names,
      card,
      ...(x402 === undefined ? [] : [createX402Part({ x402, credits, pricing, auth, refuses })]),
    ],
  });
}

/** The token that names are bought with is also taken for credits. */
const arioMint = (config: Config) =>
  config.ARNS_PROGRAM_CLUSTER === 'custom' && config.ARNS_TOKEN_MINT === undefined
    ? undefined
    : configuredPrograms(config).mint;

const evmKey = (text: string | undefined) => (text === undefined ? undefined : parseEvmKey(text));

/** The part of the payment server that sells names. The service's Solana key buys them and pays for it. */
async function makeNames(
  needs: PaymentNeeds,
  signatures: RequestSignatures,
): Promise<Names & { readonly outside: OutsideSource }> {
  const { config, log, network, ledger } = needs;
  const { sql, credits, pricing, metrics, cards } = ledger;
  const key = await needs.keys.solana();
  // The local ledger gives the key that sells names its first lamports and tokens.
  await network.used.fundSolana(key.address);
  const opened = openNameRegistry(config, network.solanaRpcUrls());
  if (opened === undefined) throw new StartupError('SOLANA_RPC_URL must be set, or NAMES_ENABLED to false');
  const told = new NameListeners(config, needs.keys, needs.nameReaders);
  const names = createNames(config, {
    ...opened,
    log: log.child({ part: 'names' }),
    metrics,
    sql,
    credits,
    topUpPage: needs.topUpPage,
    pricing,
    signatures,
    key,
    listeners: told.listeners,
    gateways: () => told.gateways(),
    ...(cards !== undefined && { cards }),
  });
  return {
    ...names,
    outside: unknownNames({
      sql,
      chain: opened.chain,
      programs: configuredPrograms(config),
      key: key.address,
    }),
    async stop() {
      await names.stop();
      await Promise.all([opened.chain.close(), told.close()]);
    },
  };
}
