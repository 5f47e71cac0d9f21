/**
 * What is known about one gateway's health: a circuit that opens after failures in a row and lets a single probe
 * through afterwards, a pause that the gateway asked for, and a quarantine for having sent wrong bytes, which no
 * amount of quick answers lifts.
 */
import { type Backoff, backoffMs } from '../../kernel/background/backoff.ts';
import { isFailure, type Outcome } from './outcome.ts';

export interface HealthLimits {
  readonly failureThreshold: number;
  readonly resetMs: number;
}

export type HealthState = 'healthy' | 'half-open' | 'open' | 'paused' | 'quarantined';

const quarantine: Backoff = { firstMs: 3_600_000, longestMs: 24 * 3_600_000 };
/** The weight of the newest observation. */
const smoothing = 0.2;

export class Health {
  readonly #limits: HealthLimits;
  readonly #now: () => number;
  #failures = 0;
  #openUntil = 0;
  #probing = false;
  #pausedUntil = 0;
  #quarantinedUntil = 0;
  #quarantines = 0;
  /** Milliseconds to the first byte, smoothed; undefined while unknown. */
  latencyMs: number | undefined;
  /** 0–1, smoothed. */
  errorRate = 0;
  lastFailure: string | undefined;

  constructor(limits: HealthLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  get state(): HealthState {
    const now = this.#now();
    if (now < this.#quarantinedUntil) return 'quarantined';
    if (now < this.#openUntil) return 'open';
    if (now < this.#pausedUntil) return 'paused';
    return this.#failures >= this.#limits.failureThreshold ? 'half-open' : 'healthy';
  }

  /** True when a request may go there; a half-open circuit takes one at a time. */
  get usable(): boolean {
    const { state } = this;
    return state === 'healthy' || (state === 'half-open' && !this.#probing);
  }

  /** Called when a request is sent; `end` takes its probe back where it was one. */
  begin(): boolean {
    const probe = this.state === 'half-open';
    if (probe) this.#probing = true;
    return probe;
  }

  end(probe: boolean): void {
    if (probe) this.#probing = false;
  }

  observe(outcome: Outcome, latencyMs: number | undefined, reason?: string): void {
    const failed = isFailure(outcome);
    this.errorRate += smoothing * ((failed ? 1 : 0) - this.errorRate);
    if (latencyMs !== undefined) this.observeLatency(latencyMs);
    if (!failed) {
      if (outcome !== 'throttled') this.#failures = 0;
      return;
    }
    this.lastFailure = reason ?? outcome;
    this.#failures += 1;
    if (this.#failures >= this.#limits.failureThreshold) this.#openUntil = this.#now() + this.#limits.resetMs;
  }

  /** It may have sent wrong bytes: it is chosen less, and nothing else, since it may be the content that is wrong. */
  suspect(reason: string): void {
    this.lastFailure = reason;
    this.errorRate += smoothing * (1 - this.errorRate);
  }

  observeLatency(latencyMs: number): void {
    this.latencyMs =
      this.latencyMs === undefined ? latencyMs : this.latencyMs + smoothing * (latencyMs - this.latencyMs);
  }

  pause(milliseconds: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#now() + milliseconds);
  }

  /** For bytes that are proven wrong; longer each time. */
  quarantine(reason: string): void {
    this.lastFailure = reason;
    this.#quarantines += 1;
    this.#quarantinedUntil = this.#now() + backoffMs(quarantine, this.#quarantines);
  }

  /** By hand of the operator: everything held against the gateway is forgotten. */
  release(): void {
    this.#quarantinedUntil = 0;
    this.#openUntil = 0;
    this.#pausedUntil = 0;
    this.#failures = 0;
    this.errorRate = 0;
  }
}
