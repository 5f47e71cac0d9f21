/**
 * Prices in winc and fiat. The preview of an action and its debit are one function, and both take the rates of
 * the same table, so a client that asks first is charged what it was quoted.
 */
import { LRUCache } from 'lru-cache';
import type { DemandFactor } from '../../formats/solana/accounts-arns.ts';
import type { SolanaAddress } from '../../formats/solana/address.ts';
import { decimal, scaled } from '../../pricing/decimal.ts';
import type { Pricing, RateTable } from '../../pricing/pricing.ts';
import { type Winc, winc } from '../../pricing/units.ts';
import type { NameRegistry, NameState } from '../../registry/name-registry.ts';
import type { AuthorityAction, Purchase, RecordAction } from '../requests/action.ts';
import { AnswerCache } from './answer-cache.ts';
import { actionLamports, spawnLamports } from './lamports.ts';
import { nameCost } from './name-cost.ts';

/** One credit is 10^12 winc, one name token 10^6 of its units, one SOL 10^9 lamports. */
const wincPerTokenUnit = 10n ** 6n;
const wincPerLamport = 10n ** 3n;

interface PriceDeps {
  readonly registry: NameRegistry;
  readonly pricing: Pricing;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Winc for making a token; undefined: what it costs in SOL at the current rate. */
  readonly spawnSurcharge: bigint | undefined;
  readonly actionFloor: bigint;
  /** Share added to the cost of an action. */
  readonly actionMargin: number;
  readonly microLamports: number;
  /** The key that pays the registry: names reserved for it are sold. */
  readonly buyer: SolanaAddress | undefined;
}

export interface NamePrice {
  readonly mtoken: bigint;
  readonly winc: Winc;
  /** Undefined where no token can come with it. */
  readonly surcharge: Winc | undefined;
  /** What is debited: the price, and the surcharge where a token is made. */
  readonly total: Winc;
  readonly rates: RateTable;
  /** What the chain said of the name. */
  readonly state: NameState;
}

/** Answers of `/arns/price` may be cached by clients for a minute; reading again within a second adds nothing. */
const readingMs = 1_000;
/** Of tokens that questions name as their own. */
const maxTokens = 1_000;

export class NamePrices {
  readonly #deps: PriceDeps;
  readonly answers = new AnswerCache({ lifeMs: readingMs });
  readonly #tokens = new LRUCache<SolanaAddress, Promise<boolean>>({ max: maxTokens, ttl: readingMs });
  #demand: { readonly at: number; readonly value: Promise<DemandFactor> } | undefined;

  constructor(deps: PriceDeps) {
    this.#deps = deps;
  }

  /**
   * The price now. `mayBeCached` allows a reading of the chain that is up to a second old: good enough to
   * quote, not to sell. With `ownAnt` no token is made.
   */
  async name(
    purchase: Purchase,
    options: { mayBeCached?: boolean; ownAnt?: boolean } = {},
  ): Promise<NamePrice> {
    const { registry, pricing } = this.#deps;
    const read = () => registry.name(purchase.name);
    const [state, demand, rates] = await Promise.all([
      options.mayBeCached ? this.answers.state(purchase.name, read) : read(),
      this.#demandFactor(),
      pricing.rates(),
    ]);
    return this.price(purchase, state, demand, rates, options.ownAnt ?? false);
  }

  price(
    purchase: Purchase,
    state: NameState,
    demand: DemandFactor,
    rates: RateTable,
    ownAnt: boolean,
  ): NamePrice {
    const mtoken = nameCost(purchase, state, demand, Math.floor(this.#deps.now() / 1000), this.#deps.buyer);
    const price = tokenWinc(mtoken, rates);
    const surcharge =
      purchase.action === 'buy-name' ? this.#surcharge(purchase.name, rates, ownAnt) : undefined;
    return { mtoken, winc: price, surcharge, total: winc(price + (surcharge ?? 0n)), rates, state };
  }

  async action(action: RecordAction | AuthorityAction): Promise<Winc> {
    const rates = await this.#deps.pricing.rates();
    const { actionFloor, actionMargin, microLamports } = this.#deps;
    const factor = decimal((1 + actionMargin).toFixed(6));
    const cost = scaled(
      actionLamports(action, microLamports) * wincPerLamport,
      [rates.price('solana', 'usd'), factor],
      [rates.price('arweave', 'usd')],
      'up',
    );
    return winc(cost > actionFloor ? cost : actionFloor);
  }

  /** Whether there is such a token, as seen within the last second. */
  isToken(asset: SolanaAddress): Promise<boolean> {
    const known = this.#tokens.get(asset);
    if (known !== undefined) return known;
    const found = this.#deps.registry.ant(asset).then((ant) => ant !== undefined);
    this.#tokens.set(asset, found);
    found.catch(() => this.#tokens.delete(asset));
    return found;
  }

  /** We just changed the name: what was read of it is old. */
  forget(name: string): void {
    this.answers.forget(name);
  }

  #surcharge(name: string, rates: RateTable, ownAnt: boolean): Winc {
    if (ownAnt) return winc(0n);
    const { spawnSurcharge, microLamports } = this.#deps;
    if (spawnSurcharge !== undefined) return winc(spawnSurcharge);
    return lamportWinc(spawnLamports(name, microLamports), rates);
  }

  /** It changes with every sale only in its tallies; what prices depend on changes once a day. */
  #demandFactor(): Promise<DemandFactor> {
    const now = this.#deps.now();
    if (this.#demand !== undefined && now - this.#demand.at < readingMs) return this.#demand.value;
    const value = this.#deps.registry.demand();
    this.#demand = { at: now, value };
    value.catch(() => {
      this.#demand = undefined;
    });
    return value;
  }
}

/** Winc worth an amount of lamports, rounded up; no fee is added. */
export function lamportWinc(lamports: bigint, rates: RateTable): Winc {
  const sol = rates.price('solana', 'usd');
  return winc(scaled(lamports * wincPerLamport, [sol], [rates.price('arweave', 'usd')], 'up'));
}

/** Winc worth an amount of the name token's smallest unit, rounded down; no fee is added. */
export function tokenWinc(mtoken: bigint, rates: RateTable): Winc {
  const token = rates.price('ario', 'usd');
  return winc(scaled(mtoken * wincPerTokenUnit, [token], [rates.price('arweave', 'usd')], 'down'));
}
