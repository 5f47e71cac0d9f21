/**
 * Reads stored files in the background, slowly, and compares them with their digests: finds the bits that flip on a
 * medium, which no time stamp tells. It goes on after a restart where it was. Of several processes that share a folder
 * one reads at a time.
 */
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { isCount, memberOf, tryParseJson } from '../formats/json.ts';
import type { Job } from '../kernel/background/job.ts';
import type { RunReport } from '../kernel/background/run-record.ts';
import { WakeableTask } from '../kernel/background/wakeable-task.ts';
import type { Logger } from '../kernel/log.ts';
import type { Metrics } from '../kernel/metrics.ts';
import { type Pace, processPace, type Steps } from './pace.ts';

/** What can be scrubbed: a set of names in an order that does not change, each with bytes that can be judged. */
export interface Scrubbable {
  /** Names that come after that one, '' for all. */
  namesAfter(after: string, steps: Steps): AsyncIterable<string>;
  /** Reads one; undefined where it is gone. What is damaged has been reported and dealt with when it resolves. */
  inspect(
    name: string,
    steps: Steps,
  ): Promise<{ readonly size: number; readonly isSound: boolean } | undefined>;
}

export interface ScrubOptions {
  /** For metrics and logs, for example `content cache`. */
  readonly store: string;
  readonly files: Scrubbable;
  /** Where it notes how far it is. */
  readonly stateFile: string;
  /** Percent of the time that all scrubs of the process together may take; 0 = none runs. */
  readonly percent: number;
  /** From the end of one pass to the next. */
  readonly everyMs: number;
  readonly metrics: ScrubMetrics;
  readonly log: Logger;
  readonly pace?: Pace;
  /** Unix milliseconds. */
  readonly now?: () => number;
}

export type ScrubMetrics = ReturnType<typeof createScrubMetrics>;

export function createScrubMetrics(metrics: Metrics, prefix = '') {
  const counter = (name: string, help: string) => metrics.counter(`${prefix}scrub_${name}`, help, ['store']);
  return {
    files: counter('files_total', 'Stored files that were read and compared with their digests'),
    bytes: counter('bytes_total', 'Bytes of those files'),
    corrupt: counter('corrupt_total', 'Of those files, how many were damaged'),
    failures: counter('failures_total', 'Files that could not be read'),
    lastPass: metrics.gauge(
      `${prefix}scrub_last_pass_timestamp_seconds`,
      'When everything had been read last; 0 = never',
      ['store'],
    ),
  };
}

/** The first pass waits until a start is over. */
const firstWaitMs = 60_000;
const saveEveryMs = 30_000;
/** Another process whose note is older than this has died. */
const heldMs = 4 * saveEveryMs;

interface State {
  /** The last name that was read; '' between two passes. */
  readonly after: string;
  /** When the last pass ended; 0 = never. */
  readonly endedAt: number;
  readonly holder: string;
  readonly heldUntil: number;
}

export class Scrub implements Job {
  readonly #options: ScrubOptions;
  readonly #now: () => number;
  readonly #ending = new AbortController();
  readonly #holder = randomBytes(8).toString('hex');
  readonly #task: WakeableTask;

  constructor(options: ScrubOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    const { store, everyMs, log } = options;
    this.#task = new WakeableTask({
      name: `scrub ${store}`,
      stuckAfterMs: Number.POSITIVE_INFINITY,
      run: () => this.pass(),
      failed: (error) => {
        if (!this.#ending.signal.aborted)
          log.warn({ err: error, store }, 'a scrub failed and will go on later');
        return Math.min(everyMs, heldMs);
      },
    });
  }

  start(): void {
    if (this.#options.percent === 0) return;
    this.#task.start({ waits: true });
    this.#task.wake(firstWaitMs);
  }

  reports(): readonly RunReport[] {
    return this.#task.reports();
  }

  async stop(): Promise<void> {
    this.#ending.abort(new Error('the scrub was ended'));
    await this.#task.stop();
  }

  /** Goes through what is left of the pass that is due; answers the milliseconds until it should be called again. */
  async pass(): Promise<number> {
    const { store, files, everyMs, metrics, percent, pace = processPace } = this.#options;
    const { after, endedAt, holder, heldUntil } = await this.#load();
    metrics.lastPass.set({ store }, endedAt / 1_000);
    const now = this.#now();
    // One that is further ahead than any process leaves it is of a clock that was wrong.
    const isHeld = heldUntil > now && heldUntil <= now + heldMs;
    if (holder !== this.#holder && isHeld) return heldUntil - now;
    if (after === '' && endedAt + everyMs > now) return endedAt + everyMs - now;
    const steps = pace.steps(percent / 100, this.#ending.signal);
    let at = after;
    let savedAt = 0;
    const save = async (heldForMs: number): Promise<void> => {
      savedAt = this.#now();
      await this.#save({ after: at, endedAt, holder: this.#holder, heldUntil: savedAt + heldForMs });
    };
    try {
      for await (const name of files.namesAfter(at, steps)) {
        if (this.#now() >= savedAt + saveEveryMs) await save(heldMs);
        await this.#inspect(name, steps);
        at = name;
      }
    } catch (error) {
      await save(0);
      if (this.#ending.signal.aborted) return everyMs;
      throw error;
    }
    const ended = this.#now();
    await this.#save({ after: '', endedAt: ended, holder: this.#holder, heldUntil: 0 });
    metrics.lastPass.set({ store }, ended / 1_000);
    return everyMs;
  }

  async #inspect(name: string, steps: Steps): Promise<void> {
    const { store, files, metrics, log } = this.#options;
    try {
      const found = await files.inspect(name, steps);
      if (found === undefined) return;
      metrics.files.inc({ store });
      metrics.bytes.inc({ store }, found.size);
      if (!found.isSound) metrics.corrupt.inc({ store });
    } catch (error) {
      this.#ending.signal.throwIfAborted();
      metrics.failures.inc({ store });
      log.warn({ err: error, store, name }, 'a stored file cannot be read');
    }
  }

  /** A state that is lost costs a pass from the beginning. */
  async #load(): Promise<State> {
    const text = await readFile(this.#options.stateFile, 'utf8').catch(() => '');
    const state = tryParseJson(text);
    const member = (name: string): unknown => memberOf(state, name);
    const texts = (name: string): string => {
      const value = member(name);
      return typeof value === 'string' && value.length <= 1_000 ? value : '';
    };
    const times = (name: string): number => {
      const value = member(name);
      return isCount(value) ? value : 0;
    };
    // A clock that was set back must not stop the scrub for ever.
    const now = this.#now();
    return {
      after: texts('after'),
      endedAt: Math.min(times('endedAt'), now),
      holder: texts('holder'),
      heldUntil: Math.min(times('heldUntil'), now + heldMs),
    };
  }

  async #save(state: State): Promise<void> {
    await writeFile(this.#options.stateFile, JSON.stringify(state)).catch((error: unknown) =>
      this.#options.log.debug({ err: error }, 'a scrub could not note how far it is'),
    );
  }
}
