/**
 * GET /rates: what 1 GiB costs. GET /rates/{currency}: what 1 AR costs.
 * GET /currencies, GET /countries: what may be paid in and from where (interface §4.1).
 */
import { Type } from 'typebox';
import type { App } from '../../kernel/http/app.ts';
import { parseCurrency } from '../../pricing/currencies.ts';
import { toNumber } from '../../pricing/decimal.ts';
import { currencies, type Pricing, renderAdjustment } from '../../pricing/pricing.ts';
import { cacheHour, cacheMinute, neverCache, sendExact } from '../answers.ts';
import { invalidCurrency } from '../errors.ts';
import { adjustments, errorText } from '../schemas.ts';

export interface RatesDeps {
  readonly pricing: Pricing;
  readonly countries: readonly string[];
}

const limits = Type.Object(
  {
    minimumPaymentAmount: Type.Integer(),
    maximumPaymentAmount: Type.Integer(),
    suggestedPaymentAmounts: Type.Array(Type.Integer()),
    zeroDecimalCurrency: Type.Boolean(),
  },
  { title: 'CurrencyLimits' },
);

export function ratesRoutes(app: App, { pricing, countries }: RatesDeps): void {
  app.get(
    '/rates',
    {
      schema: {
        summary: 'Price of 1 GiB in winc and in every currency, fees included',
        response: {
          200: Type.Object({
            winc: Type.Integer(),
            fiat: Type.Record(Type.String(), Type.Number()),
            adjustments,
          }),
          503: errorText,
        },
      },
      config: { oracleDown: 'Failed to calculate rates.', databaseDown: 'Failed to calculate rates.' },
    },
    async (_request, reply) => {
      const rates = await pricing.gibibyteRates();
      const answer = {
        winc: rates.winc,
        fiat: rates.fiat,
        adjustments: rates.adjustments.map(renderAdjustment),
      };
      sendExact(reply, answer, cacheMinute);
    },
  );

  app.get(
    '/rates/:currency',
    {
      schema: {
        summary: 'Price of 1 AR in a currency',
        params: Type.Object({ currency: Type.String() }),
        response: {
          200: Type.Object({ currency: Type.String(), rate: Type.Number() }),
          404: errorText,
          503: errorText,
        },
      },
      config: { oracleDown: 'Failed to fetch fiat conversion for 1 AR.' },
    },
    async ({ params }, reply) => {
      const currency = parseCurrency(params.currency);
      if (currency === undefined) throw invalidCurrency();
      const rates = await pricing.rates();
      sendExact(reply, { currency, rate: toNumber(rates.price('arweave', currency)) }, neverCache);
    },
  );

  app.get(
    '/currencies',
    {
      schema: {
        summary: 'Currencies that cards are charged in, and their limits',
        response: {
          200: Type.Object({
            supportedCurrencies: Type.Array(Type.String()),
            limits: Type.Record(Type.String(), limits),
          }),
          503: errorText,
        },
      },
    },
    async (_request, reply) => {
      sendExact(reply, { supportedCurrencies: currencies, limits: await pricing.limits() }, cacheHour);
    },
  );

  app.get(
    '/countries',
    {
      schema: {
        summary: 'Countries from which payments are taken',
        response: { 200: Type.Array(Type.String()) },
      },
    },
    (_request, reply) => sendExact(reply, countries, cacheHour),
  );
}
