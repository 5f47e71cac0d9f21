/** `Pricing` put together: oracles and catalogue in memory, the arithmetic of `quotes/` between them. */
import type { Sql, SqlExecutor } from '../storage/sql/sql.ts';
import { judgePromoCodes, type PromoJudge, promoUses } from './catalogue/promo.ts';
import {
  allRows,
  type CatalogueRow,
  isActive,
  type PaymentAdjustment,
  type UploadAdjustment,
} from './catalogue/rows.ts';
import { sparedBy } from './catalogue/upload-uses.ts';
import { currencyFacts } from './currencies.ts';
import { type Decimal, decimal, toNumber } from './decimal.ts';
import { Oracle } from './oracle.ts';
import {
  type BytesQuote,
  type Currency,
  type CurrencyLimits,
  currencies,
  type FiatQuote,
  type GibibyteRates,
  type NetworkPriceSource,
  type Pricing,
  type PromoContext,
  type PurchaseQuote,
  type RateSource,
  type RateTable,
  type Token,
  type TokenQuote,
  WINC_PER_CREDIT,
  type Winc,
  winc,
} from './pricing.ts';
import { adjustUpload, itemSurcharge, networkPrice } from './quotes/bytes.ts';
import {
  chargeFees,
  type DiscountRow,
  discount,
  type FiatPrices,
  fiatOfWinc,
  limitsOf,
  wincOfFiat,
  withFees,
} from './quotes/fiat.ts';
import { chargeTokenFees, usdcOfWinc, usdOfToken, wincOfToken, wincOfUsdc } from './quotes/token.ts';

const GIBIBYTE = 2 ** 30;
const noRows: readonly UploadAdjustment[] = [];

export interface PricingOptions {
  /** The `ledger` database, which holds the catalogue. */
  readonly sql: Sql;
  readonly rates: RateSource;
  readonly network: NetworkPriceSource;
  /** Whether a payment was ever credited to the wallet (the ledger knows). */
  readonly hasPaid: (executor: SqlExecutor, address: string) => Promise<boolean>;
  readonly ratesFreshMs: number;
  readonly ratesUsableMs: number;
  readonly networkFreshMs: number;
  readonly networkUsableMs: number;
  readonly catalogueFreshMs: number;
  /** US dollars per data item, decimal text. */
  readonly usdPerItem: string;
  /** Fees that hold without any catalogue row. */
  readonly fees: readonly PaymentAdjustment[];
  readonly tokensWithoutFees: readonly string[];
  readonly now?: () => number;
  onOracleFailure?(oracle: string, error: unknown): void;
}

/** What a price of bytes is made from. */
interface Inputs {
  readonly reference: bigint;
  readonly rates: RateTable;
  readonly catalogue: readonly CatalogueRow[];
}

export function createPricing(options: PricingOptions): Pricing {
  return new PricingService(options);
}

class PricingService implements Pricing {
  readonly #options: PricingOptions;
  readonly #rates: Oracle<RateTable>;
  readonly #network: Oracle<bigint>;
  readonly #catalogue: Oracle<readonly CatalogueRow[]>;
  readonly #usdPerItem: Decimal;
  readonly #now: () => number;
  readonly #judge: PromoJudge;
  #lastSurcharge: { readonly rates: RateTable; readonly amount: bigint } | undefined;
  readonly promoUses;

