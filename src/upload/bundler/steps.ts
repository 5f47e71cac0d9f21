/**
 * The steps of one bundle, each stored when it is done, so that work goes on where a crash left it:
 *
 *   planned → prepared (transaction signed) → posted → seeded (chunks given) → permanent
 *
 * A bundle that the chain forgets is posted again while its anchor lives; one that can no longer be mined is
 * dropped and its items are planned again. Who takes them holds the bundle's lease.
 */
import { redactUrlsInText } from '../../config/redact.ts';
import type { Credits } from '../../credits/credits.ts';
import type { DataTree } from '../../formats/arweave/data-root.ts';
import { parseTransactionJson, transactionToJson } from '../../formats/arweave/transaction-json.ts';
import { backoffMs } from '../../kernel/background/backoff.ts';
import { type GiveUpAfter, hasTriedEnough } from '../../kernel/background/give-up.ts';
import { messageOf } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/log.ts';
import { NodeRefused } from '../../outside/arweave/nodes.ts';
import { changeOne } from '../../storage/sql/change-one.ts';
import { assignments, given } from '../../storage/sql/columns.ts';
import { LostLease } from '../../storage/sql/lease.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import type { BundleLease } from './bundle-leases.ts';
import { type BundleReader, LostItem } from './bundle-reader.ts';
import { type BundleRow, findBundle, maxBackoffMs } from './bundle-rows.ts';
import { dataOf } from './chain-chunks.ts';
import { anchorLife, isAnchorDead, judgeBundle, type Mined, type Verdict } from './confirm.ts';
import { dropBundle, dropLostItem, makePermanent, markPosted } from './endings.ts';
import { countMiss, forgetMisses, leaveOut } from './misses.ts';
import { type PrepareDeps, prepareBundle, WalletShort } from './prepare.ts';
import { type SeedDeps, seedBytes } from './seed.ts';

export interface StepDeps extends PrepareDeps, SeedDeps {
  readonly sql: Sql;
  readonly reader: BundleReader;
  readonly credits: Credits;
  readonly log: Logger;
  readonly confirmations: number;
  readonly pollMs: number;
  /** After how long a permanent bundle is looked at again; undefined where bundles are not watched. */
  readonly firstLookMs?: number | undefined;
}

/** Between two checks of a mined bundle whose chunks cannot be read, in polls. */
const longestUnreadablePolls = 256;
/** The longest that a bundle is put off for. */
export const longestWaitMs = (pollMs: number): number =>
  Math.max(maxBackoffMs, pollMs * longestUnreadablePolls);
const longestProblem = 500;
const mostCauses = 3;
/** Checks in a row of a mined bundle whose chunks cannot be read, after which its items are planned anew. */
const giveUpAfter: GiveUpAfter = { tries: 20, ms: 3_600_000 };

/** Takes a bundle through all the steps that can be done at once. `stopping`: this process stops. */
export async function advanceBundle(
  deps: StepDeps,
  lease: BundleLease,
  stopping: AbortSignal,
): Promise<void> {
  const signal = AbortSignal.any([lease.signal, stopping]);
  await new BundleSteps(deps, lease, signal).advance();
}

class BundleSteps {
  readonly #deps: StepDeps;
  readonly #lease: BundleLease;
  readonly #signal: AbortSignal;

  constructor(deps: StepDeps, lease: BundleLease, signal: AbortSignal) {
    this.#deps = deps;
    this.#lease = lease;
    this.#signal = signal;
  }

