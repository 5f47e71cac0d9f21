/** Pricing as the environment describes it. */
import type { Config } from '../config/config.ts';
import { ArweaveNodes } from '../outside/arweave/nodes.ts';
import type { Sql, SqlExecutor } from '../storage/sql/sql.ts';
import type { PaymentAdjustment } from './catalogue/rows.ts';
import { decimal } from './decimal.ts';
import type { NetworkPriceSource, Pricing } from './pricing.ts';
import { REFERENCE_BYTES } from './quotes/bytes.ts';
import { httpRates } from './rates/http.ts';
import { staticRates } from './rates/table.ts';
import { createPricing } from './service.ts';

interface ConfiguredPricingDeps {
  readonly sql: Sql;
  /** Nodes asked for the price of storage: ARWEAVE_NODE_URLS, or the local one. */
  readonly arweaveNodes: readonly string[];
  readonly hasPaid: (executor: SqlExecutor, address: string) => Promise<boolean>;
  onOracleFailure?(oracle: string, error: unknown): void;
}

export function pricingFromConfig(config: Config, deps: ConfiguredPricingDeps): Pricing {
  const { sql, arweaveNodes, hasPaid, onOracleFailure } = deps;
  return createPricing({
    sql,
    hasPaid,
    rates:
      config.RATES_URL === undefined
        ? staticRates(config.STATIC_RATES)
        : httpRates({ url: config.RATES_URL, apiKey: config.RATES_API_KEY }),
    network: nodePrices(arweaveNodes),
    ratesFreshMs: config.RATES_REFRESH_MS,
    ratesUsableMs: config.RATES_MAX_AGE_MS,
    networkFreshMs: config.NETWORK_PRICE_REFRESH_MS,
    networkUsableMs: config.NETWORK_PRICE_MAX_AGE_MS,
    catalogueFreshMs: config.PRICE_CATALOGUE_REFRESH_MS,
    usdPerItem: config.USD_PRICE_PER_DATA_ITEM,
    fees: configuredFees(config.PAYMENT_FEE_NAME, config.PAYMENT_FEE_MULTIPLIER, config.KYVE_FEE_MULTIPLIER),
    tokensWithoutFees: config.TOKENS_WITHOUT_FEES,
    ...(onOracleFailure === undefined ? {} : { onOracleFailure }),
  });
}

/** The fee on every payment and the one on KYVE; a multiplier of 1 is no fee. */
export function configuredFees(
  name: string,
  multiplier: string,
  kyveMultiplier: string,
): PaymentAdjustment[] {
  const fee = (id: string, exclusivity: PaymentAdjustment['exclusivity'], magnitude: string) =>
    ({
      kind: 'payment',
      id,
      name,
      description: 'Covers the cost of infrastructure and of the payment provider',
      operator: 'multiply',
      magnitude: decimal(magnitude),
      magnitudeText: magnitude,
      priority: 500,
      startsAt: 0,
      endsAt: undefined,
      exclusivity,
    }) satisfies PaymentAdjustment;
  return [
    fee('configured-fee', 'inclusive', multiplier),
    fee('configured-kyve-fee', 'inclusive_kyve', kyveMultiplier),
  ].filter(({ magnitudeText }) => Number(magnitudeText) !== 1);
}

/** The price of storage, asked of Arweave nodes in their order of preference. */
export function nodePrices(nodeUrls: readonly string[], timeoutMs = 5_000): NetworkPriceSource {
  const nodes = new ArweaveNodes(nodeUrls, { timeoutMs });
  return {
    async fetch() {
      const price = await nodes.price(REFERENCE_BYTES);
      if (price === 0n) throw new Error('an Arweave node stores 10 GiB for nothing');
      return price;
    },
  };
}
