/**
 * Who works on which bundle, over all processes that share the database: each bundle has one holder at a time, for as long
 * as the holder renews it by the database's clock. A process that died is followed within one length of the lease, and one
 * that slept through it notices before it writes, so that a bundle is never signed twice.
 */
import { randomUUID } from 'node:crypto';
import { clocks, LostLease, type Transactions } from '../../storage/sql/lease.ts';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import { type BundleRow, dueBundles, readBundle } from './bundle-rows.ts';

/** The longest that any process asks for: a bundle that is held further into the future is held by a wrong clock. */
export const maxLeaseMs = 9_000;

export interface BundleLease {
  readonly bundle: BundleRow;
  /** Aborted when another process has the bundle, or this one stops. */
  readonly signal: AbortSignal;
  /** Transactions of the work, each undone where another process has the bundle by now. */
  readonly fenced: Transactions;
  /** The last of them, which gives the bundle back. */
  readonly lastly: Transactions;
  /** Gives it back if that was not done. */
  end(): Promise<void>;
}

export class BundleLeases {
  readonly #sql: Sql;
  readonly #leaseMs: number;
  readonly #holder = randomUUID();
  readonly #held = new Map<string, AbortController>();

  constructor(sql: Sql, leaseMs: number) {
    this.#sql = sql;
    this.#leaseMs = Math.min(leaseMs, maxLeaseMs);
  }

  /** Up to so many bundles that a step is due for and nobody holds, the longest overdue first. */
  async take(most: number, now: number): Promise<BundleLease[]> {
    const taken: BundleLease[] = [];
    for (const { plan } of most > 0 ? await dueBundles(this.#sql, this.#isFree, now) : []) {
      if (taken.length >= most) break;
      const row = await this.#sql.get(
        `UPDATE upload_bundles SET holder = ?, held_until = ${this.#now} + ?
         WHERE plan = ? AND due_at <= ? AND state <> 'permanent' AND state <> 'dropped' AND ${this.#isFree}
         RETURNING *`,
        this.#holder,
        this.#leaseMs,
        plan,
        now,
      );
      if (row !== undefined) taken.push(this.#lease(readBundle(row)));
    }
    return taken;
  }

  /** Keeps what is held; work on what is not any more is called off. */
  async renew(): Promise<void> {
    for (const [plan, work] of this.#held) {
      const kept = await this.#sql.run(
        `UPDATE upload_bundles SET held_until = ${this.#now} + ? WHERE plan = ? AND holder = ?`,
        this.#leaseMs,
        plan,
        this.#holder,
      );
      if (kept === 0 && this.#held.get(plan) === work) {
        this.#held.delete(plan);
        work.abort(lost(plan));
      }
    }
  }

  get #now(): string {
    return clocks[this.#sql.engine];
  }

  get #isFree(): string {
    return `(holder IS NULL OR held_until < ${this.#now} OR held_until > ${this.#now} + ${maxLeaseMs})`;
  }

  #lease(bundle: BundleRow): BundleLease {
    const { plan } = bundle;
    const work = new AbortController();
    this.#held.set(plan, work);
    const fence = async (tx: SqlExecutor): Promise<void> => {
      const held = await tx.get(
        `SELECT 1 AS one FROM upload_bundles WHERE plan = ? AND holder = ? ${tx.forUpdate}`,
        plan,
        this.#holder,
      );
      if (held === undefined) throw lost(plan);
    };
    const giveBack = (executor: SqlExecutor) =>
      executor.run(
        'UPDATE upload_bundles SET holder = NULL, held_until = NULL WHERE plan = ? AND holder = ?',
        plan,
        this.#holder,
      );
    const forget = () => {
      if (this.#held.get(plan) === work) this.#held.delete(plan);
    };
    return {
      bundle,
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
        if (this.#held.get(plan) !== work) return;
        forget();
        // Where that fails another process takes it when its time is over.
        await giveBack(this.#sql).catch(() => {});
      },
    };
  }
}

const lost = (plan: string): LostLease => new LostLease(`bundle ${plan} went to another process`);
