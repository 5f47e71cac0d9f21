/**
 * Who works on which bundle, over all processes that share the database: each bundle has one holder at a time, for as long
 * as the holder renews it by the database's clock. A process that died is followed within one length of the lease, and one
 * that slept through it notices before it writes, so that a bundle is never signed twice.
 */
import { randomUUID } from 'node:crypto';
import { dueBounds } from '../../storage/sql/due.ts';
import { clocks, LostLease, type Transactions } from '../../storage/sql/lease.ts';
import type { Row, Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import { readInteger } from '../../storage/sql/typed-rows.ts';
import { type BundleRow, dueBundles, isDueBundle, readBundle } from './bundle-rows.ts';

/** The longest that any process asks for: a bundle that is held further into the future is held by a wrong clock. */
export const maxLeaseMs = 9_000;

export interface BundleLease {
  readonly bundle: BundleRow;
  /** By the database's clock. */
  readonly takenAt: number;
  /** Aborted when another process has the bundle, or this one stops. */
  readonly signal: AbortSignal;
  /** Transactions of the work, each undone where another process has the bundle by now. */
  readonly fenced: Transactions;
  /** The last of them, which gives the bundle back. */
  readonly lastly: Transactions;
  /** Gives it back if that was not done. */
  end(): Promise<void>;
}

interface Held {
  /** Another one each time that a bundle is taken. */
  readonly holder: string;
  readonly work: AbortController;
}

export class BundleLeases {
  readonly #sql: Sql;
  readonly #leaseMs: number;
  readonly #longestWaitMs: number;
  /** By plan. */
  readonly #held = new Map<string, Held>();

  /** `longestWaitMs`: nothing is put off for longer. */
  constructor(sql: Sql, leaseMs: number, longestWaitMs: number) {
    this.#sql = sql;
    this.#leaseMs = Math.min(leaseMs, maxLeaseMs);
    this.#longestWaitMs = longestWaitMs;
  }

  /** Up to so many bundles that a step is due for and nobody holds, the longest overdue first. */
  async take(most: number, now: number): Promise<BundleLease[]> {
    const taken: BundleLease[] = [];
    const due = dueBounds(now, this.#longestWaitMs);
    for (const { plan } of most > 0 ? await dueBundles(this.#sql, this.#isFree, due) : []) {
      if (taken.length >= most) break;
      // Its time is over, and this process is still at it: others may take it, and until then it can be renewed.
      if (this.#held.has(plan)) continue;
      const held = { holder: randomUUID(), work: new AbortController() };
      let row: Row | undefined;
      try {
        row = await this.#sql.get(
          `UPDATE upload_bundles SET holder = ?, held_until = ${this.#now} + ?
           WHERE plan = ? AND ${isDueBundle} AND state <> 'permanent' AND state <> 'dropped' AND ${this.#isFree}
           RETURNING *, ${this.#now} AS taken_at`,
          held.holder,
          this.#leaseMs,
          plan,
          ...due,
        );
      } catch (error) {
        // Those before it are held and renewed: whoever asked has to work on them, or nobody ever would.
        if (taken.length === 0) throw error;
        break;
      }
      if (row !== undefined) taken.push(this.#lease(readBundle(row), readInteger(row.taken_at), held));
    }
    return taken;
  }

  /** Keeps what is held; work on what is not any more is called off. */
  async renew(): Promise<void> {
    for (const [plan, held] of this.#held) {
      const kept = await this.#sql.run(
        `UPDATE upload_bundles SET held_until = ${this.#now} + ? WHERE plan = ? AND holder = ?`,
        this.#leaseMs,
        plan,
        held.holder,
      );
      if (kept === 0 && this.#held.get(plan) === held) {
        this.#held.delete(plan);
        held.work.abort(lost(plan));
      }
    }
  }

  get #now(): string {
    return clocks[this.#sql.engine];
  }

  get #isFree(): string {
    return `(holder IS NULL OR held_until < ${this.#now} OR held_until > ${this.#now} + ${maxLeaseMs})`;
  }

  #lease(bundle: BundleRow, takenAt: number, held: Held): BundleLease {
    const { plan } = bundle;
    const { holder, work } = held;
    this.#held.set(plan, held);
    const fence = async (tx: SqlExecutor): Promise<void> => {
      const row = await tx.get(
        `SELECT 1 AS one FROM upload_bundles WHERE plan = ? AND holder = ? ${tx.forUpdate}`,
        plan,
        holder,
      );
      if (row === undefined) throw lost(plan);
    };
    const giveBack = (executor: SqlExecutor) =>
      executor.run(
        'UPDATE upload_bundles SET holder = NULL, held_until = NULL WHERE plan = ? AND holder = ?',
        plan,
        holder,
      );
    const forget = () => {
      if (this.#held.get(plan) === held) this.#held.delete(plan);
    };
    return {
      bundle,
      takenAt,
      signal: work.signal,
      fenced: {
        transaction: (step) =>
          this.#sql.transaction(async (tx) => {
            await fence(tx);
            return step(tx);
          }),
      },
      lastly: {
        transaction: async (step) => {
          const value = await this.#sql.transaction(async (tx) => {
            await fence(tx);
            const done = await step(tx);
            await giveBack(tx);
            return done;
          });
          forget();
          return value;
        },
      },
      end: async () => {
        if (this.#held.get(plan) !== held) return;
        forget();
        // Where that fails another process takes it when its time is over.
        await giveBack(this.#sql).catch(() => {});
      },
    };
  }
}

const lost = (plan: string): LostLease => new LostLease(`bundle ${plan} went to another process`);
