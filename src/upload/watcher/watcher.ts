/**
 * Looks at permanent bundles again, at growing intervals for as long as the operator wants, and mends those of which
 * chunks are gone. One process at a time does this, and not more often than so many looks an hour; to ask for every chunk of
 * a bundle counts as many looks as that is.
 */
import { backoffMs } from '../../kernel/background/backoff.ts';
import type { RunReport } from '../../kernel/background/run-record.ts';
import { WakeableTask } from '../../kernel/background/wakeable-task.ts';
import { ArweaveNodes } from '../../outside/arweave/nodes.ts';
import { HttpClient } from '../../outside/http.ts';
import { changeOne } from '../../storage/sql/change-one.ts';
import { assignments } from '../../storage/sql/columns.ts';
import { Lease, LostLease } from '../../storage/sql/lease.ts';
import type { SqlExecutor, SqlValue } from '../../storage/sql/sql.ts';
import { readInteger } from '../../storage/sql/typed-rows.ts';
import { type BundleRow, nextToLookAt } from '../bundler/bundle-rows.ts';
import type { UploadMetrics } from '../metrics.ts';
import { type Finding, lookAtBundle } from './look.ts';
import { type MendDeps, mendBundle } from './mend.ts';

/** When a permanent bundle is looked at. */
export interface WatchTimes {
  /** From the moment it is permanent. */
  readonly watchMs: number;
  readonly firstMs: number;
  readonly longestMs: number;
  readonly perHour: number;
  /** Chunks that are read back at each look, beside the last. */
  readonly samples: number;
}

/** What became of a bundle, for whoever wants to hear of it. */
export interface WatchNews {
  readonly kind: 'damaged' | 'mended';
  readonly txId: string;
  readonly note: string;
}

interface WatcherDeps extends Omit<MendDeps, 'http' | 'gateways'> {
  readonly metrics: UploadMetrics;
  readonly now: () => number;
  readonly times: WatchTimes;
  /** What is due is looked for at least so often. */
  readonly pollMs: number;
  /** Addresses of gateways that may have what nodes lack. */
  readonly gatewayUrls: readonly string[];
  readonly tell: ((news: WatchNews) => void) | undefined;
}

/** Tries in a row that did not mend a bundle, after which it is told as a problem. */
export const hopelessTries = 3;

const leaseMs = 60_000;
/** A mended bundle is looked at again soon, and less and less often where that did not help. */
const mendAgain = { firstMs: 5 * 60_000, longestMs: 24 * 3_600_000 };
/** Nodes did not answer. */
const askAgainMs = 15 * 60_000;
const hourMs = 3_600_000;
/** A bundle of gigabytes is asked for chunk by chunk, and may be read from elsewhere. */
const stuckMs = 6 * hourMs;
const maxAnswerBytes = 1024 * 1024;
const timeoutMs = 20_000;
const longestNote = 500;

