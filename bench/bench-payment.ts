/** A payment service of a measurement's own, with fixed prices and nothing outside. */
import type { Config } from '../src/config/config.ts';
import { createCredits } from '../src/credits/ledger/ledger.ts';
import { RequestSignatures } from '../src/credits/signatures/request-signatures.ts';
import { createLogger } from '../src/kernel/log.ts';
import type { Surface } from '../src/kernel/part.ts';
import { createAuthenticator } from '../src/payment/auth/request-wallet.ts';
import { createGifts } from '../src/payment/gifts.ts';
import { createPaymentSurface } from '../src/payment/surface.ts';
import { configuredFees } from '../src/pricing/configured.ts';
import { staticRates } from '../src/pricing/rates/table.ts';
import { createPricing } from '../src/pricing/service.ts';
import type { Sql } from '../src/storage/sql/sql.ts';
import { testArweaveKey } from '../src/wallets/testing/keys.ts';

export function createBenchPayment(config: Config, sql: Sql): Surface {
  const credits = createCredits({ sql });
  const pricing = createPricing({
    sql,
    rates: staticRates(config.STATIC_RATES),
    network: { fetch: async () => 12_345_678_901_234n },
    hasPaid: credits.hasPaid,
    ratesFreshMs: config.RATES_REFRESH_MS,
    ratesUsableMs: config.RATES_MAX_AGE_MS,
    networkFreshMs: config.NETWORK_PRICE_REFRESH_MS,
    networkUsableMs: config.NETWORK_PRICE_MAX_AGE_MS,
    catalogueFreshMs: config.PRICE_CATALOGUE_REFRESH_MS,
    usdPerItem: config.USD_PRICE_PER_DATA_ITEM,
    fees: configuredFees('Fee', '0.766', '0.5'),
    tokensWithoutFees: [],
  });
  const signatures = new RequestSignatures({ sql, service: testArweaveKey.address });
  return createPaymentSurface(config, {
    log: createLogger({ name: 'bench', level: 'warn', format: 'json' }),
    sql,
    credits,
    pricing,
    auth: createAuthenticator({ jwtSecret: 'bench', signatures }),
    signatures,
    gifts: createGifts({ sql, credits }),
    chains: { arweaveNodes: [] },
    version: 'bench',
    adminKey: 'bench',
    gateways: [],
  });
}