  async advance(): Promise<void> {
    const { plan } = this.#lease.bundle;
    let current = this.#lease.bundle;
    try {
      while (!this.#signal.aborted && (await this.#step(current))) {
        const next = await findBundle(this.#deps.sql, plan);
        if (next === undefined) return;
        current = next;
      }
    } catch (error) {
      if (this.#signal.aborted) return;
      if (error instanceof LostLease) throw error;
      if (error instanceof LostItem && (await this.#endsWithout(current, error))) return;
      const level = error instanceof WalletShort || error instanceof LostItem ? 'error' : 'warn';
      this.#deps.log[level]({ err: error, plan, state: current.state }, 'a bundle has to wait');
      await this.#tryAgain(current, error);
    }
  }

  /** Counts that an item's bytes are not there; true when that was too often, and the bundle has ended. */
  async #endsWithout(bundle: BundleRow, error: LostItem): Promise<boolean> {
    const { credits, reader, metrics, now } = this.#deps;
    const { plan } = bundle;
    metrics.unread(1);
    if (!(await countMiss(this.#lease.fenced, plan, error))) return false;
    // The chain may have all of it, seeded before its bytes were lost: what is mined can be read, or is proven not to be.
    if (bundle.tx_id !== null) {
      const verdict = await this.#judge(bundle).catch(() => undefined);
      if (verdict === undefined || verdict.kind === 'waiting') return false;
      if (verdict.kind === 'permanent') {
        await this.#follow(bundle, verdict);
        return true;
      }
    }
    this.#tellLost(error);
    reader.forget(plan);
    await dropLostItem(this.#lease.lastly, credits, plan, error.id, now());
    return true;
  }

  #tellLost(error: LostItem): void {
    const { log, metrics } = this.#deps;
    metrics.lost(1);
    log.error({ err: error, item: error.id }, 'an item was lost; its credits return');
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
        return this.#prepare(bundle);
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

  async #prepare(bundle: BundleRow): Promise<boolean> {
    const { plan, size } = bundle;
    const proven = await this.#deps.reader.prove(plan, size, this.#signal);
    if ('failed' in proven) return this.#leaveOut(plan, proven.failed);
    await forgetMisses(this.#lease.fenced, plan);
    await prepareBundle(this.#deps, this.#lease.fenced, bundle, proven.tree);
    return true;
  }

  /** Damage of one item costs that item only: the others go on without it. */
  async #leaveOut(plan: string, failed: readonly LostItem[]): Promise<boolean> {
    const { credits, metrics, log, now, pollMs } = this.#deps;
    const pause = { firstMs: pollMs, longestMs: maxBackoffMs };
    const { lost, items } = await leaveOut(this.#lease.fenced, credits, plan, failed, pause, now());
    metrics.unread(failed.length);
    for (const error of failed) {
      if (lost.includes(error.id)) this.#tellLost(error);
      else
        log.error(
          { err: error, item: error.id, plan },
          'an item cannot be read: its bundle goes on without it',
        );
    }
    return items > 0;
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
        if (!isRefused) throw error;
        if (wasPosted && !isAnchorDead(bundle, known.at)) {
          await this.#doubtAnchor(bundle);
          throw error;
        }
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

  /**
   * A node that told a height which there is not would have its bundle wait until the chain is there: no anchor is higher than
   * all nodes are now. They may have lost a few blocks since, fewer than an anchor lives.
   */
  async #doubtAnchor(bundle: BundleRow): Promise<void> {
    const most = (await this.#deps.nodes.highest()) + anchorLife;
    if ((bundle.anchor_height ?? 0) > most) await this.#mark(bundle, 'prepared', 'anchor_height = ?', most);
  }

  async #seed(bundle: BundleRow): Promise<boolean> {
    const { plan, others } = bundle;
    const { reader, now } = this.#deps;
    // What is here is not all of it: nothing can be given that leads to its root. Whether the chain has it is judged all the same.
    if (others !== null && others > 0) {
      await this.#mark(bundle, 'seeded', 'attempts = 0, seeded_at = ?', now());
      return true;
    }
    const tree = await this.#signedTree(bundle);
    try {
      await seedBytes(this.#deps, reader.bytes(plan), tree, this.#signal);
    } catch (error) {
      // Chunks of a transaction that the chain no longer knows are refused for ever.
      const verdict = error instanceof NodeRefused ? await this.#judge(bundle) : undefined;
      if (verdict?.kind === 'forgotten' || verdict?.kind === 'dropped') return this.#follow(bundle, verdict);
      // Those of other bytes than were signed are refused as well: the next try looks at them anew.
      if (verdict !== undefined) reader.forget(plan);
      throw error;
    }
    reader.seeded(plan);
    await forgetMisses(this.#lease.fenced, plan);
    await this.#mark(bundle, 'seeded', 'seedings = seedings + 1, attempts = 0, seeded_at = ?', now());
    return true;
  }

  /** The tree that its transaction was signed for. Throws `LostItem` where the bytes are others now. */
  async #signedTree(bundle: BundleRow): Promise<DataTree> {
    const { reader } = this.#deps;
    const tree = await reader.tree(bundle.plan, this.#signal);
    if (tree.root.equals(dataOf(bundle).root)) return tree;
    const proven = await reader.prove(bundle.plan, bundle.size, this.#signal);
    reader.forget(bundle.plan);
    const [first] = 'failed' in proven ? proven.failed : [];
    throw first ?? new Error(`what is stored of bundle ${bundle.plan} is not what was signed`);
  }

  #judge(bundle: BundleRow): Promise<Verdict> {
    return judgeBundle(this.#deps.nodes, bundle, this.#deps.confirmations);
  }

  async #follow(bundle: BundleRow, verdict: Verdict): Promise<boolean> {
    const { log, now, metrics } = this.#deps;
    switch (verdict.kind) {
      case 'permanent':
        await makePermanent(this.#lease.lastly, bundle.plan, verdict, now(), this.#lookAt());
        metrics.bundleEnded('permanent', now() - bundle.created_at);
        this.#deps.reader.forget(bundle.plan);
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
    const { takenAt } = this.#lease;
    const since = bundle.unreadable === 0 ? takenAt : bundle.unreadable_since;
    if (hasTriedEnough(giveUpAfter, bundle.unreadable, since ?? 0, takenAt)) {
      log.error({ plan: bundle.plan, tx: bundle.tx_id }, 'a mined bundle cannot be read: making another');
      return this.#drop(bundle);
    }
    log.warn({ plan: bundle.plan, tx: bundle.tx_id }, 'chunks of a bundle cannot be read: seeding again');
    await this.#mark(bundle, 'posted', 'changed_at = ?, unreadable_since = ?', now(), since);
    const unreadable = bundle.unreadable + 1;
    const delayMs = backoffMs(
      { firstMs: 2 * pollMs, longestMs: longestUnreadablePolls * pollMs },
      unreadable,
    );
    const problem = 'it is mined, and not all of its chunks can be read back';
    await this.#due(bundle.plan, delayMs, { unreadable, problem });
    return false;
  }

  /** Ends a bundle; its items are planned again. */
  async #drop({ plan, created_at }: BundleRow): Promise<false> {
    const { credits, metrics, reader, now } = this.#deps;
    reader.forget(plan);
    await dropBundle(this.#lease.lastly, credits, plan, now());
    metrics.bundleEnded('dropped', now() - created_at);
    return false;
  }

  /** The longer a bundle has waited, the less often the chain is asked. */
  #waitFor(bundle: BundleRow): number {
    const { pollMs, now } = this.#deps;
    return Math.max(pollMs, Math.min(60_000, (now() - (bundle.posted_at ?? 0)) / 10));
  }

  #mark(
    bundle: BundleRow,
    state: BundleRow['state'],
    assignment: string,
    ...values: readonly (number | null)[]
  ): Promise<void> {
    return this.#lease.fenced.transaction((tx) =>
      changeOne(
        tx,
        `UPDATE upload_bundles SET state = ?, ${assignment} WHERE plan = ? AND state = ?`,
        state,
        ...values,
        bundle.plan,
        bundle.state,
      ),
    );
  }

  /**
   * Puts a bundle off, and gives it back. Without counters nothing is wrong with it, and what went wrong before is over; `problem` is kept
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
    await this.#lease.lastly.transaction((tx) => changeOne(tx, statement, ...Object.values(columns), plan));
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
