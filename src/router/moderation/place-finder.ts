/**
 * Finds out where blocked items lie: their bytes can also be had as a part of a bundle. Gateways are asked when a block
 * is made, and again and again while none of them tells; what was learnt is kept with the entry. Chain transactions lie
 * nowhere else, which nobody can tell from an item that was not unbundled yet, so they are asked about too, ever more
 * rarely.
 */
import { type Backoff, backoffMs } from '../../kernel/background/backoff.ts';
import { createJob, type Job } from '../../kernel/background/job.ts';
import { within } from '../../kernel/background/within.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Part } from '../../kernel/part.ts';
import type { Blocklist } from './blocklist.ts';
import type { EntryPlace } from './entries.ts';

/** Asks gateways where an item lies; undefined while none knows. */
export type LocateItem = (id: string) => Promise<EntryPlace | undefined>;

const everyMs = 1_000;
const idsPerRun = 20;
const retry: Backoff = { firstMs: 1_000, longestMs: 3_600_000 };
/** A block is not answered later than this because gateways are slow. */
const blockWaitMs = 3_000;

export class PlaceFinder implements Part {
  readonly name = 'places of blocked items';
  readonly jobs: readonly Job[];
  readonly #blocklist: Blocklist;
  readonly #locate: LocateItem;
  /** Questions in vain, and when to ask again. */
  readonly #tries = new Map<string, { readonly failures: number; readonly due: number }>();

  constructor(blocklist: Blocklist, locate: LocateItem, log: Logger) {
    this.#blocklist = blocklist;
    this.#locate = locate;
    this.jobs = [createJob({ name: this.name, everyMs, log, run: () => this.#findSome() })];
  }

  /** Asks now. What takes longer than a moment goes on by itself. */
  async find(id: string): Promise<void> {
    await within(blockWaitMs, this.#ask(id));
  }

  async #findSome(): Promise<void> {
    const unplaced = new Set(this.#blocklist.unplaced());
    for (const id of this.#tries.keys()) if (!unplaced.has(id)) this.#tries.delete(id);
    const now = performance.now();
    const due = [...unplaced].filter((id) => (this.#tries.get(id)?.due ?? 0) <= now).slice(0, idsPerRun);
    for (const id of due) await this.#ask(id);
  }

  async #ask(id: string): Promise<void> {
    const failures = (this.#tries.get(id)?.failures ?? 0) + 1;
    this.#tries.set(id, { failures, due: performance.now() + backoffMs(retry, failures) });
    const place = await this.#locate(id).catch(() => undefined);
    if (place !== undefined) await this.#blocklist.place(id, place).catch(() => {});
  }
}
