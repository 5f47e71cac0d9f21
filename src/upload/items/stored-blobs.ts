/**
 * Looks after the blobs of items that are not permanent yet, which are their only copies. One that is damaged is said
 * aloud and left where it is: perhaps it can be repaired by hand, and the same bytes uploaded again take its place.
 */
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import type { Part } from '../../kernel/part.ts';
import type { BlobStore } from '../../storage/blobs/blobs.ts';
import { leftoversJobs } from '../../storage/blobs/leftovers-job.ts';
import { createScrubMetrics, Scrub, type Scrubbable } from '../../storage/scrub.ts';

/** Damage that is found before a bundle is made costs nobody anything: these are read more often than copies. */
const scrubEveryMs = 60 * 60 * 1_000;

export interface StoredBlobsDeps {
  readonly config: Pick<Config, 'DATA_DIR' | 'SCRUB_PERCENT'>;
  readonly blobs: BlobStore;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** Of a store that looks after its bytes itself only what nobody finished is removed. */
export function storedBlobsPart({ config, blobs, metrics, log }: StoredBlobsDeps): Part {
  const scrubs = createScrubMetrics(metrics, 'upload_');
  const { scrubbed } = blobs;
  const damaged = new DamagedBlobs(log);
  metrics.gauge(
    'upload_blobs_damaged',
    'Stored blobs that were found damaged and not replaced since',
    [],
    () => damaged.count,
  );
  const leftovers = leftoversJobs(blobs, log);
  if (scrubbed === undefined) return { name: 'stored blobs', jobs: leftovers };
  const scrub = new Scrub({
    store: 'uploads',
    files: damaged.noted(scrubbed),
    stateFile: join(config.DATA_DIR, 'blobs', 'scrub.json'),
    percent: config.SCRUB_PERCENT,
    everyMs: scrubEveryMs,
    metrics: scrubs,
    log,
  });
  return { name: 'stored blobs', jobs: [scrub, ...leftovers], problems: () => damaged.problems() };
}

const maxDamaged = 10_000;

export class DamagedBlobs {
  readonly #log: Logger;
  /** Found in the pass before this one, and in this one: what was deleted meanwhile is forgotten after two. */
  #before = new Set<string>();
  #now = new Set<string>();

  constructor(log: Logger) {
    this.#log = log;
  }

  get count(): number {
    return new Set([...this.#before, ...this.#now]).size;
  }

  problems(): readonly string[] {
    return this.count === 0 ? [] : [`${this.count} stored blobs are damaged.`];
  }

  /** The same files; what comes of each is noted. */
  noted(files: Scrubbable): Scrubbable {
    return {
      namesAfter: (after, steps) => {
        if (after === '') [this.#before, this.#now] = [this.#now, new Set()];
        return files.namesAfter(after, steps);
      },
      inspect: async (name, steps) => {
        const found = await files.inspect(name, steps);
        if (found?.isSound === false) this.#add(name);
        else for (const digests of [this.#before, this.#now]) digests.delete(name);
        return found;
      },
    };
  }

  #add(digest: string): void {
    if (!this.#before.has(digest) && !this.#now.has(digest))
      this.#log.error({ digest }, 'a stored blob is damaged, and no other copy of it is known');
    if (this.#now.size < maxDamaged) this.#now.add(digest);
  }
}
