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

/** What a bucket gave of what was wanted. */
export interface Grant {
  readonly granted: number;
  readonly remaining: number;
  /** Milliseconds until the bucket is full, or until it has one token where it has none. */
  readonly resetMs: number;
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
    return rateAnswer(this.takeSome(networkKey(address), 1));
  }

  /** Gives back what was taken for a request that turned out to cost nothing. */
  giveBack(address: string): void {
    this.give(networkKey(address), 1);
  }

  /** As many whole tokens as there are, up to `wanted`, of the bucket of a `networkKey`. */
  takeSome(key: string, wanted: number): Grant {
    const now = this.#now();
    const bucket = this.#buckets.get(key) ?? { tokens: this.limit, at: now };
    const rate = this.limit / this.#windowMs;
    bucket.tokens = Math.min(this.limit, bucket.tokens + (now - bucket.at) * rate);
    bucket.at = now;
    const granted = Math.min(wanted, Math.floor(bucket.tokens));
    bucket.tokens -= granted;
    this.#buckets.set(key, bucket);
    const missing = granted > 0 ? this.limit - bucket.tokens : 1 - bucket.tokens;
    return { granted, remaining: Math.floor(bucket.tokens), resetMs: missing / rate };
  }

  give(key: string, tokens: number): void {
    const bucket = this.#buckets.get(key);
    if (bucket !== undefined) bucket.tokens = Math.min(this.limit, bucket.tokens + tokens);
  }
}

export const rateAnswer = ({ granted, remaining, resetMs }: Grant): RateAnswer => ({
  allowed: granted > 0,
  remaining,
  resetSeconds: Math.max(1, Math.ceil(resetMs / 1_000)),
});

/** What readers are counted by. A header that a proxy passed on may be of any length; an address is not. */
export const networkKey = (address: string): string => networkOf(plainAddress(address.slice(0, 64)));