export class BundleWatcher {
  readonly #deps: WatcherDeps;
  readonly #http = new HttpClient({ timeoutMs, maxBytes: maxAnswerBytes, connections: 4 });
  readonly #gateways: MendDeps['gateways'];
  readonly #lease: Lease;
  readonly #stopping = new AbortController();
  #renewal: NodeJS.Timeout | undefined;
  readonly #task = new WakeableTask({
    name: 'watch permanent bundles',
    stuckAfterMs: stuckMs,
    run: () => this.#turn(),
    failed: (error) => {
      if (!(error instanceof LostLease) && !this.#stopping.signal.aborted)
        this.#deps.log.error({ err: error }, 'permanent bundles could not be looked at');
      return this.#deps.pollMs;
    },
  });

  constructor(deps: WatcherDeps) {
    this.#deps = deps;
    this.#gateways = deps.gatewayUrls.map((url) => ({ url, chunks: new ArweaveNodes([url]) }));
    this.#lease = new Lease(deps.sql, { table: 'upload_leases', name: 'bundle watcher', leaseMs });
  }

  start(): void {
    const renew = () => void this.#lease.renew().catch(() => {});
    this.#renewal = setInterval(renew, leaseMs / 3).unref();
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
    await Promise.all([this.#http.close(), ...this.#gateways.map(({ chunks }) => chunks.close())]);
  }

  /** One look, if one is due; answers how long to wait for the next. */
  async #turn(): Promise<number> {
    const { now, times, pollMs } = this.#deps;
    if (!(await this.#lease.hold())) return pollMs;
    const bundle = await nextToLookAt(this.#deps.sql);
    const waitMs = (bundle?.look_at ?? Number.POSITIVE_INFINITY) - now();
    if (bundle === undefined || waitMs > 0) return Math.min(pollMs, waitMs);
    const asked = await this.#look(bundle);
    const looks = Math.max(1, asked / (times.samples + 1));
    return Math.min(hourMs, Math.ceil((looks * hourMs) / times.perHour));
  }

  /** Answers how many chunks were asked for. */
  async #look(bundle: BundleRow): Promise<number> {
    const { nodes, log, now, times, metrics } = this.#deps;
    const { signal } = this.#stopping;
    if (now() > bundle.changed_at + times.watchMs && bundle.damage === null) {
      await this.#store(bundle, { look_at: null });
      return 0;
    }
    try {
      const { finding, asked } = await lookAtBundle(nodes, bundle, times.samples, signal);
      metrics.looked(finding.kind === 'whole' ? 'whole' : 'damaged');
      await (finding.kind === 'whole' ? this.#whole(bundle) : this.#mend(bundle, finding));
      return asked;
    } catch (error) {
      if (signal.aborted || error instanceof LostLease) throw error;
      metrics.looked('not known');
      log.warn({ err: error, tx: bundle.tx_id }, 'a permanent bundle could not be looked at');
      await this.#store(bundle, { look_at: now() + askAgainMs });
      return 0;
    } finally {
      metrics.damaged(await countDamaged(this.#deps.sql).catch(() => 0));
    }
  }

  async #whole(bundle: BundleRow): Promise<void> {
    const { now, times } = this.#deps;
    const looks = bundle.looks + 1;
    const next = now() + backoffMs({ firstMs: times.firstMs, longestMs: times.longestMs }, looks + 1);
    await this.#store(bundle, {
      looks,
      looked_at: now(),
      look_at: next > bundle.changed_at + times.watchMs ? null : next,
      damage: null,
      damaged_at: null,
      mend_tries: 0,
    });
    if (bundle.damage !== null) this.#tell(bundle, 'mended', 'All of its chunks can be read again.');
  }

  async #mend(bundle: BundleRow, finding: Exclude<Finding, { kind: 'whole' }>): Promise<void> {
    const { now } = this.#deps;
    const damage = wordsOf(finding).slice(0, longestNote);
    const tries = bundle.mend_tries + 1;
    // Stored before anything is sent: from now on its local copies are kept.
    await this.#store(bundle, {
      looks: bundle.looks + 1,
      looked_at: now(),
      look_at: now() + backoffMs(mendAgain, tries),
      damage,
      damaged_at: bundle.damaged_at ?? now(),
      mend_tries: tries,
    });
    if (bundle.damage === null) this.#tell(bundle, 'damaged', damage);
    if (finding.kind === 'gone') return;
    const { signal } = this.#stopping;
    const given = await mendBundle(
      { ...this.#deps, http: this.#http, gateways: this.#gateways },
      bundle,
      finding,
      signal,
    );
    if (given === 0) return;
    this.#deps.metrics.mended(given);
    await this.#store(bundle, { chunks_mended: bundle.chunks_mended + given });
  }

  #tell(bundle: BundleRow, kind: WatchNews['kind'], note: string): void {
    const { log, tell } = this.#deps;
    const txId = bundle.tx_id ?? '';
    log[kind === 'damaged' ? 'error' : 'info']({ tx: txId, note }, `a permanent bundle is ${kind}`);
    tell?.({ kind, txId, note });
  }

  #store({ plan }: BundleRow, columns: Readonly<Record<string, SqlValue>>): Promise<void> {
    const statement = `UPDATE upload_bundles SET ${assignments(columns)} WHERE plan = ?`;
    return this.#lease.fenced.transaction((tx) => changeOne(tx, statement, ...Object.values(columns), plan));
  }
}

function wordsOf(finding: Exclude<Finding, { kind: 'whole' }>): string {
  if (finding.kind === 'gone') return finding.what;
  const { missing, chunks } = finding;
  const [first] = missing;
  const where = `from byte ${first?.start ?? 0}`;
  return `no node has ${missing.length} of its ${chunks} chunks, the first ${where}`;
}

/** Bundles of which something is missing; with `tries`, those that were tried to be mended so often. */
export async function countDamaged(sql: SqlExecutor, tries = 0): Promise<number> {
  const row = await sql.get(
    'SELECT COUNT(*) AS n FROM upload_bundles WHERE damage IS NOT NULL AND mend_tries >= ?',
    tries,
  );
  return readInteger(row?.n);
}
