/**
 * A limit that holds for all processes of one start together. Where this process is alone it counts for itself. Else the
 * first process has the buckets (`RateCounters`), and a worker fetches tokens from there: one for each request where a
 * limit is small, some ahead where it is large, so that not every request asks. Tokens that are fetched and not used go
 * back within a second. So a limit is never exceeded; a reader whose connections lie at several workers may be refused
 * a little early.
 *
 * A first process that does not answer leaves each worker to count for itself.
 */
import { LRUCache } from 'lru-cache';
import { isRecord } from '../../formats/json.ts';
import { atMost } from '../at-most.ts';
import { type Fellows, fellows } from '../workers/fellows.ts';
import { type Grant, networkKey, type RateAnswer, RateLimit, rateAnswer } from './rate-limit.ts';

export interface RateRules {
  /** The same in every process. */
  readonly name: string;
  readonly limit: number;
  readonly windowMs: number;
  /** Milliseconds of a clock that never goes back; for tests. */
  readonly now?: (() => number) | undefined;
}

export const ratesTopic = 'rates';

export class SharedRate {
  readonly limit: number;
  readonly #alone: RateLimit;
  readonly #share: RateShare | undefined;

  constructor(rules: RateRules, others: Fellows | undefined = fellows()) {
    this.limit = rules.limit;
    this.#alone = new RateLimit(rules.limit, rules.windowMs, rules.now);
    this.#share = others && new RateShare(rules, others, this.#alone);
  }

  /** Answered at once unless the first process has to be asked. */
  take(address: string): RateAnswer | Promise<RateAnswer> {
    return this.#share === undefined ? this.#alone.take(address) : this.#share.take(networkKey(address));
  }

  /** What `take` would answer, without taking: for requests that cost nothing, and are refused to who has used the limit. */
  look(address: string): RateAnswer | Promise<RateAnswer> {
    const key = networkKey(address);
    return this.#share === undefined ? seen(this.#alone.takeSome(key, 0)) : this.#share.look(key);
  }

  /** Gives back what was taken for a request that turned out to cost nothing. */
  giveBack(address: string): void {
    if (this.#share === undefined) this.#alone.giveBack(address);
    else this.#share.giveBack(networkKey(address));
  }
}

const seen = (grant: Grant): RateAnswer => ({ ...rateAnswer(grant), allowed: grant.remaining > 0 });

/** Tokens that are fetched ahead: a part of the limit, so that workers do not starve each other. */
const aheadOf = (limit: number, workers: number): number =>
  Math.min(maxAhead, Math.floor(limit / (16 * workers)));
const maxAhead = 64;
const maxHeld = 20_000;
const idleMs = 1_000;
/** So long a flood is refused without asking. */
const emptyMs = 250;

/** Tokens that this worker has of a bucket. */
interface Held {
  tokens: number;
  /** What the bucket had left when it was last asked. */
  left: number;
  /** Until then nobody is asked: the bucket had nothing. */
  emptyUntil: number;
  /** When it has something again. */
  refilledAt: number;
  usedAt: number;
}

type Waiter = (answer: RateAnswer) => void;

/** A worker's side of a shared limit. */
class RateShare {
  readonly #rules: RateRules;
  readonly #others: Fellows;
  readonly #alone: RateLimit;
  readonly #ahead: number;
  readonly #now: () => number;
  readonly #held: LRUCache<string, Held>;
  #waiting = new Map<string, Waiter[]>();
  #returned = new Map<string, number>();
  #isDue = false;

  constructor(rules: RateRules, others: Fellows, alone: RateLimit) {
    this.#rules = rules;
    this.#others = others;
    this.#alone = alone;
    this.#ahead = aheadOf(rules.limit, others.count);
    this.#now = rules.now ?? (() => performance.now());
    this.#held = new LRUCache<string, Held>({
      ...atMost(maxHeld),
      dispose: (held, key) => this.#putBack(key, held.tokens),
    });
    setInterval(() => this.#returnIdle(), idleMs).unref();
  }

