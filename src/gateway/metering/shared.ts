/**
 * Buckets that several processes share through the database. Each takes from its own memory at once, and every second
 * tells the database what it took and learns what is left; a limit may be overdrawn by a second's worth, never more.
 */

import { createJob, type Job } from '../../kernel/background/job.ts';
import type { RunReport } from '../../kernel/background/run-record.ts';
import type { Logger } from '../../kernel/log.ts';
import { insertRows, selectIn } from '../../storage/sql/many-rows.ts';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import type { Buckets } from './buckets.ts';

const everyMs = 1_000;
const perRound = 1_024;
const columns = ['bucket', 'millitokens', 'filled_at'] as const;
/** Every ten minutes. */
const roundsToForget = 600;

export class SharedBuckets {
  readonly #sql: Sql;
  readonly #groups: readonly Buckets[];
  readonly #now: () => number;
  #rounds = 0;
  readonly #job: Job;

  constructor(sql: Sql, groups: readonly Buckets[], log: Logger, now: () => number = Date.now) {
    this.#sql = sql;
    this.#groups = groups;
    this.#now = now;
    for (const group of groups) group.share();
    this.#job = createJob({ name: 'share buckets', everyMs, log, run: () => this.#round() });
  }

  start(): void {
    this.#job.start();
  }

  reports(): readonly RunReport[] {
    return this.#job.reports();
  }

  async stop(): Promise<void> {
    await this.#job.stop();
    await this.exchange().catch(() => undefined);
  }

  async #round(): Promise<void> {
    await this.exchange();
    this.#rounds += 1;
    if (this.#rounds % roundsToForget === 0) await this.forgetFull();
  }

  async exchange(): Promise<void> {
    for (const group of this.#groups) {
      for (;;) {
        const taken = group.drainUsed(perRound);
        if (taken.size === 0) break;
        try {
          await this.#settle(group, taken);
        } catch (error) {
          group.undrain(taken);
          throw error;
        }
      }
    }
  }

  /** Rows of buckets that are full again say nothing: without them the table holds those in use. */
  async forgetFull(): Promise<number> {
    const seconds = this.#groups.map((group) => group.secondsToFill ?? Number.POSITIVE_INFINITY);
    const longest = Math.max(...seconds);
    if (!Number.isFinite(longest)) return 0;
    const before = Math.floor(this.#now() - longest * 1000);
    return await this.#sql.run('DELETE FROM meter_buckets WHERE filled_at < ?', before);
  }

  async #settle(group: Buckets, taken: ReadonlyMap<string, number>): Promise<void> {
    const { capacity, refillPerSecond } = group.rules;
    // Always in one order, so that two processes never wait for each other.
    const keys = [...taken.keys()].sort();
    const left = await this.#sql.transaction(async (tx) => {
      const now = this.#now();
      const known = await lockRows(tx, keys, { millitokens: capacity * 1000, filled_at: now });
      const tokens = new Map<string, number>();
      for (const key of keys) {
        const { millitokens = capacity * 1000, filled_at: filledAt = now } = known.get(key) ?? {};
        const gained = (Math.max(0, now - filledAt) / 1000) * refillPerSecond;
        tokens.set(key, Math.min(capacity, millitokens / 1000 + gained) - (taken.get(key) ?? 0));
      }
      await insertRows(
        tx,
        'meter_buckets',
        columns,
        keys.map((key) => [key, Math.floor((tokens.get(key) ?? 0) * 1000), now]),
        `ON CONFLICT (bucket) DO UPDATE SET millitokens = excluded.millitokens, filled_at = excluded.filled_at`,
      );
      return tokens;
    });
    for (const [key, tokens] of left) group.settle(key, tokens);
  }
}

interface Level {
  readonly millitokens: number;
  readonly filled_at: number;
}

/** What is not there cannot be locked: of several that take first at once, each must see the others. */
async function lockRows(
  tx: SqlExecutor,
  keys: readonly string[],
  full: Level,
): Promise<ReadonlyMap<string, Level>> {
  const lock = async () => {
    const rows = await selectIn<Level & { bucket: string }>(
      tx,
      `SELECT bucket, millitokens, filled_at FROM meter_buckets WHERE bucket IN ({in}) ORDER BY bucket ${tx.forUpdate}`,
      keys,
    );
    return new Map(rows.map((row) => [row.bucket, row]));
  };
  const known = await lock();
  const missing = keys.filter((key) => !known.has(key));
  if (missing.length === 0) return known;
  const rows = missing.map((key) => [key, full.millitokens, full.filled_at]);
  await insertRows(tx, 'meter_buckets', columns, rows, 'ON CONFLICT (bucket) DO NOTHING');
  return await lock();
}
