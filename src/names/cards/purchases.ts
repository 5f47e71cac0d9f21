/** Names by card: a quote and a session, then the payment, then the name (interface §4.2). */
import { type Credits, winc } from '../../credits/credits.ts';
import type { SolanaAddress } from '../../formats/solana/address.ts';
import type {
  CardMethod,
  CardPayments,
  CardQuote,
  CheckoutPage,
  PurchaseHandlers,
  PurposePayments,
} from '../../payments/card/card.ts';
import { CardAmountRefused, CardProviderUnavailable } from '../../payments/card/errors.ts';
import { toNumber } from '../../pricing/decimal.ts';
import { type Currency, type Pricing, renderAdjustment } from '../../pricing/pricing.ts';
import type { WalletAddress } from '../../wallets/address.ts';
import type { ActionContext } from '../actions/context.ts';
import { requireSponsor, sponsorTokens } from '../actions/sponsor.ts';
import { badRequest, cardUnavailable, nameInAuction, notAnAnt } from '../errors.ts';
import type { AskedPurchase } from '../requests/read-purchase.ts';
import { type FulfilContext, fulfil } from './fulfil.ts';
import { givePaymentBack, takePaymentBack } from './reversals.ts';
import {
  insertPurchase,
  openPurchases,
  type Promised,
  readPromised,
  readPurchase,
  writePromised,
} from './store.ts';

const namesPurpose = 'arns';
const provider = 'stripe';
const purchasesAtOnce = 200;

interface QuoteRequest extends AskedPurchase {
  readonly method: CardMethod;
  readonly page: CheckoutPage;
  readonly currency: Currency;
  readonly wallet: WalletAddress;
  /** Who signed the request: owes the price when the payment goes back. */
  readonly signer: WalletAddress | undefined;
  /** The buyer's own token. */
  readonly processId: SolanaAddress | undefined;
  readonly promoCodes: readonly string[];
}

export class CardPurchases {
  readonly #context: FulfilContext;
  readonly #cards: PurposePayments;
  readonly #pricing: Pricing;

  constructor(context: ActionContext, cards: CardPayments, pricing: Pricing) {
    this.#context = { ...context, refundNow: () => cards.refundNow() };
    this.#pricing = pricing;
    this.#cards = cards.forPurpose(namesPurpose, this.#handlers(context.credits));
  }

  async quote(asked: QuoteRequest) {
    try {
      const made = await this.#quote(asked);
      this.#context.metrics.quote('success');
      return made;
    } catch (error) {
      this.#context.metrics.quote('failed');
      if (error instanceof CardProviderUnavailable) throw cardUnavailable(error);
      if (error instanceof CardAmountRefused) throw badRequest(error.message);
      throw error;
    }
  }

