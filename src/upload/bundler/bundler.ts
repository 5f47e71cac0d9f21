/**
 * Brings items to the chain. Of the processes that share a database one at a time closes bundles, by a lease; all of them work
 * on what was closed, each on so many bundles at once, and each bundle has one holder (`bundle-leases.ts`).
 */
import { AtOnce } from '../../kernel/background/at-once.ts';
import type { RunReport } from '../../kernel/background/run-record.ts';
import { WakeableTask } from '../../kernel/background/wakeable-task.ts';
import type { BlobStore } from '../../storage/blobs/blobs.ts';
import { Lease, LostLease } from '../../storage/sql/lease.ts';
import type { PayloadHashes } from '../hashing/payload-hash.ts';
import { deleteUnused } from '../items/blob-uses.ts';
import { type BundleLease, BundleLeases, maxLeaseMs } from './bundle-leases.ts';
import { BundleReader } from './bundle-reader.ts';
import { deleteLocalCopies } from './endings.ts';
import { countOnTheWay, countOverdue, type PlanLimits, planBundle } from './plan.ts';
import { advanceBundle, longestWaitMs, type StepDeps } from './steps.ts';

interface BundlerDeps extends Omit<StepDeps, 'reader' | 'posts'> {
  readonly blobs: BlobStore;
  readonly hashes: PayloadHashes;
  readonly limits: PlanLimits;
  /** Bundles that are worked on at the same time. */
  readonly concurrency: number;
  readonly retentionMs: number;
}

const tidyMs = 60_000;
/** A turn may delete many blobs, and a bundle may be gigabytes. */
const stuckMs = 2 * 3_600_000;
/** People watch what waits. */
const countMs = 1_000;
const blobsAtOnce = 200;

export class Bundler {
  readonly #deps: BundlerDeps;
  readonly #steps: StepDeps;
  readonly #leaseMs: number;
  /** For closing bundles, and for what one process has to do. */
  readonly #lease: Lease;
  readonly #leases: BundleLeases;
  readonly #stopping = new AbortController();
  /** Bundles that are worked on, and since when. */
  readonly #working = new Map<Promise<void>, number>();
  /** Bundles are handed out by one at a time, so that there are never too many. */
  readonly #handing = new AtOnce(1);
  /** There was no room for more: others may wait. */
  #mayWait = false;
  /** For the next turn to tell. */
  readonly #failures: unknown[] = [];
  readonly #task = new WakeableTask({
    name: 'bundler',
    stuckAfterMs: stuckMs,
    run: async () => {
      const [failure] = this.#failures.splice(0);
      if (failure !== undefined) throw failure;
      await this.#round();
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
    this.#steps = { ...deps, reader: new BundleReader(deps), posts: new AtOnce(deps.chunkConcurrency) };
    this.#leaseMs = Math.min(maxLeaseMs, 20 * deps.pollMs);
    this.#lease = new Lease(deps.sql, { table: 'upload_leases', name: 'bundler', leaseMs: this.#leaseMs });
    this.#leases = new BundleLeases(deps.sql, this.#leaseMs, longestWaitMs(deps.pollMs));
  }

  start(): void {
    const renew = () => {
      this.#lease.renew().catch(() => {});
      this.#leases.renew().catch(() => {});
    };
    this.#renewal = setInterval(renew, this.#leaseMs / 3).unref();
    this.#task.start();
  }

  reports(): readonly RunReport[] {
    const [since] = this.#working.values();
    return this.#task.reports().map((report) => {
      if (since === undefined) return report;
      const stuck = report.stuck || Date.now() - since > stuckMs;
      return { ...report, state: 'running', stuck, lastStartedAt: since };
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#task.stop();
    await this.#handing.run(async () => {});
    await Promise.all(this.#working.keys());
    clearInterval(this.#renewal);
    await this.#lease.release().catch(() => {});
  }

  /** Does everything that is due now, and ends when it is done. */
  async turn(): Promise<void> {
    await this.#round();
    do {
      await Promise.all(this.#working.keys());
      await this.#handOut();
      // Whoever ended meanwhile may have left room: nothing is due only where there was more room than bundles.
    } while ((this.#working.size > 0 || this.#mayWait) && this.#failures.length === 0 && !this.#isStopping);
    const [failure] = this.#failures.splice(0);
    if (failure !== undefined) throw failure;
  }

  /** Closes what is to be closed, and begins with what is due. */
  async #round(): Promise<void> {
    const { limits, now } = this.#deps;
    const isFirst = await this.#lease.renew();
    await this.#handOut();
    if (!isFirst) return;
    while (!this.#isStopping && (await planBundle(this.#lease.fenced, limits, now())) !== undefined)
      await this.#handOut();
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
    while (!this.#isStopping && (await deleteLocalCopies(sql, retentionMs, now())) > 0);
    while (!this.#isStopping && (await deleteUnused(sql, blobs, now(), blobsAtOnce)) > 0);
  }

  async #countOverdue(): Promise<void> {
    const { sql, metrics, nodes } = this.#deps;
    metrics.overdue(await countOverdue(sql, await nodes.height().catch(() => 0)));
  }

  get #isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  /** Begins with bundles that are due, as many as there is room for. */
  #handOut(): Promise<void> {
    const { concurrency, now } = this.#deps;
    return this.#handing.run(async () => {
      if (this.#isStopping) return;
      const room = concurrency - this.#working.size;
      const leases = await this.#leases.take(room, now());
      this.#mayWait = leases.length === room;
      for (const lease of leases) this.#begin(lease);
    });
  }

  #begin(lease: BundleLease): void {
    const work = this.#advance(lease).then(async () => {
      this.#working.delete(work);
      if (this.#mayWait) await this.#handOut().catch((error: unknown) => this.#failures.push(error));
      if (this.#failures.length > 0) this.#task.wake();
    });
    this.#working.set(work, Date.now());
  }

  async #advance(lease: BundleLease): Promise<void> {
    try {
      await advanceBundle(this.#steps, lease, this.#stopping.signal);
    } catch (error) {
      if (!(error instanceof LostLease) && !this.#isStopping) this.#failures.push(error);
    } finally {
      await lease.end();
    }
  }
}
