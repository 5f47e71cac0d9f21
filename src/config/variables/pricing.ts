import { integer, json, list, milliseconds, secret, text, url } from '../kinds.ts';

/** What one whole token costs, as a CoinGecko-shaped source would say it. */
const rates: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  arweave: {
    aud: 9.4,
    brl: 33.9,
    cad: 8.55,
    eur: 5.7,
    gbp: 4.9,
    hkd: 48.8,
    inr: 530,
    jpy: 940,
    sgd: 8.3,
    usd: 6.25,
  },
  ethereum: { usd: 3125 },
  'l2-standard-bridged-weth-base': { usd: 3125 },
  'matic-network': { usd: 0.25 },
  solana: { usd: 150 },
  'ar-io-network': { usd: 0.01 },
  'kyve-network': { usd: 0.01 },
  'usd-coin': { usd: 1 },
};

/** Where prices come from and what is added to them. */
export const pricing = {
  RATES_URL: url({
    meaning:
      'CoinGecko-shaped source of token prices (`…/api/v3`); without it STATIC_RATES are used, but never in the world `public`',
    default: undefined,
  }),
  RATES_API_KEY: secret({ meaning: 'Key for RATES_URL' }),
  STATIC_RATES: json({
    meaning: 'Prices of tokens when there is no RATES_URL: rate id -> currency -> price of one token',
    default: rates,
  }),
  RATES_REFRESH_MS: milliseconds({
    meaning: 'Age at which token prices are asked for again',
    default: 60_000,
    min: 1,
  }),
  RATES_MAX_AGE_MS: integer({
    meaning: 'Age at which token prices are no longer used while their source is down',
    default: 3_600_000,
    min: 1,
  }),
  NETWORK_PRICE_REFRESH_MS: milliseconds({
    meaning: 'Age at which the network is asked again what storage costs',
    default: 900_000,
    min: 1,
  }),
  NETWORK_PRICE_MAX_AGE_MS: integer({
    meaning: "Age at which the network's price is no longer used while no node answers",
    default: 3_600_000,
    min: 1,
  }),
  PRICE_CATALOGUE_REFRESH_MS: milliseconds({
    meaning: 'How soon a changed fee, discount or upload adjustment is seen',
    default: 5_000,
  }),
  USD_PRICE_PER_DATA_ITEM: decimalText({
    meaning: 'US dollars charged per data item beside its bytes',
    default: '0.00002',
  }),
  PAYMENT_FEE_NAME: text({ meaning: 'Name of the fee on every payment', default: 'Infrastructure Fee' }),
  PAYMENT_FEE_MULTIPLIER: decimalText({
    meaning: 'Share of a payment that is credited, above 0; 1 = no fee',
    default: '0.766',
    share: true,
  }),
  KYVE_FEE_MULTIPLIER: decimalText({
    meaning: 'Share of a payment in KYVE that is credited, in place of the above',
    default: '0.5',
    share: true,
  }),
  TOKENS_WITHOUT_FEES: list({
    meaning: 'Tokens whose payments are credited in full',
    default: ['ario', 'base-ario'],
  }),
};

function decimalText(options: { meaning: string; default: string; share?: boolean }) {
  return {
    ...text(options),
    kind: 'decimal',
    parse(value: string): string {
      if (!/^[0-9]{1,20}(\.[0-9]{1,20})?$/.test(value)) throw new Error('must be a decimal number');
      // Prices are divided by what of a payment is credited; no payer is credited more than was paid.
      if (options.share === true && (!/[1-9]/.test(value) || Number(value) > 1))
        throw new Error('must be above 0 and not above 1');
      return value;
    },
  };
}
