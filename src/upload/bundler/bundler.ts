/**
 * Brings items to the chain. A bundle moves one step at a time, each step stored when it is done, so that work goes
 * on where a crash left it:
 *
 *   planned → prepared (transaction signed) → posted → seeded (chunks given) → permanent
 *
 * A bundle that the chain forgets is posted again while its anchor lives; one that can no longer be mined is
 * dropped and its items are planned again. One process at a time does this.
 */
import { LRUCache } from 'lru-cache';
import { redactUrlsInText } from '../../config/redact.ts';
import type { Credits } from '../../credits/credits.ts';
import type { DataTree } from '../../formats/arweave/data-root.ts';
import { parseTransactionJson, transactionToJson } from '../../formats/arweave/transaction-json.ts';
import { backoffMs } from '../../kernel/background/backoff.ts';
import type { RunReport } from '../../kernel/background/run-record.ts';
import { WakeableTask } from '../../kernel/background/wakeable-task.ts';
import { messageOf } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/log.ts';
import { NodeRefused } from '../../outside/arweave/nodes.ts';
import { changeOne } from '../../storage/sql/change-one.ts';
import { assignments, given } from '../../storage/sql/columns.ts';
import { Lease, LostLease } from '../../storage/sql/lease.ts';
import { deleteUnused } from '../items/blob-uses.ts';
import { countMiss, forgetMisses, LostItem } from './bundle-bytes.ts';
import { type BundleRow, dueBundles, findBundle } from './bundle-rows.ts';
import { isAnchorDead, judgeBundle, type Mined, type Verdict } from './confirm.ts';
import { deleteLocalCopies, dropBundle, dropLostItem, makePermanent, markPosted } from './endings.ts';
import { countOnTheWay, countOverdue, type PlanLimits, planBundle } from './plan.ts';
import { dataTreeOfBundle, type PrepareDeps, prepareBundle, WalletShort } from './prepare.ts';
import { type SeedDeps, seedBundle } from './seed.ts';

interface BundlerDeps extends PrepareDeps, SeedDeps {
  readonly credits: Credits;
  readonly log: Logger;
  readonly limits: PlanLimits;
  readonly confirmations: number;
  readonly retentionMs: number;
  readonly pollMs: number;
  /** After how long a permanent bundle is looked at again; undefined where bundles are not watched. */
  readonly firstLookMs?: number | undefined;
}

const maxBackoffMs = 5 * 60 * 1_000;
/** A process that died is followed by another after this long at most. */
const maxLeaseMs = 9_000;
const tidyMs = 60_000;
/** A turn may read and post bundles of gigabytes. */
const stuckTurnMs = 2 * 3_600_000;
/** People watch what waits. */
const countMs = 1_000;
const blobsAtOnce = 200;
/** Trees kept between a bundle's preparation and its seeding; one that is not there is made again. */
const keptTrees = 8;
const longestProblem = 500;
const mostCauses = 3;
/** Reads in a row that do not find an item's bytes, after which they are lost: a store can be away without saying so. */
const maxMisses = 8;
/** Checks in a row of a mined bundle whose chunks cannot be read, after which its items are planned anew. */
const maxUnreadable = 20;

