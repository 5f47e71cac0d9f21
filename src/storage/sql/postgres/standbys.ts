/**
 * Standbys that readers are answered from. Each is known to have everything that was committed before some moment: at that
 * moment the primary was asked how far its log was written, and since then the standby was seen to have replayed as
 * much. A standby of which that moment lies too far back is not read from. All moments are on this process's own clock:
 * those of the machines do not matter.
 *
 * While the primary does not answer nothing can be written. Then the standby that has most goes on answering, if it was
 * new enough when the primary was last heard of.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import { DatabaseUnavailable } from '../sql.ts';
import { type Checked, type ConnectionOptions, createPool, timelineColumn } from './connection.ts';
import { translated } from './errors.ts';
import { hostName } from './host-name.ts';
import type { Primary } from './primary.ts';

export interface StandbysOptions extends ConnectionOptions {
  readonly urls: readonly string[];
  readonly maxStalenessMs: number;
  /** With a connection of its own for the questions asked here, which must not wait for others. */
  readonly primary: Primary;
}

/** How far the primary's log was written at that moment, or later. */
interface Sample {
  readonly at: number;
  readonly written: bigint;
}

/** Questions in the time that a standby may be behind. */
const looksPerStaleness = 4;
/** While somebody waits for the standbys. */
const soonMs = 5;
const samplesKept = 256;

/** An acknowledged commit is behind this point; where commits are not flushed, behind what is only in memory. */
const writtenSoFar = `SELECT CAST(CASE WHEN current_setting('synchronous_commit') = 'off'
  THEN pg_current_wal_insert_lsn() ELSE pg_current_wal_flush_lsn() END - '0/0' AS text) AS written, ${timelineColumn}`;
const replayedSoFar =
  "SELECT pg_is_in_recovery() AS standby, CAST(pg_last_wal_replay_lsn() - '0/0' AS text) AS replayed";

export class Standbys {
  readonly #options: StandbysOptions;
  readonly #standbys: readonly Standby[];
  readonly #ending = new AbortController();
  readonly #looking: Promise<void>;
  #samples: Sample[] = [];
  #primaryAnswers = true;
  #timeline = '';
  #next = 0;
  #waiting = 0;
  #hurry = Promise.withResolvers<void>();

  constructor(options: StandbysOptions) {
    this.#options = options;
    this.#standbys = options.urls.map((url) => new Standby(url, options));
    this.#looking = this.#look();
  }

