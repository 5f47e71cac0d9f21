/**
 * The block list in memory, asked on every way to bytes. It is loaded before the first request; a change made here
 * holds from the next request on, one made by another process within a second. While the database cannot be read,
 * the list stays as it was.
 */
import { asciiLowerCase } from '../../../formats/ascii-case.ts';
import { createJob, type Job } from '../../../kernel/background/job.ts';
import type { Span } from '../../../kernel/http/byte-ranges.ts';
import type { Logger } from '../../../kernel/log.ts';
import type { SqlGatewayIndex } from '../../chain-index/sql-index.ts';
import type { Blocklist } from '../../content/blocklist.ts';
import { splitLabel } from '../../content/names/host.ts';
import type { BlockKind, BlockStore, Reason } from './block-store.ts';
import { BlockedRegions, type LocateElsewhere } from './blocked-regions.ts';

export interface LiveBlocklistOptions {
  readonly store: BlockStore;
  readonly index: SqlGatewayIndex;
  readonly log: Logger;
  /** Removes the copies of content with those hashes (base64url), and answers that were kept ready. */
  dropCopies(hashes: Iterable<string>): Promise<void>;
  readonly locateElsewhere?: LocateElsewhere | undefined;
}

const pollMs = 1_000;

export class LiveBlocklist implements Blocklist {
  readonly #options: LiveBlocklistOptions;
  readonly #regions: BlockedRegions;
  #ids: ReadonlySet<string> = new Set();
  #hashes: ReadonlySet<string> = new Set();
  #names: ReadonlySet<string> = new Set();
  #version = -1;
  readonly #polling: Job;
  #refreshing: Promise<void> | undefined;

  constructor(options: LiveBlocklistOptions) {
    this.#options = options;
    this.#regions = new BlockedRegions(options.index, options.locateElsewhere);
    this.#polling = createJob({
      name: 'refresh the block list',
      everyMs: pollMs,
      log: options.log,
      run: () => this.refresh(),
    });
  }

  blocksId(id: string): boolean {
    return this.#ids.has(id);
  }

  blocksHash(hash: string): boolean {
    return this.#hashes.has(hash);
  }

  blocksName(label: string): boolean {
    if (this.#names.size === 0) return false;
    const lower = asciiLowerCase(label);
    return this.#names.has(lower) || this.#names.has(splitLabel(lower).name);
  }

  get wantsHashes(): boolean {
    return this.#hashes.size > 0;
  }

  blockedPart(root: string, content: Span, asked: Span, except?: string): string | undefined {
    return this.#regions.overlapping(root, content, asked, except);
  }

  get counts(): { readonly ids: number; readonly hashes: number; readonly names: number } {
    return { ids: this.#ids.size, hashes: this.#hashes.size, names: this.#names.size };
  }

  /** Throws where the list cannot be read: better no gateway than one that serves what is blocked. */
  async start(): Promise<void> {
    await this.refresh();
    this.#polling.start();
  }

  async stop(): Promise<void> {
    await this.#polling.stop();
    await this.#refreshing?.catch(() => undefined);
  }

  async block(what: readonly (readonly [BlockKind, string])[], reason: Reason): Promise<void> {
    await this.#options.store.block(what, reason);
    await this.#reload();
  }

  async unblock(what: readonly (readonly [BlockKind, string])[]): Promise<number> {
    const lifted = await this.#options.store.unblock(what);
    await this.#reload();
    return lifted;
  }

  /** Reads the list where it changed. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#readChanges().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
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
      const ids = new Set(blocks.ids.map(({ what }) => what));
      const hashes = new Set(blocks.hashes.map(({ what }) => what));
      const freshIds = [...ids].filter((id) => !this.#ids.has(id));
      const freshHashes = [...hashes].filter((hash) => !this.#hashes.has(hash));
      this.#ids = ids;
      this.#hashes = hashes;
      this.#names = new Set(blocks.names.map(({ what }) => what));
      this.#version = version;
      this.#regions.change(ids, hashes);
      await this.#regions.learn();
      await this.#dropCopies(freshIds, freshHashes);
      return;
    }
    await this.#regions.learn();
  }

  async #dropCopies(ids: readonly string[], hashes: readonly string[]): Promise<void> {
    const { index, dropCopies, log } = this.#options;
    const gone = new Set(hashes);
    for (const id of ids) {
      const hash = (await index.locate(id))?.hash;
      if (hash !== undefined) gone.add(hash);
    }
    await dropCopies(gone).catch((error: unknown) =>
      log.warn({ err: error }, 'copies of blocked content were not dropped'),
    );
  }
}
