/** GET /arns/quote/…: a quote for a name and a card session to pay it with (interface §4.2). */
import { Type } from 'typebox';
import { type App, originOf } from '../../kernel/http/app.ts';
import { type CheckoutPage, cardMethods } from '../../payments/card/card.ts';
import {
  type CheckoutHome,
  type CheckoutQuery,
  readCheckoutPage,
} from '../../payments/card/checkout-page.ts';
import { CheckoutRefused } from '../../payments/card/errors.ts';
import { parseCurrency } from '../../pricing/currencies.ts';
import { parseAddress } from '../../wallets/address.ts';
import { badRequest, cardSwitchedOff, invalidParameters } from '../errors.ts';
import { listOf, mergeFields } from '../requests/fields.ts';
import { readProcessId, readPurchase } from '../requests/read-purchase.ts';
import type { NamesContext } from './context.ts';
import { quoteSigner } from './request-signer.ts';
import { adjustment, errorText, payerHeaders, paymentSession, purchaseQuote } from './schemas.ts';

const text = Type.Optional(Type.String({ maxLength: 4_096 }));

export function arnsQuoteRoute(app: App, context: NamesContext): void {
  app.get(
    '/arns/quote/:method/:address/:currency/:intent/:name',
    {
      schema: {
        summary: 'Create a card payment session for an ArNS operation',
        params: Type.Object({
          method: Type.String({ description: 'checkout-session or payment-intent' }),
          address: Type.String(),
          currency: Type.String(),
          intent: Type.String(),
          name: Type.String(),
        }),
        querystring: Type.Object({
          promoCode: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 20 })])),
          uiMode: text,
          returnUrl: text,
          successUrl: text,
          cancelUrl: text,
          years: text,
          type: text,
          increaseQty: text,
          processId: text,
        }),
        headers: payerHeaders,
        response: {
          200: Type.Object({
            purchaseQuote,
            paymentSession,
            adjustments: Type.Array(adjustment),
            fees: Type.Array(adjustment),
          }),
          400: errorText,
          503: errorText,
        },
      },
      config: { actsOnGet: true, clientLimit: 'card-quote', invalid: 'Invalid parameters', acts: true },
    },
    async (request, reply) => {
      const { params } = request;
      const fields = mergeFields(request.query, undefined);
      const method = cardMethods.find((known) => known === params.method);
      const wallet = parseAddress(params.address);
      const currency = parseCurrency(params.currency);
      if (method === undefined || wallet === undefined || currency === undefined) throw invalidParameters();
      const asked = readPurchase(params.intent, params.name, fields);
      const page = pageOf(request.query, { appUrl: context.appUrl, home: `${originOf(request)}/` });
      const processId = readProcessId(request.query.processId);
      const promoCodes = listOf(fields, 'promoCode') ?? [];
      if (context.cards === undefined) throw cardSwitchedOff();
      const signer = await quoteSigner(request, context.signatures);
      reply.header('cache-control', 'no-store');
      return context.cards.quote({ ...asked, method, page, currency, wallet, signer, processId, promoCodes });
    },
  );
}

function pageOf(query: CheckoutQuery, home: CheckoutHome): CheckoutPage {
  try {
    return readCheckoutPage(query, home);
  } catch (error) {
    if (!(error instanceof CheckoutRefused)) throw error;
    throw error.part === 'uiMode' ? badRequest('uiMode must be hosted or embedded') : invalidParameters();
  }
}
