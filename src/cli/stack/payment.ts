/** The payment server as it is put together here: card, x402 and names are plugged into it. */
import type { Config } from '../../config/config.ts';
import { RequestSignatures } from '../../credits/signatures/request-signatures.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Surface } from '../../kernel/part.ts';
import { createAuthenticator } from '../../payment/auth/request-wallet.ts';
import { createCardPart, noCardPart } from '../../payment/card/part.ts';
import { createGifts } from '../../payment/gifts.ts';
import { createPaymentSurface } from '../../payment/surface.ts';
import { createX402Part } from '../../payment/x402/part.ts';
import { version } from '../version.ts';
import type { Ledger } from './ledger.ts';
import type { LocalNetwork } from './local-network.ts';
import { makeNames } from './names.ts';
import type { ServiceKeys } from './service-keys.ts';

export interface PaymentNeeds {
  readonly log: Logger;
  readonly keys: ServiceKeys;
  readonly network: LocalNetwork;
  readonly ledger: Ledger;
  /** Where readers find what is stored here. */
  readonly gatewayUrl: string;
}

export async function makePayment(config: Config, needs: PaymentNeeds): Promise<Surface> {
  const { log, keys, network, ledger, gatewayUrl } = needs;
  const { sql, credits, pricing, cards, x402, metrics } = ledger;
  const wallet = await keys.wallet();
  const solana = await keys.solana();
  const signatures = new RequestSignatures({
    sql,
    service: config.ARWEAVE_ADDRESS ?? wallet.address,
    requireBound: config.REQUIRE_BOUND_SIGNATURES,
    perMinute: config.ACTING_SIGNATURES_PER_MINUTE,
  });
  const names = config.NAMES_ENABLED
    ? await makeNames(config, { log, network, ledger, signatures, key: solana })
    : undefined;
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
      ...(names === undefined ? [] : [names]),
      card,
      ...(x402 === undefined ? [] : [createX402Part({ x402, credits, pricing, auth })]),
    ],
  });
}
