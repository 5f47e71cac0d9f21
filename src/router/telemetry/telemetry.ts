/**
 * Figures about gateways. The request path only adds numbers in memory; every few seconds they go to the
 * database in one transaction. When the database fails, figures wait in memory (hours stay small however long)
 * and sampled events are dropped oldest first, counted.
 */
import type { Config } from '../../config/config.ts';
import { messageOf } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Part } from '../../kernel/part.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import type { Attempt } from '../gateways/gateway.ts';
import { addAttempt, addHour, addLatency, emptyHour, type HourFigures } from './hour.ts';
import { type KeptHour, type SampledEvent, TelemetryStore } from './store.ts';

export interface TelemetryOptions {
  readonly open: () => Promise<Sql>;
  readonly sampleSuccess: number;
  readonly sampleErrors: number;
  readonly retentionDays: number;
  readonly log: Logger;
  readonly flushMs?: number;
  readonly random?: () => number;
  readonly now?: () => number;
}

/** The pseudo-gateway of answers that no gateway was asked for. */
export const cacheOrigin = 'cache';

const maxWaitingEvents = 10_000;
const maxWaitingHours = 50_000;
const hourMs = 3_600_000;

/** undefined where telemetry is off. */
export function createTelemetry(
  config: Config,
  open: () => Promise<Sql>,
  log: Logger,
): Telemetry | undefined {
  if (!config.TELEMETRY_ENABLED) return undefined;
  return new Telemetry({
    open,
    sampleSuccess: config.TELEMETRY_SAMPLE_SUCCESS,
    sampleErrors: config.TELEMETRY_SAMPLE_ERRORS,
    retentionDays: config.TELEMETRY_RETENTION_DAYS,
    log,
  });
}

export class Telemetry implements Part {
  readonly name = 'telemetry';
  readonly #options: TelemetryOptions;
  readonly #random: () => number;
  readonly #now: () => number;
  #hours = new Map<string, KeptHour>();
  #events: SampledEvent[] = [];
  /** Of the hours that wait, those of the present one, by gateway. */
  readonly #present = new Map<string, HourFigures>();
  #current = { number: 0, bucket: '' };
  #store: TelemetryStore | undefined;
  #flushTimer: NodeJS.Timeout | undefined;
  #purgeTimer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> = Promise.resolve();
  /** Why figures are not kept right now. */
  problem: string | undefined;
  dropped = 0;

  constructor(options: TelemetryOptions) {
    this.#options = options;
    this.#random = options.random ?? Math.random;
    this.#now = options.now ?? Date.now;
  }

