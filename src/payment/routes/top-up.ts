/** GET /top-up/{method}/{address}/{currency}/{amount}: a quote and a session to pay it with (interface §4.1). */
import { Type } from 'typebox';
import { type App, originOf, type Request } from '../../kernel/http/app.ts';
import type {
  CardMethod,
  CardOrder,
  CardQuote,
  CardSession,
  CheckoutPage,
  PurposePayments,
} from '../../payments/card/card.ts';
import { cardMethods, cardProviderName } from '../../payments/card/card.ts';
import {
  type CheckoutHome,
  type CheckoutQuery,
  readCheckoutPage,
} from '../../payments/card/checkout-page.ts';
import { CardAmountRefused, CardProviderUnavailable, CheckoutRefused } from '../../payments/card/errors.ts';
import { currencyFacts, parseCurrency } from '../../pricing/currencies.ts';
import type { Currency, FiatQuote, Pricing } from '../../pricing/pricing.ts';
import { renderAdjustment } from '../../pricing/pricing.ts';
import { type AddressKind, parseAddress } from '../../wallets/address.ts';
import { creditsText, neverCache } from '../answers.ts';
import type { RequestWallet } from '../auth/request-wallet.ts';
import {
  invalidAddressType,
  invalidAmount,
  invalidDestination,
  invalidGiftMessage,
  invalidMethod,
  invalidUiMode,
  invalidUrl,
  providerUnavailable,
  shortened,
  unsupportedCurrency,
} from '../errors.ts';
import { escapeHtml, isEmail } from '../gifts.ts';
import { promoCodes, promoQuery } from '../promo-query.ts';
import { readReferer } from '../referer.ts';
import { adjustments, errorText, signatureHeaders, winc } from '../schemas.ts';
import { thankYouPath } from './thank-you.ts';

export interface TopUpDeps {
  readonly topUps: PurposePayments;
  readonly pricing: Pick<Pricing, 'limits' | 'quoteFiat'>;
  /** Where payers go after checkout; the service's own address when undefined. */
  readonly appUrl: string | undefined;
  /** Wallets that nothing is sold to; none unless given. */
  readonly refuses?: ((address: string) => boolean) | undefined;
}

export const topUpPath = '/top-up/:method/:address/:currency/:amount';
const longestGiftMessage = 250;
const longestReferer = 2_048;

const Params = Type.Object({
  method: Type.String({ description: '`payment-intent` or `checkout-session`' }),
  address: Type.String(),
  currency: Type.String(),
  amount: Type.String({ description: 'smallest unit of the currency' }),
});
const Text = Type.Optional(Type.String({ maxLength: 4_096 }));
const Query = Type.Object({
  promoCode: promoQuery,
  uiMode: Type.Optional(Type.String({ description: '`hosted` (default) or `embedded`' })),
  returnUrl: Text,
  successUrl: Text,
  cancelUrl: Text,
  token: Type.Optional(Type.String({ description: 'chain of the address, default `arweave`' })),
  destinationAddressType: Type.Optional(Type.String({ description: 'as `token`; also `email`' })),
  giftMessage: Text,
});
const Answer = Type.Object({
  topUpQuote: Type.Object({
    topUpQuoteId: Type.String(),
    destinationAddress: Type.String(),
    destinationAddressType: Type.String(),
    paymentAmount: Type.Integer(),
    quotedPaymentAmount: Type.Integer(),
    currencyType: Type.String(),
    winstonCreditAmount: winc,
    quoteExpirationDate: Type.String(),
    paymentProvider: Type.String(),
  }),
  paymentSession: Type.Object({
    id: Type.String(),
    client_secret: Type.Union([Type.String(), Type.Null()]),
    url: Type.Union([Type.String(), Type.Null()]),
  }),
  adjustments,
  fees: adjustments,
});

export function topUpRoute(scope: App, deps: TopUpDeps): void {
  scope.get(
    topUpPath,
    {
      schema: {
        summary: 'Create a top-up quote and a card payment session',
        params: Params,
        querystring: Query,
        headers: signatureHeaders,
        response: { 200: Answer, 400: errorText, 403: errorText, 429: errorText, 503: errorText },
      },
      config: {
        actsOnGet: true,
        clientLimit: 'card-quote',
        invalid: (_part, field) => `Invalid query parameter: ${field}`,
      },
    },
    async (request, reply) => {
      reply.header('cache-control', neverCache);
      const { params, query } = request;
      const method = readMethod(params.method);
      const type = readAddressType(query.destinationAddressType ?? query.token ?? 'arweave');
      const giftMessage = readGiftMessage(query.giftMessage);
      const origin = originOf(request);
      const page = (quote?: CardQuote) =>
        pageOf(query, {
          appUrl: deps.appUrl,
          home: `${origin}/`,
          ...(quote && { thanks: `${origin}/v1${thankYouPath}?quote=${quote.id}` }),
        });
      page();
      const wallet = parseDestination(params.address, type);
      if (wallet === undefined || deps.refuses?.(wallet.address)) throw invalidDestination();
      const price = await quote(
        params.currency,
        params.amount,
        promoCodes(query.promoCode),
        wallet,
        deps.pricing,
      );
      const referer = refererOf(request);
      const opened = await open(deps.topUps, {
        method,
        page,
        ...wallet,
        debtor: wallet,
        currency: price.currency,
        paymentAmount: price.paymentAmount,
        quotedPaymentAmount: price.quotedPaymentAmount,
        winc: price.winc,
        adjustments: price.adjustments,
        fees: price.fees,
        description: `${creditsText(price.winc)} credits for ${wallet.address}`,
        details: { giftMessage },
        metadata: (made) => metadataOf(made, price, giftMessage, referer),
        ...(referer === undefined ? {} : { referer }),
      });
      return render(opened.quote, opened.session, price);
    },
  );
}

