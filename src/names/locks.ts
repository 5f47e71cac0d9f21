/**
 * One holder at a time per key, across all processes that share the database: reading what the chain says of a name or a
 * token and acting on it must not interleave. Within a process holders of a key wait for each other; between processes a
 * row says who holds it and until when, by the database's clock.
 *
 * When a holder dies, another takes the key after its time is over, or when it was not renewed for so long, should that
 * clock have been set meanwhile. A holder that was stopped for longer than its time
 * does not know that, so its decisions are stored behind the fence: in one transaction with a check of the row.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { atMost } from '../kernel/at-most.ts';
import { backoffMs } from '../kernel/background/backoff.ts';
import { within } from '../kernel/background/within.ts';
import { clocks, LeaseWatch } from '../storage/sql/lease.ts';
import type { Sql, SqlExecutor } from '../storage/sql/sql.ts';

/** Others hold the key for longer than there is time to wait. */
export class LockTimeout extends Error {
  override readonly name = 'LockTimeout';
}

/** Another process holds the key by now. */
export class LockLost extends Error {
  override readonly name = 'LockLost';
}

interface LockOptions {
  /** After a holder died, another takes over within this. */
  readonly leaseMs?: number;
  /** How long to wait for a key. */
  readonly waitMs?: number;
  /** How many may wait for one key in this process. */
  readonly maxWaiting?: number;
}

const defaults = { leaseMs: 15_000, waitMs: 30_000, maxWaiting: 200 } as const;
const backoff = { firstMs: 10, longestMs: 250 };
const maxWatched = 10_000;

interface Queue {
  tail: Promise<void>;
  waiting: number;
}

export class Locks {
  readonly #sql: Sql;
  readonly #options: Required<LockOptions>;
  readonly #queues = new Map<string, Queue>();
  /** By key: at most one hold of a key in this process. */
  readonly #held = new Map<string, { readonly holder: string; readonly renewal: NodeJS.Timeout }>();

  /** By key, of those that others held: who comes again and waits briefly each time sees it abandoned too. */
  readonly #watches = new LRUCache<string, LeaseWatch>(atMost(maxWatched));

  constructor(sql: Sql, options: LockOptions = {}) {
    this.#sql = sql;
    this.#options = { ...defaults, ...options };
  }

  /** Throws `LockTimeout` without having begun the work. */
  async hold<T>(key: string, work: () => Promise<T>, waitMs: number = this.#options.waitMs): Promise<T> {
    const deadline = performance.now() + waitMs;
    const { before, leave } = this.#enter(key);
    try {
      if (
        (await within(
          waitMs,
          before.then(() => true),
        )) !== true
      )
        throw busy(key);
      const holder = await this.#take(key, deadline);
      try {
        return await work();
      } finally {
        await this.#release(key, holder);
      }
    } finally {
      leave();
    }
  }

  /** Within a transaction of the work: throws, and so undoes it, when another holds the key by now. */
  async fence(tx: SqlExecutor, key: string): Promise<void> {
    const holder = this.#held.get(key)?.holder;
    const row =
      holder === undefined
        ? undefined
        : await tx.get(
            `SELECT 1 AS one FROM arns_locks WHERE name = ? AND holder = ? ${tx.forUpdate}`,
            key,
            holder,
          );
    if (row === undefined) throw new LockLost(`${key} is held by another process`);
  }

  /** Releases everything: work that is still running is behind the fence and stores nothing any more. */
  async stop(): Promise<void> {
    const held = [...this.#held];
    await Promise.all(held.map(([key, { holder }]) => this.#release(key, holder)));
  }

  /** Removes the rows of processes that died. */
  async sweep(): Promise<void> {
    const now = clocks[this.#sql.engine];
    await this.#sql.run(`DELETE FROM arns_locks WHERE until < ${now} - 3600000`);
  }

  #enter(key: string): { before: Promise<void>; leave: () => void } {
    const queue = this.#queues.get(key) ?? { tail: Promise.resolve(), waiting: 0 };
    if (queue.waiting > this.#options.maxWaiting) throw busy(key);
    const { promise: done, resolve } = Promise.withResolvers<void>();
    const before = queue.tail;
    queue.tail = before.then(() => done);
    queue.waiting += 1;
    this.#queues.set(key, queue);
    const leave = () => {
      resolve();
      queue.waiting -= 1;
      if (queue.waiting === 0) this.#queues.delete(key);
    };
    return { before, leave };
  }

  async #take(key: string, deadline: number): Promise<string> {
    const holder = randomUUID();
    const { leaseMs } = this.#options;
    const now = clocks[this.#sql.engine];
    for (let tries = 1; ; tries += 1) {
      let taken = await this.#sql.run(
        `INSERT INTO arns_locks (name, holder, until) VALUES (?, ?, ${now} + ?)
         ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
         WHERE arns_locks.until < ${now}`,
        key,
        holder,
        leaseMs,
      );
      if (taken === 0) taken = await this.#takeAbandoned(key, holder);
      if (taken > 0) break;
      const pause = backoffMs(backoff, tries);
      if (performance.now() + pause > deadline) throw busy(key);
      await sleep(pause * (0.5 + Math.random() / 2));
    }
    this.#watches.delete(key);
    // A renewal that fails is not repeated: the fence notices.
    const renewal = setInterval(() => this.#renew(key, holder).catch(() => {}), leaseMs / 3);
    renewal.unref();
    this.#held.set(key, { holder, renewal });
    return holder;
  }

  /** Only the very row that was watched, so that of several who wait one takes it. */
  async #takeAbandoned(key: string, holder: string): Promise<number> {
    const row = await this.#sql.get<{ holder: string; until: number }>(
      'SELECT holder, until FROM arns_locks WHERE name = ?',
      key,
    );
    if (row === undefined) return 0;
    const watch = this.#watches.get(key) ?? new LeaseWatch(this.#options.leaseMs);
    this.#watches.set(key, watch);
    if (!watch.isAbandoned(row)) return 0;
    return await this.#sql.run(
      `UPDATE arns_locks SET holder = ?, until = ${clocks[this.#sql.engine]} + ? WHERE name = ? AND holder = ? AND until = ?`,
      holder,
      this.#options.leaseMs,
      key,
      row.holder,
      row.until,
    );
  }

  /** Never takes the key again: between, somebody else may have held it. */
  async #renew(key: string, holder: string): Promise<void> {
    await this.#sql.run(
      `UPDATE arns_locks SET until = ${clocks[this.#sql.engine]} + ? WHERE name = ? AND holder = ?`,
      this.#options.leaseMs,
      key,
      holder,
    );
  }

  /** A row that cannot be removed now runs out by itself. */
  async #release(key: string, holder: string): Promise<void> {
    const held = this.#held.get(key);
    if (held?.holder !== holder) return;
    clearInterval(held.renewal);
    this.#held.delete(key);
    await this.#sql.run('DELETE FROM arns_locks WHERE name = ? AND holder = ?', key, holder).catch(() => {});
  }
}

const busy = (key: string) => new LockTimeout(`${key} is held by others`);
