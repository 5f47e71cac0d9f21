/**
 * What is known about one gateway's health: a circuit that opens after failures in a row and lets a single probe
 * through afterwards, a pause that the gateway asked for, and a quarantine for having sent wrong bytes, which no
 * amount of quick answers lifts.
 *
 * Reads and polls are told apart: a gateway that answers pings and questions about hashes quickly may be slow with
 * content, or not have it in one piece, and whom readers are sent to is decided by how it serves readers.
 */
import { type Backoff, backoffMs } from '../../kernel/background/backoff.ts';
import { isFailure, type Outcome } from './outcome.ts';

export interface HealthLimits {
  readonly failureThreshold: number;
  readonly resetMs: number;
  /** How long reads say more about a gateway than polls do. Default five minutes. */
  readonly readsCountMs?: number;
}

export type HealthState = 'healthy' | 'half-open' | 'open' | 'paused' | 'quarantined';

/** What somebody reads, or what the router asks on its own account: pings, hashes, names, proofs. */
export type Purpose = 'read' | 'poll';

export type QuarantineReason = 'wrong-bytes' | 'forged-fields' | 'operator';

const quarantine: Backoff = { firstMs: 3_600_000, longestMs: 24 * 3_600_000 };
/** The weight of the newest observation. */
const smoothing = 0.2;
const usualReadsCountMs = 300_000;

export class Health {
  readonly #limits: HealthLimits;
  readonly #now: () => number;
  /** In a row, whatever was asked. */
  #failures = 0;
  /** Reads in a row, whatever came of polls in between. */
  #failedReads = 0;
  #openUntil = 0;
  #probing = false;
  #pausedUntil = 0;
  /** Until when it does not want to be asked at all. */
  #limitedUntil = 0;
  #quarantinedUntil = 0;
  #quarantines = 0;
  #quarantineReason: QuarantineReason = 'operator';
  readonly #reads = new Figures();
  readonly #polls = new Figures();
  lastFailure: string | undefined;
  /** How often it was proven to have sent what is not so. */
  lies = 0;

  constructor(limits: HealthLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  get state(): HealthState {
    const now = this.#now();
    if (now < this.#quarantinedUntil) return 'quarantined';
    if (now < this.#openUntil) return 'open';
    if (now < this.#pausedUntil) return 'paused';
    const { failureThreshold } = this.#limits;
    const failed = this.#failures >= failureThreshold || this.#failedReads >= failureThreshold;
    return failed ? 'half-open' : 'healthy';
  }

  /** True when a request may go there; a half-open circuit takes one at a time. */
  get usable(): boolean {
    const { state } = this;
    return state === 'healthy' || (state === 'half-open' && !this.#probing);
  }

  /**
   * Whether it may be asked where nobody else can be. One that failed may be well again, and one that is busy may be so
   * with other content only; one that counts our requests, or sent wrong bytes, is left alone.
   */
  get isLastResort(): boolean {
    const { state } = this;
    if (state === 'paused') return this.#now() >= this.#limitedUntil;
    return state === 'open' || state === 'half-open';
  }

  /** Why it is in quarantine; undefined where it is not. */
  get quarantineReason(): QuarantineReason | undefined {
    return this.state === 'quarantined' ? this.#quarantineReason : undefined;
  }

  /** Whether a reader found out lately how it is. */
  get isMeasured(): boolean {
    return this.#now() - this.#reads.at < (this.#limits.readsCountMs ?? usualReadsCountMs);
  }

  /** Milliseconds to the first byte, smoothed; undefined while unknown. */
  get latencyMs(): number | undefined {
    const { latencyMs } = this.#reads;
    return this.isMeasured && latencyMs !== undefined ? latencyMs : (this.#polls.latencyMs ?? latencyMs);
  }

  /** 0–1, smoothed. */
  get errorRate(): number {
    return this.isMeasured || this.#polls.latencyMs === undefined
      ? this.#reads.errorRate
      : this.#polls.errorRate;
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

  observe(purpose: Purpose, outcome: Outcome, latencyMs: number | undefined, reason?: string): void {
    const failed = isFailure(outcome);
    const figures = purpose === 'read' ? this.#reads : this.#polls;
    figures.observe(failed, latencyMs, this.#now());
    if (!failed) {
      if (outcome === 'throttled') return;
      // A poll is a probe like any other: it closes a circuit that was opened before.
      if (purpose === 'read' || this.state === 'half-open') this.#failedReads = 0;
      this.#failures = 0;
      return;
    }
    this.lastFailure = reason ?? outcome;
    this.#failures += 1;
    if (purpose === 'read') this.#failedReads += 1;
    if (Math.max(this.#failures, this.#failedReads) < this.#limits.failureThreshold) return;
    this.#openUntil = this.#now() + this.#limits.resetMs;
  }

  /** It may have sent wrong bytes: it is chosen less, and nothing else, since it may be the content that is wrong. */
  suspect(reason: string): void {
    this.lastFailure = reason;
    this.#reads.observe(true, undefined, this.#now());
  }

  /** `isLimit`: it counts requests, and had too many of ours (429). */
  pause(milliseconds: number, isLimit: boolean): void {
    const until = this.#now() + milliseconds;
    this.#pausedUntil = Math.max(this.#pausedUntil, until);
    if (isLimit) this.#limitedUntil = Math.max(this.#limitedUntil, until);
  }

  /** For what is proven wrong, or by hand of the operator; longer each time. */
  quarantine(reason: QuarantineReason, detail: string): void {
    this.lastFailure = detail;
    if (reason !== 'operator') this.lies += 1;
    this.#quarantineReason = reason;
    this.#quarantines += 1;
    this.#quarantinedUntil = this.#now() + backoffMs(quarantine, this.#quarantines);
  }

  /** By hand of the operator: everything held against the gateway is forgotten. */
  release(): void {
    this.#quarantinedUntil = 0;
    this.#openUntil = 0;
    this.#pausedUntil = 0;
    this.#failures = 0;
    this.#failedReads = 0;
    this.#reads.errorRate = 0;
    this.#polls.errorRate = 0;
  }
}

/** What came of questions of one purpose, smoothed. */
class Figures {
  latencyMs: number | undefined;
  errorRate = 0;
  /** When the last was observed. */
  at = Number.NEGATIVE_INFINITY;

  observe(failed: boolean, latencyMs: number | undefined, now: number): void {
    this.at = now;
    this.errorRate += smoothing * ((failed ? 1 : 0) - this.errorRate);
    if (latencyMs === undefined) return;
    this.latencyMs =
      this.latencyMs === undefined ? latencyMs : this.latencyMs + smoothing * (latencyMs - this.latencyMs);
  }
}