  take(key: string): RateAnswer | Promise<RateAnswer> {
    const held = this.#held.get(key);
    if (held !== undefined) {
      const now = this.#now();
      held.usedAt = now;
      if (held.tokens > 0) {
        held.tokens -= 1;
        return { allowed: true, remaining: held.tokens + held.left, resetSeconds: this.#secondsToFill(held) };
      }
      if (held.emptyUntil > now) {
        return rateAnswer({ granted: 0, remaining: 0, resetMs: held.refilledAt - now });
      }
    }
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(key);
      if (waiting === undefined) this.#waiting.set(key, [resolve]);
      else waiting.push(resolve);
      this.#askSoon();
    });
  }

  async look(key: string): Promise<RateAnswer> {
    const { name, limit, windowMs } = this.#rules;
    const asked: RatesQuestion = { name, limit, windowMs, wanted: [[key, 0]], returned: [] };
    const held = this.#held.get(key)?.tokens ?? 0;
    try {
      const [grant] = readGrants(await this.#others.ask(ratesTopic, asked), 1);
      if (grant === undefined) throw new Error('no grant');
      return seen({ ...grant, remaining: grant.remaining + held });
    } catch {
      return seen(this.#alone.takeSome(key, 0));
    }
  }

  giveBack(key: string): void {
    const held = this.#held.get(key);
    if (held === undefined) this.#putBack(key, 1);
    else held.tokens += 1;
  }

  /** What all requests of this turn of the event loop want is one question. */
  #askSoon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      void this.#exchange();
    });
  }

  async #exchange(): Promise<void> {
    const [waiting, returned] = [this.#waiting, this.#returned];
    this.#waiting = new Map();
    this.#returned = new Map();
    const wanted = [...waiting].map(([key, { length }]): [string, number] => [key, length + this.#ahead]);
    const { name, limit, windowMs } = this.#rules;
    try {
      const asked: RatesQuestion = { name, limit, windowMs, wanted, returned: [...returned] };
      const answer = await this.#others.ask(ratesTopic, asked);
      const grants = readGrants(answer, wanted.length);
      [...waiting].forEach(([key, waiters], index) => {
        const grant = grants[index];
        if (grant !== undefined) this.#deal(key, waiters, grant);
      });
    } catch {
      for (const [key, waiters] of waiting) {
        for (const waiter of waiters) waiter(rateAnswer(this.#alone.takeSome(key, 1)));
      }
    }
  }

  #deal(key: string, waiters: readonly Waiter[], { granted, remaining, resetMs }: Grant): void {
    const now = this.#now();
    const left = Math.max(0, granted - waiters.length);
    // Others may give back what they took.
    const emptyUntil = granted < waiters.length ? now + Math.min(resetMs, emptyMs) : 0;
    const refilledAt = now + resetMs;
    const before = this.#held.get(key);
    const tokens = left + (before?.tokens ?? 0);
    const held: Held = { tokens, left: remaining, emptyUntil, refilledAt, usedAt: now };
    if (before === undefined) this.#held.set(key, held);
    else Object.assign(before, held);
    waiters.forEach((waiter, index) => {
      const allowed = index < granted;
      waiter(rateAnswer({ granted: allowed ? 1 : 0, remaining: allowed ? remaining + left : 0, resetMs }));
    });
  }

  #secondsToFill({ tokens, left }: Held): number {
    const { limit, windowMs } = this.#rules;
    return Math.max(1, Math.ceil(((limit - tokens - left) * windowMs) / limit / 1_000));
  }

  #returnIdle(): void {
    const before = this.#now() - idleMs;
    for (const [key, held] of this.#held.entries()) {
      if (held.usedAt < before) this.#held.delete(key);
    }
  }

  #putBack(key: string, tokens: number): void {
    if (tokens <= 0) return;
    this.#returned.set(key, (this.#returned.get(key) ?? 0) + tokens);
    this.#askSoon();
  }
}

interface RatesQuestion {
  readonly name: string;
  readonly limit: number;
  readonly windowMs: number;
  readonly wanted: readonly (readonly [key: string, tokens: number])[];
  readonly returned: readonly (readonly [key: string, tokens: number])[];
}

function readGrants(answer: unknown, count: number): Grant[] {
  if (!Array.isArray(answer) || answer.length !== count) throw new Error('no grants');
  return answer;
}

/** The first process's side: the buckets of all limits. */
export class RateCounters {
  readonly #limits = new Map<string, RateLimit>();

  /** For `hear(ratesTopic, …)`. */
  readonly answer = (question: unknown): Grant[] => {
    if (!isRatesQuestion(question)) throw new Error('not a question about rates');
    const { name, limit, windowMs, wanted, returned } = question;
    const key = `${name} ${limit} ${windowMs}`;
    const rate = this.#limits.get(key) ?? new RateLimit(limit, windowMs);
    this.#limits.set(key, rate);
    for (const [network, tokens] of returned) rate.give(network, tokens);
    return wanted.map(([network, tokens]) => rate.takeSome(network, tokens));
  };
}

const isRatesQuestion = (value: unknown): value is RatesQuestion =>
  isRecord(value) && Array.isArray(value.wanted) && Array.isArray(value.returned);