  async #quote(asked: QuoteRequest) {
    const { purchase, intent, currency, wallet, signer, processId, promoCodes } = asked;
    const context = this.#context;
    const price = await context.prices.name(purchase, { ownAnt: processId !== undefined });
    if (purchase.action === 'buy-name') {
      if ((await context.registry.name(purchase.name)).returned !== undefined)
        throw nameInAuction(purchase.name);
      if (processId !== undefined && (await context.registry.ant(processId)) === undefined) {
        throw notAnAnt(processId);
      }
    }
    requireSponsor(await sponsorTokens(context), price.mtoken);
    const promo = promoCodes.length === 0 ? undefined : { codes: promoCodes, address: wallet.address };
    const fiat = await this.#pricing.quotePurchase(price.winc, currency, promo);
    const surcharge = price.surcharge ? await this.#pricing.fiatOf(price.surcharge, currency) : 0;
    const promised: Promised = {
      purchase,
      intent,
      processId,
      mtoken: price.mtoken,
      winc: price.total,
      excessWinc: fiat.excessWinc,
      usdArRate: toNumber(price.rates.price('arweave', 'usd')),
      usdTokenRate: toNumber(price.rates.price('ario', 'usd')),
    };
    const { quote, session } = await this.#cards.open({
      method: asked.method,
      page: asked.page,
      address: wallet.address,
      addressType: wallet.kind,
      debtor: signer && { address: signer.address, addressType: signer.kind },
      currency,
      paymentAmount: fiat.paymentAmount + surcharge,
      quotedPaymentAmount: fiat.quotedPaymentAmount + surcharge,
      winc: winc(price.total + fiat.excessWinc),
      adjustments: fiat.adjustments,
      fees: fiat.fees,
      description: describe(promised),
      details: { promised: writePromised(promised) },
      metadata: (made) => ({ nonce: made.id, intent, name: purchase.name, owner: wallet.address }),
    });
    const adjustments = fiat.adjustments.map(renderAdjustment);
    return {
      purchaseQuote: { ...quoteJson(quote, promised), adjustments },
      paymentSession: { id: session.id, client_secret: session.client_secret, url: session.url },
      adjustments,
      fees: fiat.fees.map(renderAdjustment),
    };
  }

  /** Undefined for a nonce that is no purchase by card. */
  async status(nonce: string) {
    const quote = await this.#cards.quote(nonce);
    if (quote === undefined) return undefined;
    const bought = await readPurchase(this.#context.sql, nonce);
    const failed = quote.state === 'failed';
    const failedAt = bought?.failedAt ?? (failed ? quote.expiresAt : undefined);
    const failedReason = bought?.failedReason ?? (failed ? quote.failure : undefined);
    const confirmed = bought?.status === 'CONFIRMED';
    return {
      ...quoteJson(quote, promisedOf(quote)),
      status: bought?.status ?? (failed ? 'FAILED' : 'PENDING'),
      createdDate: new Date(quote.createdAt).toISOString(),
      paidBy: [],
      ...(confirmed && bought.messageId !== null && { messageId: bought.messageId }),
      ...(confirmed && bought.antId !== null && { antId: bought.antId, processId: bought.antId }),
      ...(failedAt !== undefined && { failedDate: new Date(failedAt).toISOString() }),
      ...(failedReason !== undefined && { failedReason }),
    };
  }

  /** Goes on with every purchase that is not finished. */
  async reconcile(): Promise<void> {
    for (const { nonce } of await openPurchases(this.#context.sql, purchasesAtOnce)) {
      await fulfil(this.#context, nonce);
    }
  }

  #handlers(credits: Credits): PurchaseHandlers {
    const { now, settings, later } = this.#context;
    return {
      paidIn: async (tx, quote) => {
        const at = now();
        await insertPurchase(tx, quote, promisedOf(quote), at, at + settings.lifeMs);
      },
      // A process that dies before this leaves it to the reconciler.
      paid: (quote) => later(() => fulfil(this.#context, quote.id)),
      takenBackIn: (tx, quote, reversal) => takePaymentBack(tx, credits, quote, reversal),
      givenBackIn: (tx, quote, reversal) => givePaymentBack(tx, credits, quote, reversal),
    };
  }
}

function promisedOf({ details }: CardQuote): Promised {
  const { promised } = details;
  if (typeof promised !== 'string') throw new Error('a card quote for a name without its details');
  return readPromised(promised);
}

function quoteJson(quote: CardQuote, promised: Promised) {
  const { purchase } = promised;
  return {
    nonce: quote.id,
    name: purchase.name,
    intent: promised.intent,
    mTOKENQty: promised.mtoken.toString(),
    mARIOQty: promised.mtoken.toString(),
    wincQty: promised.winc.toString(),
    owner: quote.address,
    ...(promised.processId !== undefined && { processId: promised.processId }),
    ...(purchase.action === 'buy-name' && { type: purchase.type }),
    ...('years' in purchase && purchase.years > 0 && { years: purchase.years }),
    ...('quantity' in purchase && { increaseQty: purchase.quantity }),
    usdArRate: promised.usdArRate,
    usdTokenRate: promised.usdTokenRate,
    usdArioRate: promised.usdTokenRate,
    paymentAmount: quote.paymentAmount,
    quotedPaymentAmount: quote.quotedPaymentAmount,
    currencyType: quote.currency,
    paymentProvider: provider,
    quoteCreationDate: new Date(quote.createdAt).toISOString(),
    quoteExpirationDate: new Date(quote.expiresAt).toISOString(),
    excessWincAmount: promised.excessWinc.toString(),
  };
}

/** For the payment page. */
function describe({ intent, purchase }: Promised): string {
  const parts = [`Intent: ${intent}`, `Name: ${purchase.name}`];
  if (purchase.action === 'buy-name') parts.push(`Type: ${purchase.type}`);
  if ('years' in purchase && purchase.years > 0) parts.push(`Years: ${purchase.years}`);
  if ('quantity' in purchase) parts.push(`Undernames: ${purchase.quantity}`);
  return `ArNS Purchase, ${parts.join(', ')}`;
}
