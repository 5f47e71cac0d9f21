/**
 * The block list in memory, asked on every way to bytes. It is loaded before the first request; a change made here
 * holds from the next request on, in all processes of the same start; one made by another process within a second. While
 * the database cannot be read, the list stays as it was.
 */
import { createHash } from 'node:crypto';
import { BlockSet } from '../../../delivery/moderation/block-set.ts';
import type { BlockDocument } from '../../../delivery/moderation/follower.ts';
import type { Actor, AuditLog } from '../../../kernel/audit-log.ts';
import { createJob, type Job } from '../../../kernel/background/job.ts';
import { messageOf } from '../../../kernel/errors.ts';
import { strongETag } from '../../../kernel/http/conditional.ts';
import type { Logger } from '../../../kernel/log.ts';
import { fellows, hear } from '../../../kernel/workers/fellows.ts';
import type { Located } from '../../chain-index/gateway-index.ts';
import type { SqlGatewayIndex } from '../../chain-index/sql-index.ts';
import type { Blocklist } from '../../content/blocklist.ts';
import type { BlockStore, BlockTarget, Reason } from './block-store.ts';
import { BlockedRegions, type LocateElsewhere, type ReadPartOf } from './blocked-regions.ts';

export interface LiveBlocklistOptions {
  readonly store: BlockStore;
  readonly index: SqlGatewayIndex;
  readonly audit: AuditLog;
  readonly log: Logger;
  /** Removes the copies of content with those hashes (base64url), and answers that were kept ready. */
  dropCopies(hashes: Iterable<string>): Promise<void>;
  readonly locateElsewhere?: LocateElsewhere | undefined;
  readonly readPart?: ReadPartOf | undefined;
}

interface ListText {
  readonly revision: number;
  readonly text: string;
  readonly etag: string;
}

const pollMs = 1_000;
const topic = 'gateway blocklist';
const noReason: Reason = {};

export class LiveBlocklist extends BlockSet implements Blocklist {
  readonly #options: LiveBlocklistOptions;
  readonly #regions: BlockedRegions;
  #version = -1;
  /** Blocked, and copies of it may be here. */
  readonly #undropped = { ids: new Set<string>(), hashes: new Set<string>() };
  #text: ListText | undefined;
  readonly #polling: Job;
  #refreshing: Promise<void> | undefined;
  #unhear: (() => void) | undefined;

  constructor(options: LiveBlocklistOptions) {
    super();
    this.#options = options;
    const { index, locateElsewhere, readPart } = options;
    this.#regions = new BlockedRegions({ index, places: this.places, locateElsewhere, readPart });
    this.#polling = createJob({
      name: 'refresh the block list',
      everyMs: pollMs,
      log: options.log,
      run: () => this.refresh(),
    });
  }

  lookInto(id: string, located: Located | undefined): Promise<void> | undefined {
    return this.#regions.lookInto(id, located);
  }

  get counts(): { readonly ids: number; readonly hashes: number; readonly names: number } {
    return { ids: this.ids.size, hashes: this.hashes.size, names: this.names.size };
  }

  /** Whoever asks it in this process asks what is enforced. */
  problems(): readonly string[] {
    return [];
  }

  /** The list as followers read it, and a tag that changes with it. */
  document(): ListText {
    const { revision } = this;
    if (this.#text?.revision === revision) return this.#text;
    const document: BlockDocument = {
      ids: [...this.ids],
      hashes: [...this.hashes],
      names: [...this.names],
      places: [...this.places],
    };
    const text = JSON.stringify(document);
    this.#text = { revision, text, etag: strongETag(createHash('sha256').update(text).digest('base64url')) };
    return this.#text;
  }

  /** Throws where the list cannot be read: better no gateway than one that serves what is blocked. */
  async start(): Promise<void> {
    await this.refresh();
    this.#unhear = hear(topic, () => this.#reload());
    this.#polling.start();
  }

  async stop(): Promise<void> {
    this.#unhear?.();
    await this.#polling.stop();
    await this.#refreshing?.catch(() => undefined);
  }

  async block(what: readonly BlockTarget[], reason: Reason, actor: Actor): Promise<void> {
    await this.#change('block', what, reason, actor, () => this.#options.store.block(what, reason));
  }

  async unblock(what: readonly BlockTarget[], actor: Actor): Promise<void> {
    await this.#change('unblock', what, noReason, actor, () => this.#options.store.unblock(what));
  }

  /** Reads the list where it changed. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#readChanges().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  /** Each target is one line of the audit log, whatever came of it. */
  async #change(
    action: 'block' | 'unblock',
    what: readonly BlockTarget[],
    reason: Reason,
    actor: Actor,
    change: () => Promise<boolean[]>,
  ): Promise<void> {
    const record = async (resultOf: (target: number) => string): Promise<void> => {
      const { source, notes } = reason;
      for (const [target, [kind, value]] of what.entries()) {
        const result = resultOf(target);
        await this.#options.audit.record({ ...actor, action, kind, value, source, notes, result });
      }
    };
    let changed: boolean[];
    try {
      changed = await change();
    } catch (error) {
      await record(() => `failed: ${messageOf(error)}`);
      throw error;
    }
    await record((target) => (changed[target] === true ? 'done' : 'no change'));
    await this.#reload();
    await fellows()?.tell(topic, undefined);
  }

  /** After a change of our own: a read that began before it does not count. */
  async #reload(): Promise<void> {
    await this.#refreshing?.catch(() => undefined);
    await this.refresh();
  }

  async #readChanges(): Promise<void> {
    const { store } = this.#options;
    const version = await store.version();
    if (version !== this.#version) {
      const blocks = await store.load();
      const { ids, hashes } = this.#undropped;
      for (const { what } of blocks.ids) if (!this.ids.has(what)) ids.add(what);
      for (const { what } of blocks.hashes) if (!this.hashes.has(what)) hashes.add(what);
      this.replace({
        ids: blocks.ids.map(({ what }) => what),
        hashes: blocks.hashes.map(({ what }) => what),
        names: blocks.names.map(({ what }) => what),
      });
      this.#version = version;
      this.#regions.change(this.ids, this.hashes);
    }
    await this.#regions.learn();
    await this.#dropCopies();
  }

  /** Where the index cannot be asked now, at the next look. */
  async #dropCopies(): Promise<void> {
    const { index, dropCopies, log } = this.#options;
    const { ids, hashes } = this.#undropped;
    if (ids.size + hashes.size === 0) return;
    const gone = new Set(hashes);
    for (const id of ids) {
      const hash = (await index.locate(id))?.hash;
      if (hash !== undefined) gone.add(hash);
    }
    ids.clear();
    hashes.clear();
    await dropCopies(gone).catch((error: unknown) =>
      log.warn({ err: error }, 'copies of blocked content were not dropped'),
    );
  }
}