  /** A database that cannot be opened does not keep the router from serving; it is tried again. */
  async start(): Promise<void> {
    await this.#open();
    await this.#purge();
    this.#flushTimer = setInterval(() => void this.flush(), this.#options.flushMs ?? 5_000).unref();
    this.#purgeTimer = setInterval(() => void this.#purge(), hourMs).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#flushTimer);
    clearInterval(this.#purgeTimer);
    await this.flush();
    await this.#store?.close().catch(() => {});
    this.#store = undefined;
  }

  problems(): readonly string[] {
    return this.problem === undefined ? [] : [`telemetry: ${this.problem}`];
  }

  attempt(attempt: Attempt): void {
    if (attempt.role === 'ping') return;
    addAttempt(this.#hour(attempt.gateway), attempt.outcome, attempt.latencyMs);
    const probability =
      attempt.outcome === 'success' ? this.#options.sampleSuccess : this.#options.sampleErrors;
    if (probability === 0 || this.#random() >= probability) return;
    this.#events.push({ ...attempt, at: this.#now(), weight: 1 / probability });
    if (this.#events.length <= maxWaitingEvents) return;
    this.#events.shift();
    this.dropped += 1;
  }

  cacheHit(bytes: number, latencyMs: number): void {
    const hour = this.#hour(cacheOrigin);
    hour.totalRequests += 1;
    hour.successfulRequests += 1;
    hour.bytesServed += bytes;
    addLatency(hour, latencyMs);
  }

  bytes(gateway: string, count: number): void {
    this.#hour(gateway).bytesServed += count;
  }

  verification(gateway: string, outcome: 'success' | 'failed' | 'skipped'): void {
    const hour = this.#hour(gateway);
    if (outcome === 'skipped') {
      hour.verificationSkipped += 1;
      return;
    }
    hour.verificationAttempts += 1;
    if (outcome === 'success') hour.verificationSuccess += 1;
    else hour.verificationFailed += 1;
  }

  consensus(gateway: string, agreed: boolean): void {
    const hour = this.#hour(gateway);
    hour.consensusParticipations += 1;
    if (agreed) hour.consensusAgreements += 1;
    else hour.consensusDisagreements += 1;
  }

  /** Everything so far goes to the database; figures that could not be written stay for the next time. */
  flush(): Promise<void> {
    this.#flushing = this.#flushing.then(() => this.#write());
    return this.#flushing;
  }

  /** What is kept, with what waits to be. Throws when the database cannot be read. */
  async hours(start: Date, end: Date, gateway?: string): Promise<KeptHour[]> {
    return await (await this.#flushed()).hours(bucketOf(start), end.toISOString(), gateway);
  }

  async gateways(): Promise<string[]> {
    return await (await this.#flushed()).gateways();
  }

  async #flushed(): Promise<TelemetryStore> {
    await this.flush();
    if (this.#store === undefined) throw new Error(this.problem ?? 'the telemetry database is not open');
    return this.#store;
  }

  #hour(gateway: string): HourFigures {
    const hour = Math.floor(this.#now() / hourMs);
    if (hour !== this.#current.number) {
      this.#current = { number: hour, bucket: bucketOf(new Date(hour * hourMs)) };
      this.#present.clear();
    }
    return this.#present.get(gateway) ?? this.#addHour(gateway);
  }

  #addHour(gateway: string): HourFigures {
    const hourBucket = this.#current.bucket;
    const key = `${gateway} ${hourBucket}`;
    const known = this.#hours.get(key);
    const figures = known?.figures ?? emptyHour();
    if (known === undefined) {
      if (this.#hours.size >= maxWaitingHours) return figures;
      this.#hours.set(key, { gateway, hourBucket, figures });
    }
    this.#present.set(gateway, figures);
    return figures;
  }

  async #open(): Promise<void> {
    try {
      this.#store = new TelemetryStore(await this.#options.open());
      this.problem = undefined;
    } catch (error) {
      this.#failed(error);
    }
  }

  async #write(): Promise<void> {
    if (this.#store === undefined) await this.#open();
    const store = this.#store;
    if (store === undefined || (this.#hours.size === 0 && this.#events.length === 0)) return;
    const hours = this.#hours;
    const events = this.#events;
    this.#hours = new Map();
    this.#present.clear();
    this.#events = [];
    try {
      await store.add([...hours.values()], events);
      this.problem = undefined;
    } catch (error) {
      this.#failed(error);
      for (const [key, hour] of hours) {
        const newer = this.#hours.get(key);
        if (newer === undefined) this.#hours.set(key, hour);
        else addHour(newer.figures, hour.figures);
      }
      const waiting = [...events, ...this.#events];
      this.dropped += Math.max(0, waiting.length - maxWaitingEvents);
      this.#events = waiting.slice(-maxWaitingEvents);
    }
  }

  async #purge(): Promise<void> {
    const before = new Date(this.#now() - this.#options.retentionDays * 24 * hourMs);
    await this.#store?.purge(before).catch((error: unknown) => this.#failed(error));
  }

  #failed(error: unknown): void {
    if (this.problem === undefined) this.#options.log.warn({ err: error }, 'telemetry is not kept for now');
    this.problem = messageOf(error);
  }
}

/** The hour in UTC that a moment belongs to. */
export function bucketOf(moment: Date): string {
  return new Date(Math.floor(moment.getTime() / hourMs) * hourMs).toISOString();
}