function readMethod(text: string): CardMethod {
  const method = cardMethods.find((known) => known === text);
  if (method === undefined) throw invalidMethod();
  return method;
}

function readAddressType(type: string): string {
  if (!isAddressType(type)) throw invalidAddressType(type);
  return type;
}

function readGiftMessage(message: string | undefined): string | null {
  if (message === undefined || message === '') return null;
  if (message.length > longestGiftMessage) throw invalidGiftMessage();
  return escapeHtml(message);
}

function refererOf({ headers }: Request): string | undefined {
  const page = readReferer(headers.referer, longestReferer);
  return page && `${page.origin}${page.pathname}`;
}

function pageOf(query: CheckoutQuery, home: CheckoutHome): CheckoutPage {
  try {
    return readCheckoutPage(query, home);
  } catch (error) {
    if (!(error instanceof CheckoutRefused)) throw error;
    throw error.part === 'uiMode' ? invalidUiMode() : invalidUrl(error.value);
  }
}

async function quote(
  currencyText: string,
  amountText: string,
  codes: readonly string[],
  wallet: RequestWallet,
  pricing: TopUpDeps['pricing'],
): Promise<FiatQuote> {
  const currency = parseCurrency(currencyText);
  if (currency === undefined) throw unsupportedCurrency(shortened(currencyText));
  const amount = /^(0|[1-9][0-9]{0,11})$/.test(amountText) ? Number(amountText) : undefined;
  if (amount === undefined) throw invalidAmount();
  const limits = (await pricing.limits())[currency];
  if (amount < limits.minimumPaymentAmount) {
    throw invalidAmount(`It must be at least ${limits.minimumPaymentAmount} ${currency}`);
  }
  if (amount > limits.maximumPaymentAmount) {
    throw invalidAmount(`It must be at most ${limits.maximumPaymentAmount} ${currency}`);
  }
  const promo = codes.length === 0 ? undefined : { codes, address: wallet.address };
  const price = await pricing.quoteFiat(amount, currency, promo);
  const { providerMinimum } = currencyFacts[currency];
  if (price.paymentAmount < providerMinimum) {
    throw invalidAmount(`After discounts it must be at least ${providerMinimum} ${currency}`);
  }
  if (price.winc < 1n) throw invalidAmount();
  return price;
}

async function open(topUps: PurposePayments, order: CardOrder) {
  try {
    return await topUps.open(order);
  } catch (error) {
    if (error instanceof CardProviderUnavailable) throw providerUnavailable(error);
    if (error instanceof CardAmountRefused) throw invalidAmount(error.message);
    throw error;
  }
}

/** Seen with the payment at the provider. */
function metadataOf(
  made: CardQuote,
  price: FiatQuote,
  giftMessage: string | null,
  referer: string | undefined,
): Record<string, string> {
  const applied = [...price.adjustments, ...price.fees].map(
    ({ name, amount }, index) => [`adj${index}_${name}`, amount.toString()] as const,
  );
  return {
    topUpQuoteId: made.id,
    destinationAddress: made.address,
    destinationAddressType: made.addressType,
    paymentAmount: made.paymentAmount.toString(),
    quotedPaymentAmount: made.quotedPaymentAmount.toString(),
    winstonCreditAmount: made.winc.toString(),
    currencyType: made.currency satisfies Currency,
    quoteExpirationDate: new Date(made.expiresAt).toISOString(),
    ...(giftMessage === null ? {} : { giftMessage }),
    ...(referer === undefined ? {} : { referer }),
    ...Object.fromEntries(applied),
  };
}

function render(made: CardQuote, session: CardSession, price: FiatQuote) {
  return {
    topUpQuote: {
      topUpQuoteId: made.id,
      destinationAddress: made.address,
      destinationAddressType: made.addressType,
      paymentAmount: made.paymentAmount,
      quotedPaymentAmount: made.quotedPaymentAmount,
      currencyType: made.currency,
      winstonCreditAmount: made.winc.toString(),
      quoteExpirationDate: new Date(made.expiresAt).toISOString(),
      paymentProvider: cardProviderName,
    },
    paymentSession: { id: session.id, client_secret: session.client_secret, url: session.url },
    adjustments: price.adjustments.map(renderAdjustment),
    fees: price.fees.map(renderAdjustment),
  };
}

/** Clients name a wallet's chain by the token it holds. */
const kindsOf: Readonly<Record<string, readonly AddressKind[]>> = {
  arweave: ['arweave'],
  // The token moved from one chain to the other; wallets of both are about.
  ario: ['solana', 'arweave'],
  ethereum: ['ethereum'],
  'base-eth': ['ethereum'],
  matic: ['ethereum'],
  pol: ['ethereum'],
  usdc: ['ethereum'],
  'base-usdc': ['ethereum'],
  'polygon-usdc': ['ethereum'],
  solana: ['solana'],
  ed25519: ['solana'],
  kyve: ['kyve'],
};

const isAddressType = (type: string) => type === 'email' || Object.hasOwn(kindsOf, type);

/** The wallet in its normal form, or the email address HTML-escaped; undefined when it is none of its type. */
function parseDestination(text: string, type: string): RequestWallet | undefined {
  if (type === 'email')
    return isEmail(text) ? { address: escapeHtml(text), addressType: 'email' } : undefined;
  for (const kind of kindsOf[type] ?? []) {
    const parsed = parseAddress(text, kind);
    if (parsed !== undefined) return { address: parsed.address, addressType: type };
  }
  return undefined;
}
