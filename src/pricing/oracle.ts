/**
 * A value from outside that many ask for: fetched once for all who wait, served from memory while fresh,
 * refreshed behind the answers while stale, and refused once it is older than is safe.
 */
import { backoffMs } from '../kernel/background/backoff.ts';
import { OracleUnavailable } from './pricing.ts';

interface OracleOptions<T> {
  readonly name: 'rates' | 'network';
  fetch(): Promise<T>;
  /** Younger than this: served as it is. */
  readonly freshMs: number;
  /** Younger than this: served while a refresh runs. Older: refused. */
  readonly usableMs: number;
  /** Pause after a failed fetch; doubles with each further failure up to `maxRetryMs`. */
  readonly retryMs?: number;
  readonly maxRetryMs?: number;
  /** Milliseconds of a clock that only grows. */
  readonly now?: () => number;
  onFailure?(error: unknown): void;
}

/** A source that asks to be left alone for a while says so with this. */
export class SourceBusy extends Error {
  override readonly name = 'SourceBusy';
  readonly retryAfterMs: number;

  constructor(message: string, retryAfterMs: number) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

export class Oracle<T> {
  readonly #options: OracleOptions<T>;
  readonly #now: () => number;
  #value: T | undefined;
  #fetchedAt = Number.NEGATIVE_INFINITY;
  #flight: Promise<T> | undefined;
  #failures = 0;
  #notBefore = Number.NEGATIVE_INFINITY;
  #lastError: unknown;

  constructor(options: OracleOptions<T>) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** The value if it may be served without waiting; starts a refresh when it is no longer fresh. */
  peek(): T | undefined {
    const age = this.#now() - this.#fetchedAt;
    if (age >= this.#options.usableMs) return undefined;
    if (age >= this.#options.freshMs && this.#mayFetch()) this.#refresh().catch(() => {});
    return this.#value;
  }

  async get(): Promise<T> {
    const value = this.peek();
    if (value !== undefined) return value;
    if (this.#flight === undefined && !this.#mayFetch()) throw this.#unavailable();
    try {
      return await this.#refresh();
    } catch {
      throw this.#unavailable();
    }
  }

  get ageSeconds(): number | undefined {
    return this.#value === undefined ? undefined : (this.#now() - this.#fetchedAt) / 1000;
  }

  #mayFetch(): boolean {
    return this.#now() >= this.#notBefore;
  }

  #unavailable(): OracleUnavailable {
    const wait = Math.max(1, Math.ceil((this.#notBefore - this.#now()) / 1000));
    return new OracleUnavailable(this.#options.name, wait, this.#lastError);
  }

  #refresh(): Promise<T> {
    this.#flight ??= this.#fetch().finally(() => {
      this.#flight = undefined;
    });
    return this.#flight;
  }

  async #fetch(): Promise<T> {
    const { retryMs = 1_000, maxRetryMs = 60_000 } = this.#options;
    const startedAt = this.#now();
    try {
      const value = await this.#options.fetch();
      this.#value = value;
      this.#fetchedAt = startedAt;
      this.#failures = 0;
      return value;
    } catch (error) {
      this.#failures += 1;
      const pause = backoffMs({ firstMs: retryMs, longestMs: maxRetryMs }, this.#failures);
      const asked = error instanceof SourceBusy ? Math.min(error.retryAfterMs, 10 * maxRetryMs) : 0;
      this.#notBefore = this.#now() + Math.max(pause, asked);
      this.#lastError = error;
      this.#options.onFailure?.(error);
      throw error;
    }
  }
}