  constructor(options: PricingOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    const oracle = <T>(
      name: 'rates' | 'network',
      fetch: () => Promise<T>,
      freshMs: number,
      usableMs: number,
    ) =>
      new Oracle<T>({
        name,
        fetch,
        freshMs,
        usableMs,
        ...(options.now === undefined ? {} : { now: options.now }),
        onFailure: (error) => options.onOracleFailure?.(name, error),
      });
    this.#rates = oracle('rates', () => options.rates.fetch(), options.ratesFreshMs, options.ratesUsableMs);
    this.#network = oracle(
      'network',
      () => options.network.fetch(),
      options.networkFreshMs,
      options.networkUsableMs,
    );
    // Read from our own database, so it is as available as the rest; a changed row is seen within the time.
    this.#catalogue = oracle(
      'rates',
      () => allRows(options.sql),
      options.catalogueFreshMs,
      options.ratesUsableMs,
    );
    this.#usdPerItem = decimal(options.usdPerItem);
    this.#judge = { hasPaid: options.hasPaid, now: this.#now };
    this.promoUses = promoUses(this.#judge);
  }

  async quoteBytes(bytes: number, user?: string): Promise<BytesQuote> {
    const inputs = this.#knownInputs() ?? (await this.#inputs());
    if (user === undefined) return this.#bytesQuote(bytes, inputs);
    const rows = this.#uploadRows(inputs.catalogue);
    return this.#bytesQuote(bytes, inputs, await sparedBy(this.#options.sql, rows, user, this.#now()));
  }

  knownBytesQuote(bytes: number): BytesQuote | undefined {
    const inputs = this.#knownInputs();
    return inputs === undefined ? undefined : this.#bytesQuote(bytes, inputs);
  }

  #bytesQuote(bytes: number, inputs: Inputs, spared?: ReadonlyMap<string, bigint>): BytesQuote {
    const networkWinc = networkPrice(inputs.reference, bytes);
    const adjusted = adjustUpload(networkWinc, bytes, this.#uploadRows(inputs.catalogue), spared);
    const surcharge = this.#surcharge(inputs.rates);
    return {
      winc: winc(adjusted.amount + surcharge),
      networkWinc: winc(networkWinc),
      surchargeWinc: winc(surcharge),
      adjustments: adjusted.applied,
    };
  }

  async quoteFiat(amount: number, currency: Currency, promo?: PromoContext): Promise<FiatQuote> {
    const prices = await this.#fiatPrices(currency);
    const charged = await this.#charge(BigInt(amount), prices, promo);
    const credited = chargeFees(BigInt(amount), await this.#fees('inclusive'), prices);
    return {
      currency,
      quotedPaymentAmount: amount,
      paymentAmount: Number(charged.amount),
      winc: winc(wincOfFiat(credited.amount, prices)),
      adjustments: charged.applied,
      fees: credited.applied,
    };
  }

  async quoteToken(amount: bigint, token: Token, { inWincOnly = false } = {}): Promise<TokenQuote> {
    const rows = await this.#tokenFees(token);
    const needsRates = !inWincOnly || token !== 'arweave' || rows.some(({ operator }) => operator === 'add');
    const rates = needsRates ? await this.rates() : undefined;
    const usdPerAr = rates?.price('arweave', 'usd');
    const usdPerToken = token === 'arweave' ? usdPerAr : rates?.price(token, 'usd');
    const worth = wincOfToken(amount, token, { usdPerToken, usdPerAr });
    const credited = chargeTokenFees(worth, rows, usdPerAr);
    return {
      token,
      winc: winc(credited.amount),
      equivalentWinc: winc(worth),
      fees: credited.applied,
      usdEquivalent: usdPerToken === undefined ? '0' : usdOfToken(amount, token, usdPerToken),
    };
  }

  async quotePurchase(amount: Winc, currency: Currency, promo?: PromoContext): Promise<PurchaseQuote> {
    const prices = await this.#fiatPrices(currency);
    const feeRows = await this.#fees('inclusive');
    const quoted = withFees(fiatOfWinc(amount, prices), feeRows, prices);
    const charged = await this.#charge(quoted, prices, promo);
    const minimum = BigInt(currencyFacts[currency].providerMinimum);
    const raised = charged.amount < minimum ? minimum : charged.amount;
    const excess = chargeFees(raised - charged.amount, feeRows, prices);
    return {
      currency,
      quotedPaymentAmount: Number(quoted),
      paymentAmount: Number(raised),
      excessWinc: winc(wincOfFiat(excess.amount, prices)),
      adjustments: charged.applied,
      fees: chargeFees(quoted, feeRows, prices).applied,
    };
  }

  async fiatOf(amount: Winc, currency: Currency): Promise<number> {
    return Number(fiatOfWinc(amount, await this.#fiatPrices(currency)));
  }

  async usdcFor(amount: Winc): Promise<bigint> {
    const rates = await this.rates();
    return usdcOfWinc(amount, await this.#usdcFees(), rates.price('arweave', 'usd'));
  }

  async wincForUsdc(amount: bigint): Promise<Winc> {
    const rates = await this.rates();
    return winc(wincOfUsdc(amount, await this.#usdcFees(), rates.price('arweave', 'usd')));
  }

  async gibibyteRates(): Promise<GibibyteRates> {
    const { reference, rates, catalogue } = this.#knownInputs() ?? (await this.#inputs());
    const price = networkPrice(reference, GIBIBYTE);
    const adjusted = adjustUpload(price, GIBIBYTE, this.#uploadRows(catalogue));
    const fees = (await this.#fees('inclusive')).filter((row) => row.operator === 'multiply');
    const share = fees.reduce((product, row) => product * toNumber(row.magnitude), 1);
    const credits = Number(adjusted.amount) / Number(WINC_PER_CREDIT);
    return {
      winc: winc(adjusted.amount),
      fiat: perCurrency((currency) => (credits * toNumber(rates.price('arweave', currency))) / share),
      adjustments: adjusted.applied,
    };
  }

  async limits(): Promise<Readonly<Record<Currency, CurrencyLimits>>> {
    const rates = await this.rates();
    return perCurrency((currency) => limitsOf(fiatPrices(rates, currency)));
  }

  async rates(): Promise<RateTable> {
    return this.#rates.peek() ?? this.#rates.get();
  }

  oracleAges() {
    return { rates: this.#rates.ageSeconds, network: this.#network.ageSeconds };
  }

  async problems(): Promise<readonly string[]> {
    const asked: readonly (readonly [string, Promise<unknown>])[] = [
      ['No price of storage is known: no Arweave node tells it.', this.#network.get()],
      ['No exchange rates are known: their source does not answer.', this.#rates.get()],
    ];
    const told = await Promise.all(
      asked.map(([problem, answer]) =>
        answer.then(
          () => [],
          () => [problem],
        ),
      ),
    );
    return told.flat();
  }

  #knownInputs(): Inputs | undefined {
    const reference = this.#network.peek();
    const rates = this.#rates.peek();
    const catalogue = this.#catalogue.peek();
    if (reference === undefined || rates === undefined || catalogue === undefined) return undefined;
    return { reference, rates, catalogue };
  }

  async #inputs(): Promise<Inputs> {
    const [reference, rates, catalogue] = await Promise.all([
      this.#network.get(),
      this.#rates.get(),
      this.#catalogue.get(),
    ]);
    return { reference, rates, catalogue };
  }

  #uploadRows(catalogue: readonly CatalogueRow[]): readonly UploadAdjustment[] {
    if (catalogue.length === 0) return noRows;
    const now = this.#now();
    return catalogue.filter((row) => row.kind === 'upload').filter((row) => isActive(row, now));
  }

  /** The same for every item while the rates stand. */
  #surcharge(rates: RateTable): bigint {
    if (this.#lastSurcharge?.rates !== rates) {
      this.#lastSurcharge = { rates, amount: itemSurcharge(this.#usdPerItem, rates.price('arweave', 'usd')) };
    }
    return this.#lastSurcharge.amount;
  }

  async #fiatPrices(currency: Currency): Promise<FiatPrices> {
    return fiatPrices(await this.rates(), currency);
  }

  /** Exclusive catalogue rows first, then the promo codes in the order given. */
  async #charge(amount: bigint, prices: FiatPrices, promo?: PromoContext) {
    const always = (await this.#fees('exclusive')).map((row) => ({ ...row, maximumDiscount: 0n }));
    const codes =
      promo === undefined || promo.codes.length === 0
        ? []
        : await judgePromoCodes(this.#options.sql, this.#judge, promo, amount, prices);
    return discount(amount, [...always, ...codes] satisfies DiscountRow[], prices);
  }

  /** Configured and catalogued payment rows of one exclusivity, by priority. */
  async #fees(exclusivity: PaymentAdjustment['exclusivity']): Promise<PaymentAdjustment[]> {
    const catalogue = this.#catalogue.peek() ?? (await this.#catalogue.get());
    const now = this.#now();
    return [...this.#options.fees, ...catalogue.filter((row) => row.kind === 'payment')]
      .filter((row) => row.exclusivity === exclusivity && isActive(row, now))
      .sort((a, b) => a.priority - b.priority);
  }

  #tokenFees(token: Token): Promise<PaymentAdjustment[]> {
    if (this.#options.tokensWithoutFees.includes(token)) return Promise.resolve([]);
    return this.#fees(token === 'kyve' ? 'inclusive_kyve' : 'inclusive');
  }

  async #usdcFees(): Promise<Decimal[]> {
    const rows = await this.#tokenFees('usdc');
    return rows.filter((row) => row.operator === 'multiply').map((row) => row.magnitude);
  }
}

const fiatPrices = (rates: RateTable, currency: Currency): FiatPrices => ({
  currency,
  perAr: rates.price('arweave', currency),
  usdPerAr: rates.price('arweave', 'usd'),
});

function perCurrency<T>(value: (currency: Currency) => T): Record<Currency, T> {
  const entries = currencies.map((currency) => [currency, value(currency)] as const);
  return Object.fromEntries(entries) as Record<Currency, T>;
}
