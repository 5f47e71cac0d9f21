/**
 * Token buckets in bounded memory. A bucket that was not used for long is full again; those are forgotten when there
 * are too many, which is the same.
 *
 * Every metered request comes through here twice, so this is plain look-ups: two generations of a map in place of a
 * list ordered by use, and a clock that is read every few milliseconds for all requests.
 */

export interface BucketRules {
  readonly capacity: number;
  readonly refillPerSecond: number;
  /** Buckets that may be remembered. */
  readonly max: number;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}

interface Bucket {
  tokens: number;
  filledAt: number;
  /** Taken since the last exchange with other processes. */
  taken: number;
}

export class Buckets {
  readonly rules: BucketRules;
  readonly #now: () => number;
  /** Used since the last change of generations, and before it. */
  #young = new Map<string, Bucket>();
  #old = new Map<string, Bucket>();
  /** Those that were taken from, for the exchange; undefined where nobody shares. */
  #used: Set<string> | undefined;

  constructor(rules: BucketRules) {
    this.rules = rules;
    this.#now = rules.now ?? coarseNow;
  }

  /** Takes all of `cost` or nothing. */
  take(key: string, cost: number): boolean {
    const bucket = this.#filled(key);
    if (bucket.tokens < cost) return false;
    bucket.tokens -= cost;
    bucket.taken += cost;
    this.#noteUsed(key);
    return true;
  }

  /** Takes what is there, up to `cost`; answers how much. */
  takeSome(key: string, cost: number): number {
    const bucket = this.#filled(key);
    const some = Math.min(cost, Math.max(0, bucket.tokens));
    this.take(key, some);
    return some;
  }

  give(key: string, tokens: number): void {
    const bucket = this.#filled(key);
    bucket.tokens = Math.min(this.rules.capacity, bucket.tokens + tokens);
    bucket.taken -= tokens;
  }

  tokens(key: string): number {
    return this.#filled(key).tokens;
  }

  /** Seconds until the bucket holds so much; undefined where it never will. */
  secondsUntil(key: string, cost: number): number | undefined {
    if (cost > this.rules.capacity || this.rules.refillPerSecond === 0) return undefined;
    return Math.max(0, (cost - this.tokens(key)) / this.rules.refillPerSecond);
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  share(): void {
    this.#used = new Set();
  }

  /** What was taken from each bucket since the last call, at most so many of them. */
  drainUsed(limit: number): Map<string, number> {
    const drained = new Map<string, number>();
    for (const key of this.#used ?? []) {
      if (drained.size === limit) break;
      this.#used?.delete(key);
      const bucket = this.#find(key);
      if (bucket === undefined || bucket.taken === 0) continue;
      drained.set(key, bucket.taken);
      bucket.taken = 0;
    }
    return drained;
  }

  /** What was drained did not get through: it is told with the next. */
  undrain(drained: ReadonlyMap<string, number>): void {
    for (const [key, taken] of drained) {
      const bucket = this.#find(key);
      if (bucket === undefined) continue;
      bucket.taken += taken;
      this.#noteUsed(key);
    }
  }

  /** Seconds after which any bucket is full again; undefined where they never fill. */
  get secondsToFill(): number | undefined {
    const { capacity, refillPerSecond } = this.rules;
    return refillPerSecond === 0 ? undefined : capacity / refillPerSecond;
  }

  /** What all processes together have left; what was taken here meanwhile is taken off. */
  settle(key: string, tokens: number): void {
    const bucket = this.#filled(key);
    bucket.tokens = Math.min(this.rules.capacity, tokens - bucket.taken);
  }

  /** While the others cannot be told, no more are remembered than there are buckets. */
  #noteUsed(key: string): void {
    if (this.#used !== undefined && this.#used.size < this.rules.max) this.#used.add(key);
  }

  #filled(key: string): Bucket {
    const now = this.#now();
    const bucket = this.#find(key);
    if (bucket === undefined) {
      const fresh = { tokens: this.rules.capacity, filledAt: now, taken: 0 };
      this.#keep(key, fresh);
      return fresh;
    }
    if (now === bucket.filledAt) return bucket;
    const gained = ((now - bucket.filledAt) / 1000) * this.rules.refillPerSecond;
    if (gained > 0) bucket.tokens = Math.min(this.rules.capacity, bucket.tokens + gained);
    bucket.filledAt = now;
    return bucket;
  }

  #find(key: string): Bucket | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old === undefined) return undefined;
    this.#old.delete(key);
    this.#keep(key, old);
    return old;
  }

  #keep(key: string, bucket: Bucket): void {
    if (this.#young.size >= this.rules.max / 2) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, bucket);
  }
}

const tickMs = 5;
const clock = { now: 0, ticks: false };

/** Milliseconds, up to one tick late. */
function coarseNow(): number {
  if (!clock.ticks) {
    clock.ticks = true;
    const read = () => {
      clock.now = performance.now();
    };
    read();
    setInterval(read, tickMs).unref();
  }
  return clock.now;
}
