/** GET /arns/price/{intent}/{name}: what a purchase costs in name tokens, in winc and, on request, by card. */
import { type Static, Type } from 'typebox';
import type { App, Request } from '../../kernel/http/app.ts';
import { TextAnswers } from '../../kernel/http/text-answers.ts';
import { parseCurrency } from '../../pricing/currencies.ts';
import { renderAdjustment } from '../../pricing/pricing.ts';
import { badRequest, invalidParameters, notAnAnt } from '../errors.ts';
import type { NamePrice } from '../prices/prices.ts';
import { listOf, mergeFields } from '../requests/fields.ts';
import { readProcessId, readPurchase } from '../requests/read-purchase.ts';
import type { NamesContext } from './context.ts';
import { errorText, payerHeaders, priceResult } from './schemas.ts';

type PriceContext = Pick<NamesContext, 'pricing' | 'prices'>;

const Params = Type.Object({
  intent: Type.String({ description: 'buy-record, upgrade-name, extend-lease, increase-undername-limit' }),
  name: Type.String({ description: 'name without the .ar suffix' }),
});
const text = Type.Optional(Type.String({ maxLength: 1_000 }));
const Query = Type.Object({
  currency: text,
  years: text,
  type: text,
  increaseQty: text,
  processId: text,
  userAddress: text,
  promoCode: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 20 })])),
});

/** Prices change with the day and the rates: clients may keep them for a minute. */
const answers = new TextAnswers({
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'max-age=60',
});

export function arnsPriceRoute(app: App, context: PriceContext): void {
  app.get(
    '/arns/price/:intent/:name',
    {
      schema: {
        summary: 'Price an ArNS operation',
        params: Params,
        querystring: Query,
        headers: payerHeaders,
        response: { 200: priceResult, 400: errorText, 503: errorText },
      },
      config: { invalid: 'Invalid parameters' },
    },
    (request, reply): void | Promise<void> => {
      const answer = answerPrice(context, request);
      // At once where it is known: each wait costs a small answer a good part of its time.
      if (typeof answer !== 'string') return answer.then((text) => answers.send(reply, text));
      answers.send(reply, answer);
    },
  );
}

type PriceRequest = Request & { params: Static<typeof Params>; query: Static<typeof Query> };

function answerPrice(context: PriceContext, request: PriceRequest): string | Promise<string> {
  const { intent, name } = request.params;
  const fields = mergeFields(request.query, undefined);
  const { purchase } = readPurchase(intent, name, fields);
  const currency = readCurrency(request.query.currency);
  const processId = readProcessId(request.query.processId);
  // Whatever else the address of the request says makes no other question.
  const question = JSON.stringify([purchase, processId]);
  const known = currency === undefined ? context.prices.answers.answer(purchase.name, question) : undefined;
  return known ?? findPrice(context, request, { purchase, processId, currency, question });
}

interface PriceQuestion {
  readonly purchase: ReturnType<typeof readPurchase>['purchase'];
  readonly processId: ReturnType<typeof readProcessId>;
  readonly currency: ReturnType<typeof readCurrency>;
  /** All of it, where no currency is asked for. */
  readonly question: string;
}

async function findPrice(
  context: PriceContext,
  request: PriceRequest,
  { purchase, processId, currency, question }: PriceQuestion,
): Promise<string> {
  const ownAnt = processId !== undefined;
  const price = await context.prices.name(purchase, { mayBeCached: true, ownAnt });
  if (ownAnt && purchase.action === 'buy-name' && !(await context.prices.isToken(processId))) {
    throw notAnAnt(processId);
  }
  const answer = priceJson(price);
  if (currency === undefined) {
    const text = JSON.stringify(answer);
    context.prices.answers.keep(question, text, price.state);
    return text;
  }
  const codes = listOf(mergeFields(request.query, undefined), 'promoCode') ?? [];
  const address = request.query.userAddress ?? '';
  const fiatEstimate = await estimate(context, price, currency, codes, address);
  return JSON.stringify({ ...answer, fiatEstimate });
}

function readCurrency(text: string | undefined) {
  if (text === undefined || text === '') return undefined;
  const currency = parseCurrency(text);
  if (currency === undefined) throw badRequest(`The currency type '${text.slice(0, 20)}' is not supported`);
  return currency;
}

/** Both spellings of the token's amount: the contract's and the one published clients read. */
function priceJson(price: NamePrice) {
  const mtoken = price.mtoken.toString();
  return {
    mTOKEN: mtoken,
    mARIO: mtoken,
    winc: price.winc.toString(),
    ...(price.surcharge !== undefined && {
      antSpawnSurchargeWinc: price.surcharge.toString(),
      wincTotalWithAntSpawn: price.total.toString(),
    }),
  };
}

async function estimate(
  { pricing }: PriceContext,
  price: NamePrice,
  currency: NonNullable<ReturnType<typeof parseCurrency>>,
  codes: readonly string[],
  address: string,
) {
  if (codes.length > 0 && address === '') throw invalidParameters();
  const promo = codes.length === 0 ? undefined : { codes, address };
  const quote = await pricing.quotePurchase(price.winc, currency, promo);
  const surcharge =
    price.surcharge === undefined ? undefined : await pricing.fiatOf(price.surcharge, currency);
  return {
    paymentAmount: quote.paymentAmount,
    quotedPaymentAmount: quote.quotedPaymentAmount,
    ...(surcharge !== undefined && {
      antSpawnSurchargeAmount: surcharge,
      paymentAmountWithAntSpawn: quote.paymentAmount + surcharge,
    }),
    excessWincAmount: quote.excessWinc.toString(),
    adjustments: quote.adjustments.map(renderAdjustment),
    fees: quote.fees.map(renderAdjustment),
  };
}
