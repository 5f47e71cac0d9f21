/**
 * Prices that were asked for a short while ago. A payer who pays what was asked is not turned away when the price has
 * risen since; one who pays less than was ever asked is. Bounded: the products that were quoted longest ago are
 * forgotten, and then a payer has to pay the price of now. What another process of the same start asked counts too.
 */
import { LRUCache } from 'lru-cache';
import { isRecord } from '../../formats/json.ts';
import { atMost } from '../../kernel/at-most.ts';
import { fellows, hear } from '../../kernel/workers/fellows.ts';

interface Asked {
  readonly amount: bigint;
  readonly until: number;
}

const topic = 'x402 prices asked';
const maxProducts = 10_000;
/** A price that rises more often than this within the time is remembered by its latest values. */
const maxPrices = 16;

export class QuoteMemory {
  readonly #lifeMs: number;
  readonly #now: () => number;
  /** Of each product the prices as they rose: one that came later and was lower replaces those before. */
  readonly #asked = new LRUCache<string, readonly Asked[]>(atMost(maxProducts));

  constructor(lifeMs: number, now: () => number) {
    this.#lifeMs = lifeMs;
    this.#now = now;
    hear(
      topic,
      (asked) => isRecord(asked) && this.#askedHere(String(asked.product), BigInt(String(asked.amount))),
    );
  }

  remember(product: string, amount: bigint): void {
    const now = this.#now();
    const lower = (this.#asked.get(product) ?? []).filter(
      (asked) => asked.until > now && asked.amount < amount,
    );
    this.#asked.set(product, [...lower, { amount, until: now + this.#lifeMs }].slice(-maxPrices));
  }

  /** Whether so little, or less, was asked for the product. */
  async wasAsked(product: string, amount: bigint): Promise<boolean> {
    if (this.#askedHere(product, amount)) return true;
    const told = await fellows()?.askAll(topic, { product, amount });
    return told?.includes(true) === true;
  }

  #askedHere(product: string, amount: bigint): boolean {
    const now = this.#now();
    return (this.#asked.get(product) ?? []).some((asked) => asked.until > now && asked.amount <= amount);
  }
}