  /** One that may be read from now; undefined: the primary has to answer. */
  choose(): Standby | undefined {
    const now = performance.now();
    const usable = this.#standbys.filter((standby) => this.mayRead(standby, now));
    this.#next += 1;
    return usable[this.#next % usable.length];
  }

  mayRead(standby: Standby, now = performance.now()): boolean {
    const { maxStalenessMs } = this.#options;
    if (!standby.answers) return false;
    if (this.#primaryAnswers) return now - standby.completeUpTo <= maxStalenessMs;
    const heard = this.#samples.at(-1)?.at ?? now;
    if (heard - standby.completeUpTo > maxStalenessMs) return false;
    return this.#standbys.every((other) => !other.answers || other.replayed <= standby.replayed);
  }

  /**
   * Resolves when whoever reads from now on sees what was committed before, in every process: when all standbys have it,
   * or when so much time has passed that nobody reads from those that lack it.
   */
  async visible(): Promise<void> {
    const since = performance.now();
    const isVisible = () => this.#standbys.every((standby) => standby.completeUpTo >= since);
    this.#waiting += 1;
    try {
      while (!isVisible() && !this.#ending.signal.aborted) {
        const left = since + this.#options.maxStalenessMs - performance.now();
        if (left <= 0) return;
        this.#hurry.resolve();
        await pause(Math.min(soonMs, left));
      }
    } finally {
      this.#waiting -= 1;
    }
  }

  async close(): Promise<void> {
    this.#ending.abort();
    this.#hurry.resolve();
    await this.#looking;
    await Promise.all([...this.#standbys.map((standby) => standby.close()), this.#options.primary.end()]);
  }

  async #look(): Promise<void> {
    const { maxStalenessMs } = this.#options;
    const { signal } = this.#ending;
    while (!signal.aborted) {
      await this.#askPrimary();
      for (const standby of this.#standbys) void standby.look(this.#samples);
      this.#hurry = Promise.withResolvers();
      const waits = [this.#hurry.promise, pause(maxStalenessMs / looksPerStaleness, undefined, { signal })];
      await Promise.race(waits).catch(() => {});
      if (this.#waiting > 0) await pause(soonMs, undefined, { signal }).catch(() => {});
    }
  }

  async #askPrimary(): Promise<void> {
    const at = performance.now();
    const { primary, log, schema } = this.#options;
    try {
      const client = await primary.connect();
      let isLost = true;
      try {
        const { rows } = await client.query<{ written: string; timeline: string }>(writtenSoFar);
        isLost = false;
        for (const { written, timeline } of rows) this.#sampled({ at, written: BigInt(written) }, timeline);
      } finally {
        client.release(isLost);
      }
    } catch (error) {
      primary.failed(translated(error));
      if (this.#primaryAnswers) {
        log?.warn({ err: error, schema }, 'the primary does not answer: readers are answered by standbys');
      }
      this.#primaryAnswers = false;
    }
  }

  #sampled(sample: Sample, timeline: string): void {
    this.#primaryAnswers = true;
    if (timeline !== this.#timeline) {
      // Another primary: what was said of the log before is void.
      this.#timeline = timeline;
      this.#samples = [];
      for (const standby of this.#standbys) standby.doubt();
    }
    for (const standby of this.#standbys) standby.compare(sample);
    this.#samples = [...this.#samples.slice(-samplesKept), sample];
  }
}

export class Standby {
  readonly name: string;
  readonly #options: StandbysOptions;
  readonly #pool: Pool;
  /** For the questions how far it is, which must not wait for readers. */
  readonly #asking: Pool;
  readonly #abandon = new Set<(error: Error) => void>();
  #looking: Promise<void> | undefined;
  #isClosed = false;
  #started: string | undefined;
  /** Why it is not read from, so that it is said once. */
  #told: string | undefined;
  /** When its last answer came. */
  #lookedAt = Number.POSITIVE_INFINITY;
  /** Only a log that is longer than this says anything. */
  #beyond = -1n;
  answers = false;
  replayed = 0n;
  /** Everything that was committed before this moment is here. */
  completeUpTo = Number.NEGATIVE_INFINITY;

  constructor(url: string, options: StandbysOptions) {
    this.#options = options;
    this.name = hostName(url);
    this.#pool = createPool(url, options, (checked) => this.#acceptReader(checked));
    const lookMs = options.maxStalenessMs * 2;
    const asking = { ...options, poolSize: 1, statementTimeoutMs: lookMs, answerTimeoutMs: lookMs };
    this.#asking = createPool(url, asking, (checked) => this.#accept(checked));
  }

  /** Uses a connection to it; rejects with any failure, also when the standby stops to answer meanwhile. */
  async use<T>(step: (client: PoolClient) => Promise<T>): Promise<T> {
    const abandoned = Promise.withResolvers<never>();
    abandoned.promise.catch(() => {});
    this.#abandon.add(abandoned.reject);
    let client: PoolClient | undefined;
    let isLost = true;
    try {
      const connecting = this.#pool.connect();
      connecting.then(
        (made) => {
          if (!this.#abandon.has(abandoned.reject)) made.release(true);
        },
        () => {},
      );
      client = await Promise.race([connecting, abandoned.promise]);
      const value = await Promise.race([step(client), abandoned.promise]);
      isLost = false;
      return value;
    } finally {
      this.#abandon.delete(abandoned.reject);
      client?.release(isLost);
    }
  }

  /** Asks how far it is; one question at a time. Resolves when it is answered, or lost. */
  look(samples: readonly Sample[]): Promise<void> {
    this.#looking ??= this.#ask(samples)
      .catch((error: unknown) => this.#lose(error))
      .finally(() => {
        this.#looking = undefined;
      });
    return this.#looking;
  }

  /** The primary is another one: what it has is compared anew. */
  doubt(): void {
    this.completeUpTo = Number.NEGATIVE_INFINITY;
  }

  /**
   * A standby that has more of a log than the primary wrote does not follow it: after a failover it was left behind with
   * what was lost. It counts again when it has got beyond that point.
   */
  compare({ at, written }: Sample): void {
    if (at < this.#lookedAt || this.replayed <= written) return;
    this.#beyond = this.replayed;
    this.doubt();
  }

  async #ask(samples: readonly Sample[]): Promise<void> {
    const client = await this.#asking.connect();
    let isLost = true;
    try {
      const { rows } = await client.query<{ standby: number; replayed: string | null }>(replayedSoFar);
      const [row] = rows;
      if (row?.standby !== 1 || row.replayed === null) throw new DatabaseUnavailable('it is no standby');
      isLost = false;
      this.replayed = BigInt(row.replayed);
    } finally {
      client.release(isLost);
    }
    this.#lookedAt = performance.now();
    const complete = samples.findLast(({ written }) => written > this.#beyond && written <= this.replayed);
    if (complete !== undefined) this.completeUpTo = Math.max(this.completeUpTo, complete.at);
    this.answers = true;
    this.#told = undefined;
  }

  #lose(error: unknown): void {
    if (this.#isClosed) return;
    this.answers = false;
    const reason = error instanceof Error ? error.message : String(error);
    if (this.#told === undefined) {
      const { schema, log } = this.#options;
      log?.warn({ schema, standby: this.name, reason }, 'a standby of PostgreSQL is not read from');
    }
    this.#told = reason;
    const gone = new DatabaseUnavailable(`the standby ${this.name} does not answer`);
    for (const abandon of this.#abandon) abandon(gone);
  }

  #accept({ isStandby, system, started }: Checked): void {
    const { primary } = this.#options;
    if (!isStandby) throw new DatabaseUnavailable('it is no standby');
    if (primary.system !== undefined && system !== primary.system) {
      throw new DatabaseUnavailable('it is a standby of another server');
    }
    this.#started = started;
  }

  /** What was asked and what is read must be one server: an address that leads to several says nothing of either. */
  #acceptReader(checked: Checked): void {
    if (!checked.isStandby || checked.started !== this.#started) {
      throw new DatabaseUnavailable(`${this.name} is not the one standby that was asked`);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.#pool.end(), this.#asking.end()]);
  }
}
