/**
 * GET /price/bytes/{byteCount}: winc for an upload (interface §4.1).
 * GET /price/{type}/{amount}: winc for a payment in a currency (`fiat` is US dollars) or a token.
 */
import { Type } from 'typebox';
import type { App, Reply, Request } from '../../kernel/http/app.ts';
import { parseCurrency } from '../../pricing/currencies.ts';
import {
  AmountTooSmall,
  type BytesQuote,
  type Currency,
  type Pricing,
  type PromoContext,
  parseAmount,
  renderAdjustment,
  type Token,
} from '../../pricing/pricing.ts';
import { parseToken } from '../../pricing/tokens.ts';
import { normalizeAddress } from '../../wallets/address.ts';
import { cacheMinute, neverCache, sendExact, sendJsonText } from '../answers.ts';
import type { Authenticator } from '../auth/request-wallet.ts';
import {
  byteCountTooLarge,
  invalidByteCount,
  invalidDestinationAddress,
  invalidPaymentAmount,
  paymentTooSmall,
  promoCodeNeedsWallet,
  unsupportedCurrency,
} from '../errors.ts';
import { promoCodes, promoQuery } from '../promo-query.ts';
import { adjustments, errorText, signatureHeaders, winc } from '../schemas.ts';

export interface PriceDeps {
  readonly pricing: Pricing;
  readonly auth: Authenticator;
}

const bytesAnswer = Type.Object({ winc, adjustments });

export function priceRoutes(app: App, { pricing, auth }: PriceDeps): void {
  app.get(
    '/price/bytes/:byteCount',
    {
      schema: {
        summary: 'Winc for an upload of so many bytes',
        params: Type.Object({ byteCount: Type.String({ pattern: '^[0-9]+$' }) }),
        response: { 200: bytesAnswer, 400: errorText, 503: errorText },
      },
      config: { invalid: 'Invalid byte count', oracleDown: 'Pricing Oracle Unavailable' },
    },
    ({ params }, reply) => answerBytes(pricing, params.byteCount, reply),
  );

  app.get(
    '/price/:byteCount',
    {
      schema: { hide: true, params: Type.Object({ byteCount: Type.String() }) },
      config: { oracleDown: 'Pricing Oracle Unavailable' },
    },
    ({ params }, reply) => answerBytes(pricing, params.byteCount, reply),
  );

  app.get(
    '/price/:type/:amount',
    {
      schema: {
        summary: 'Winc for a payment in a currency or a token',
        params: Type.Object({ type: Type.String(), amount: Type.String() }),
        querystring: Type.Object({
          promoCode: promoQuery,
          destinationAddress: Type.Optional(Type.String({ maxLength: 200, pattern: '^[ -~]*$' })),
        }),
        headers: signatureHeaders,
        response: {
          200: Type.Object({
            winc,
            adjustments,
            fees: adjustments,
            actualPaymentAmount: Type.Integer(),
            quotedPaymentAmount: Type.Integer(),
          }),
          400: errorText,
          503: errorText,
        },
      },
    },
    async (request, reply) => {
      const { type, amount } = request.params;
      const token = parseToken(type);
      if (token !== undefined) return answerToken(pricing, token, amount, reply);
      const currency = parseCurrency(type === 'fiat' ? 'usd' : type);
      if (currency === undefined) throw unsupportedCurrency(type);
      const codes = promoCodes(request.query.promoCode);
      const promo = await promoContext(auth, codes, request.query.destinationAddress, request, reply);
      await answerFiat(pricing, currency, amount, promo, reply);
    },
  );
}

/** Strict digits: `Number()` would take `1e3`, ` 1` and `0x10`. */
export function parseByteCount(text: string): number {
  if (!/^[0-9]+$/.test(text)) throw invalidByteCount();
  const bytes = Number(text);
  if (!Number.isSafeInteger(bytes)) throw byteCountTooLarge();
  return bytes;
}

/** Most prices are known without waiting; those are answered in the same turn. */
function answerBytes(pricing: Pricing, byteCount: string, reply: Reply): Promise<void> | void {
  const bytes = parseByteCount(byteCount);
  const quote = pricing.knownBytesQuote(bytes);
  if (quote === undefined) return pricing.quoteBytes(bytes).then((later) => sendQuote(later, reply));
  sendQuote(quote, reply);
}

function sendQuote(quote: BytesQuote, reply: Reply): void {
  const listed =
    quote.adjustments.length === 0 ? '[]' : JSON.stringify(quote.adjustments.map(renderAdjustment));
  sendJsonText(reply, `{"winc":"${quote.winc}","adjustments":${listed}}`, cacheMinute);
}

async function answerToken(pricing: Pricing, token: Token, text: string, reply: Reply): Promise<void> {
  const amount = parseAmount(text);
  if (amount === undefined) throw invalidPaymentAmount();
  const quote = await pricing.quoteToken(amount, token, { inWincOnly: true }).catch((error: unknown) => {
    throw error instanceof AmountTooSmall ? paymentTooSmall(error.message) : error;
  });
  const answer = {
    winc: quote.winc.toString(),
    adjustments: [],
    fees: quote.fees.map(renderAdjustment),
    actualPaymentAmount: quote.equivalentWinc,
    quotedPaymentAmount: quote.equivalentWinc,
  };
  sendExact(reply, answer, cacheMinute);
}

async function answerFiat(
  pricing: Pricing,
  currency: Currency,
  text: string,
  promo: PromoContext | undefined,
  reply: Reply,
): Promise<void> {
  const amount = Number(parseAmount(text) ?? Number.NaN);
  if (!Number.isSafeInteger(amount)) throw invalidPaymentAmount();
  const quote = await pricing.quoteFiat(amount, currency, promo);
  const answer = {
    winc: quote.winc.toString(),
    adjustments: quote.adjustments.map(renderAdjustment),
    fees: quote.fees.map(renderAdjustment),
    actualPaymentAmount: quote.paymentAmount,
    quotedPaymentAmount: quote.quotedPaymentAmount,
  };
  sendExact(reply, answer, promo === undefined ? cacheMinute : neverCache);
}

/** Codes are judged for the destination, else for the signer. A signature that does not hold is ignored here. */
async function promoContext(
  auth: Authenticator,
  codes: readonly string[],
  destination: string | undefined,
  request: Request,
  reply: Reply,
): Promise<PromoContext | undefined> {
  // Clients send `placeholder` where no wallet is known, so only what claims to be an EVM address is checked.
  const address = destination?.startsWith('0x') ? normalizeAddress(destination, 'ethereum') : destination;
  if (destination !== undefined && address === undefined) throw invalidDestinationAddress();
  if (codes.length === 0) return undefined;
  if (address !== undefined) return { codes, address };
  const signer = await auth.walletOf(request, reply);
  if (signer === undefined || signer === 'invalid') throw promoCodeNeedsWallet();
  return { codes, address: signer.address };
}
