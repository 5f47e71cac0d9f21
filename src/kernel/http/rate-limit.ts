/**
 * Requests per reader and time: a bucket that fills steadily, so that a burst is fine and a flood is not. IPv6
 * readers count by their /64, which is what one of them is given. Memory is bounded: the readers that were not
 * seen for longest are forgotten, which only ever favours them.
 */
import { LRUCache } from 'lru-cache';
import { atMost } from '../at-most.ts';
import { networkOf, plainAddress } from './client-network.ts';

export interface RateAnswer {
  readonly allowed: boolean;
  readonly remaining: number;
  /** Seconds until the bucket is full, or until the next request where there is none left. */
  readonly resetSeconds: number;
}

interface Bucket {
  tokens: number;
  at: number;
}

const maxReaders = 100_000;

export class RateLimit {
  readonly limit: number;
  readonly #windowMs: number;
  readonly #now: () => number;
  readonly #buckets = new LRUCache<string, Bucket>(atMost(maxReaders));

  constructor(limit: number, windowMs: number, now: () => number = () => performance.now()) {
    this.limit = limit;
    this.#windowMs = windowMs;
    this.#now = now;
  }

  take(address: string): RateAnswer {
    const key = keyOf(address);
    const now = this.#now();
    const bucket = this.#buckets.get(key) ?? { tokens: this.limit, at: now };
    const rate = this.limit / this.#windowMs;
    bucket.tokens = Math.min(this.limit, bucket.tokens + (now - bucket.at) * rate);
    bucket.at = now;
    const allowed = bucket.tokens >= 1;
    if (allowed) bucket.tokens -= 1;
    this.#buckets.set(key, bucket);
    const missing = allowed ? this.limit - bucket.tokens : 1 - bucket.tokens;
    return {
      allowed,
      remaining: Math.floor(bucket.tokens),
      resetSeconds: Math.max(1, Math.ceil(missing / rate / 1_000)),
    };
  }

  /** Gives back what was taken for a request that turned out to cost nothing. */
  giveBack(address: string): void {
    const bucket = this.#buckets.get(keyOf(address));
    if (bucket !== undefined) bucket.tokens = Math.min(this.limit, bucket.tokens + 1);
  }
}

/** A header that a proxy passed on may be of any length; an address is not. */
const keyOf = (address: string): string => networkOf(plainAddress(address.slice(0, 64)));