export class Bundler {
  readonly #deps: BundlerDeps;
  readonly #leaseMs: number;
  readonly #lease: Lease;
  readonly #stopping = new AbortController();
  readonly #trees = new LRUCache<string, DataTree>({ max: keptTrees });
  readonly #task = new WakeableTask({
    name: 'bundler',
    stuckAfterMs: stuckTurnMs,
    run: async () => {
      await this.turn();
      return this.#deps.pollMs;
    },
    failed: (error) => {
      if (!(error instanceof LostLease)) this.#deps.log.error({ err: error }, 'the bundler failed a turn');
      return this.#deps.pollMs;
    },
  });
  #renewal: NodeJS.Timeout | undefined;
  #tidyAt = 0;
  #countAt = 0;

  constructor(deps: BundlerDeps) {
    this.#deps = deps;
    this.#leaseMs = Math.min(maxLeaseMs, 20 * deps.pollMs);
    this.#lease = new Lease(deps.sql, { table: 'upload_leases', name: 'bundler', leaseMs: this.#leaseMs });
  }

  start(): void {
    this.#renewal = setInterval(() => void this.#lease.renew().catch(() => {}), this.#leaseMs / 3).unref();
    this.#task.start();
  }

  reports(): readonly RunReport[] {
    return this.#task.reports();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#task.stop();
    clearInterval(this.#renewal);
    await this.#lease.release().catch(() => {});
  }

  /** Does everything that is due now, if this process holds the lease. */
  async turn(): Promise<void> {
    const { limits, now } = this.#deps;
    const { fenced } = this.#lease;
    if (!(await this.#lease.renew())) return;
    while (!this.#stopping.signal.aborted && (await planBundle(fenced, limits, now())) !== undefined);
    await this.#advanceDue();
    if (now() >= this.#countAt) {
      this.#countAt = now() + countMs;
      const { items, bundles } = await countOnTheWay(this.#deps.sql);
      this.#deps.metrics.waiting(items, bundles);
    }
    if (now() < this.#tidyAt) return;
    this.#tidyAt = now() + tidyMs;
    await this.#tidy();
    await this.#countOverdue();
  }

  async #tidy(): Promise<void> {
    const { sql, blobs, retentionMs, now } = this.#deps;
    const { signal } = this.#stopping;
    while (!signal.aborted && (await deleteLocalCopies(sql, retentionMs, now())) > 0);
    while (!signal.aborted && (await deleteUnused(sql, blobs, now(), blobsAtOnce)) > 0);
  }

  async #countOverdue(): Promise<void> {
    const { sql, metrics, nodes } = this.#deps;
    metrics.overdue(await countOverdue(sql, await nodes.height().catch(() => 0)));
  }

  async #advanceDue(): Promise<void> {
    const { sql, now } = this.#deps;
    for (const bundle of await dueBundles(sql, now())) {
      if (this.#stopping.signal.aborted) return;
      await this.#advance(bundle);
    }
  }

  /** Takes a bundle through all the steps that can be done at once. */
  async #advance(bundle: BundleRow): Promise<void> {
    let current = bundle;
    try {
      while (await this.#step(current)) {
        const next = await findBundle(this.#deps.sql, bundle.plan);
        if (next === undefined) return;
        current = next;
      }
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      if (error instanceof LostLease) throw error;
      if (error instanceof LostItem && (await this.#isLost(bundle.plan, error))) return;
      const level = error instanceof WalletShort || error instanceof LostItem ? 'error' : 'warn';
      this.#deps.log[level]({ err: error, plan: bundle.plan, state: current.state }, 'a bundle has to wait');
      await this.#tryAgain(current, error);
    }
  }

  /** Counts that an item's bytes are not there; true when that was too often, and the item was given up. */
  async #isLost(plan: string, error: LostItem): Promise<boolean> {
    const { log, now, credits } = this.#deps;
    if ((await countMiss(this.#lease.fenced, plan, error.id)) < maxMisses) return false;
    log.error({ err: error, plan }, 'an item was lost; its credits return');
    await dropLostItem(this.#lease.fenced, credits, plan, error.id, now());
    return true;
  }

  #tryAgain(bundle: BundleRow, error: unknown): Promise<void> {
    const { plan, unreadable } = bundle;
    const attempts = bundle.attempts + 1;
    const delayMs = backoffMs({ firstMs: this.#deps.pollMs, longestMs: maxBackoffMs }, attempts);
    return this.#due(plan, delayMs, { attempts, unreadable, problem: causesOf(error) });
  }

  /** One step; true when the next can follow at once. */
  async #step(bundle: BundleRow): Promise<boolean> {
    switch (bundle.state) {
      case 'planned':
        this.#trees.set(bundle.plan, await prepareBundle(this.#deps, this.#lease.fenced, bundle));
        return true;
      case 'prepared':
        return this.#post(bundle);
      case 'posted':
        return this.#seed(bundle);
      case 'seeded':
        return this.#follow(bundle, await this.#judge(bundle));
      default:
        return false;
    }
  }

  async #post(bundle: BundleRow): Promise<boolean> {
    const { nodes, log, now } = this.#deps;
    const transaction = transactionToJson(parseTransactionJson(JSON.parse(bundle.tx ?? '')), 'header');
    // Stored before any node gets it: after a crash, or an answer that is lost, some node may have it.
    await this.#mark(bundle, 'prepared', 'posted_at = COALESCE(posted_at, ?)', now());
    try {
      await nodes.postTransaction(transaction);
    } catch (error) {
      const known = await nodes.txStatus(transaction.id);
      if (known.state !== 'found') {
        // A second transaction is a second payment. It is made only where all nodes refused this one and none knows
        // it; and, where one may have taken it before, only once no block can hold it any more.
        const isRefused = error instanceof NodeRefused && known.state === 'absent';
        const wasPosted = bundle.posted_at !== null;
        if (!isRefused || (wasPosted && !isAnchorDead(bundle, known.at))) throw error;
        // What nodes refuse they will refuse again: a new anchor, price and signature may pass. The items are not to
        // blame, for a node sees none of them.
        log.warn({ err: error, plan: bundle.plan, tx: transaction.id }, 'the bundle was refused');
        await this.#mark(bundle, 'planned', 'changed_at = ?', now());
        await this.#tryAgain(bundle, error);
        return false;
      }
    }
    await markPosted(this.#lease.fenced, bundle, now());
    return true;
  }

  async #seed(bundle: BundleRow): Promise<boolean> {
    const { plan } = bundle;
    const tree = this.#trees.get(plan) ?? (await dataTreeOfBundle(this.#deps, this.#lease.fenced, plan));
    this.#trees.set(plan, tree);
    try {
      await seedBundle(this.#deps, plan, tree, this.#stopping.signal);
    } catch (error) {
      // Chunks of a transaction that the chain no longer knows are refused for ever.
      const verdict = error instanceof NodeRefused ? await this.#judge(bundle) : undefined;
      if (verdict?.kind !== 'forgotten' && verdict?.kind !== 'dropped') throw error;
      return this.#follow(bundle, verdict);
    }
    await forgetMisses(this.#lease.fenced, plan);
    const { now } = this.#deps;
    await this.#mark(bundle, 'seeded', 'seedings = seedings + 1, attempts = 0, seeded_at = ?', now());
    return true;
  }

  #judge(bundle: BundleRow): Promise<Verdict> {
    return judgeBundle(this.#deps.nodes, bundle, this.#deps.confirmations);
  }

  async #follow(bundle: BundleRow, verdict: Verdict): Promise<boolean> {
    const { log, now, metrics } = this.#deps;
    switch (verdict.kind) {
      case 'permanent':
        await makePermanent(this.#lease.fenced, bundle.plan, verdict, now(), this.#lookAt());
        metrics.bundleEnded('permanent', now() - bundle.created_at);
        this.#trees.delete(bundle.plan);
        log.info({ plan: bundle.plan, tx: bundle.tx_id, items: bundle.item_count }, 'a bundle is permanent');
        return false;
      case 'dropped':
        log.warn({ plan: bundle.plan, tx: bundle.tx_id }, 'a bundle was dropped by the chain');
        return this.#drop(bundle);
      case 'forgotten':
        log.warn({ plan: bundle.plan, tx: bundle.tx_id }, 'no node knows a bundle: posting it again');
        await this.#mark(
          bundle,
          'prepared',
          'block_height = NULL, confirmations = NULL, changed_at = ?',
          now(),
        );
        await this.#due(bundle.plan, this.#deps.pollMs, {
          problem: 'no node knows its transaction any more',
        });
        return false;
      case 'unreadable':
        return this.#seedAgain(bundle);
      case 'waiting':
        await this.#due(bundle.plan, this.#waitFor(bundle), { mined: verdict.mined });
        return false;
    }
  }

  #lookAt(): number | undefined {
    const { firstLookMs, now } = this.#deps;
    return firstLookMs === undefined ? undefined : now() + firstLookMs;
  }

  /** Nodes may be slow with the chunks of what they mined; after many checks the bundle is given up. */
  async #seedAgain(bundle: BundleRow): Promise<false> {
    const { log, now, pollMs } = this.#deps;
    const unreadable = bundle.unreadable + 1;
    if (unreadable > maxUnreadable) {
      log.error({ plan: bundle.plan, tx: bundle.tx_id }, 'a mined bundle cannot be read: making another');
      return this.#drop(bundle);
    }
    log.warn({ plan: bundle.plan, tx: bundle.tx_id }, 'chunks of a bundle cannot be read: seeding again');
    await this.#mark(bundle, 'posted', 'changed_at = ?', now());
    const delayMs = backoffMs({ firstMs: 2 * pollMs, longestMs: 256 * pollMs }, unreadable);
    const problem = 'it is mined, and not all of its chunks can be read back';
    await this.#due(bundle.plan, delayMs, { unreadable, problem });
    return false;
  }

  /** Ends a bundle; its items are planned again. */
  async #drop({ plan, created_at }: BundleRow): Promise<false> {
    const { credits, metrics, now } = this.#deps;
    this.#trees.delete(plan);
    await dropBundle(this.#lease.fenced, credits, plan, now());
    metrics.bundleEnded('dropped', now() - created_at);
    return false;
  }

  /** The longer a bundle has waited, the less often the chain is asked. */
  #waitFor(bundle: BundleRow): number {
    const { pollMs, now } = this.#deps;
    return Math.max(pollMs, Math.min(60_000, (now() - (bundle.posted_at ?? 0)) / 10));
  }

  #mark(bundle: BundleRow, state: BundleRow['state'], assignment: string, value: number): Promise<void> {
    return this.#lease.fenced.transaction((tx) =>
      changeOne(
        tx,
        `UPDATE upload_bundles SET state = ?, ${assignment} WHERE plan = ? AND state = ?`,
        state,
        value,
        bundle.plan,
        bundle.state,
      ),
    );
  }

  /**
   * Puts a bundle off. Without counters nothing is wrong with it, and what went wrong before is over; `problem` is kept
   * for operators, as `mined` is, which the chain may take back.
   */
  async #due(
    plan: string,
    delayMs: number,
    { attempts = 0, unreadable = 0, problem, mined }: PutOff,
  ): Promise<void> {
    const now = this.#deps.now();
    const columns = given({
      due_at: Math.ceil(now + delayMs),
      attempts,
      unreadable,
      last_error: problem?.slice(0, longestProblem),
      last_error_at: problem === undefined ? undefined : now,
      ...(problem === undefined && {
        block_height: mined?.blockHeight ?? null,
        confirmations: mined?.confirmations ?? null,
      }),
    });
    const statement = `UPDATE upload_bundles SET ${assignments(columns)} WHERE plan = ?`;
    await this.#lease.fenced.transaction((tx) => changeOne(tx, statement, ...Object.values(columns), plan));
  }
}

interface PutOff {
  readonly attempts?: number;
  readonly unreadable?: number;
  readonly problem?: string | undefined;
  readonly mined?: Mined | undefined;
}

/** What went wrong and why, without what may be a key in the address of a node. */
function causesOf(error: unknown): string {
  const told: string[] = [];
  for (let cause = error; cause !== undefined && told.length < mostCauses; ) {
    told.push(messageOf(cause));
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return redactUrlsInText(told.join(': '));
}
