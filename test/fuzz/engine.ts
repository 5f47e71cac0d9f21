/**
 * The search: an input that takes a way no input took before is kept, and the next inputs are made from those kept.
 * Runs in the thread whose modules are instrumented.
 */
import { getHeapStatistics } from 'node:v8';
import { type SeededRandom, seededRandom } from '../support/seeded-random.ts';
import type { Coverage, Word } from './coverage.ts';
import { formsOf, Mutator } from './mutate.ts';
import type { Target } from './target.ts';

export interface Finding {
  readonly input: Buffer;
  /** One line. */
  readonly what: string;
  /** The same for the same fault. */
  readonly kind: string;
}

export interface SearchOptions {
  readonly seed: number;
  readonly corpus: readonly Buffer[];
  readonly forMs: number;
  /** Ends the search earlier: the same seed then does the same on every machine. */
  readonly mostRuns?: number;
  /** Ends it too; 12 unless told. */
  readonly mostFindings?: number;
  readonly found: (finding: Finding) => void;
  /** Told before each input is run, so that another thread knows it where it never ends. */
  readonly beat?: (input: Buffer) => void;
}

export interface SearchResult {
  readonly runs: number;
  readonly reached: number;
  readonly counters: number;
  /** What is worth keeping: as few and as short as they were found to be. */
  readonly corpus: Buffer[];
}

interface Entry {
  input: Buffer;
  features: number[];
  isCompared: boolean;
  chosen: number;
}

const slowestMs = 1_000;
const mostMemory = 128 * 1024 * 1024;
const mostSubstitutions = 96;
const runsPerChoice = 48;

export async function search(
  target: Target,
  coverage: Coverage,
  options: SearchOptions,
): Promise<SearchResult> {
  return new Search(target, coverage, options).run();
}

class Search {
  readonly #target: Target;
  readonly #coverage: Coverage;
  readonly #options: SearchOptions;
  readonly #random: SeededRandom;
  readonly #mutator: Mutator;
  readonly #entries: Entry[] = [];
  readonly #kinds = new Set<string>();
  readonly #endsAt: number;
  #runs = 0;

  constructor(target: Target, coverage: Coverage, options: SearchOptions) {
    this.#target = target;
    this.#coverage = coverage;
    this.#options = options;
    this.#random = seededRandom(options.seed);
    this.#mutator = new Mutator(this.#random, target.longest ?? 4_096);
    this.#endsAt = performance.now() + options.forMs;
  }

  async run(): Promise<SearchResult> {
    this.#coverage.clear();
    const seeds = this.#target.seeds().map((seed) => Buffer.from(seed));
    for (const input of [Buffer.alloc(0), ...seeds, ...this.#options.corpus]) await this.#try(input, true);
    while (!this.#isOver()) {
      const entry = this.#choose();
      if (!entry.isCompared) await this.#substitute(entry);
      for (let run = 0; run < runsPerChoice && !this.#isOver(); run += 1) {
        await this.#try(this.#mutator.mutated(entry.input, () => this.#random.pick(this.#entries).input));
      }
    }
    const { reached, counters } = this.#coverage;
    return { runs: this.#runs, reached, counters, corpus: await this.#smallest() };
  }

  #isOver(): boolean {
    const { mostRuns = Number.POSITIVE_INFINITY, mostFindings = 12 } = this.#options;
    return this.#runs >= mostRuns || this.#kinds.size >= mostFindings || performance.now() >= this.#endsAt;
  }

  /** Half of the time one of the newest, which lead further; otherwise the one of three that was chosen least. */
  #choose(): Entry {
    const entries = this.#entries;
    const newest = Math.max(1, Math.ceil(entries.length / 8));
    const isNew = this.#random.below(2) === 0;
    const drawn = [0, 1, 2].map(
      () =>
        entries[
          isNew ? entries.length - 1 - this.#random.below(newest) : this.#random.below(entries.length)
        ]!,
    );
    const entry = drawn.reduce((least, one) => (one.chosen < least.chosen ? one : least));
    entry.chosen += 1;
    return entry;
  }

  async #try(input: Buffer, always = false): Promise<boolean> {
    await this.#runOnce(input);
    const features = this.#coverage.features();
    if (features.length === 0 && !always) return false;
    this.#entries.push({ input: Buffer.from(input), features, isCompared: false, chosen: 0 });
    this.#mutator.learn(this.#coverage.newWords());
    return true;
  }

  async #runOnce(input: Buffer): Promise<void> {
    this.#runs += 1;
    this.#options.beat?.(input);
    const memory = getHeapStatistics().external_memory;
    const from = performance.now();
    const error = await thrownBy(this.#target, input);
    const ms = performance.now() - from;
    if (error !== undefined) return this.#found(input, error);
    if (ms > slowestMs && (await this.#isSlowAgain(input))) {
      return this.#found(input, new Error(`takes ${Math.round(ms)} ms`), 'slow');
    }
    const grown = getHeapStatistics().external_memory - memory;
    if (grown > mostMemory) this.#found(input, new Error(`takes ${grown >> 20} MiB`), 'memory');
  }

  /** By the time of this thread: a machine that is busy with others makes anything slow. */
  async #isSlowAgain(input: Buffer): Promise<boolean> {
    for (let again = 0; again < 2; again += 1) {
      const before = process.threadCpuUsage();
      await thrownBy(this.#target, input);
      const { user, system } = process.threadCpuUsage(before);
      if ((user + system) / 1_000 <= slowestMs) return false;
    }
    return true;
  }

  async #found(input: Buffer, error: unknown, costs?: 'slow' | 'memory'): Promise<void> {
    const kind = costs ?? kindOf(error);
    if (this.#kinds.has(kind)) return;
    this.#kinds.add(kind);
    const isSame = async (shorter: Buffer): Promise<boolean> => {
      const thrown = await thrownBy(this.#target, shorter);
      return thrown !== undefined && kindOf(thrown) === kind;
    };
    // What costs too much throws nothing, and would cost it again with each try.
    const smallest = costs === undefined ? await shortened(input, isSame, 2_000) : input;
    const told = costs === undefined ? ((await thrownBy(this.#target, smallest)) ?? error) : error;
    this.#options.found({ input: smallest, what: oneLine(told), kind });
  }

  /** What the program compared with something else is put where the input has it. */
  async #substitute(entry: Entry): Promise<void> {
    entry.isCompared = true;
    this.#coverage.startComparing();
    await this.#runOnce(entry.input);
    const compared = this.#coverage.stopComparing();
    this.#coverage.features();
    const pairs = new Map(compared.map(([a, b]) => [`${typeof a}${a}\0${typeof b}${b}`, [a, b] as const]));
    let left = mostSubstitutions;
    for (const [a, b] of pairs.values()) {
      for (const input of substitutions(entry.input, a, b)) {
        if (left-- <= 0 || this.#isOver()) return;
        await this.#try(input);
      }
    }
  }

  /** The fewest entries that together take every way; each as short as it can be in a little time. */
  async #smallest(): Promise<Buffer[]> {
    const endsAt = performance.now() + Math.min(10_000, this.#options.forMs / 4);
    const measured: { input: Buffer; features: number[] }[] = [];
    for (const { input, features } of this.#entries) {
      // Late, what was new with it at first has to do.
      const isLate = performance.now() > endsAt;
      measured.push({ input, features: isLate ? features : await this.#waysOf(input) });
    }
    measured.sort((a, b) => a.input.length - b.input.length);
    const taken = new Set<number>();
    const out: Buffer[] = [];
    for (const { input, features } of measured) {
      const own = features.filter((feature) => !taken.has(feature));
      if (own.length === 0) continue;
      for (const feature of features) taken.add(feature);
      const isEnough = async (shorter: Buffer): Promise<boolean> => {
        const ways = new Set(await this.#waysOf(shorter));
        return own.every((feature) => ways.has(feature));
      };
      const left = endsAt - performance.now();
      out.push(left > 0 && input.length > 32 ? await shortened(input, isEnough, Math.min(left, 50)) : input);
    }
    return out;
  }

  async #waysOf(input: Buffer): Promise<number[]> {
    this.#coverage.clear();
    this.#options.beat?.(input);
    await thrownBy(this.#target, input);
    return this.#coverage.features(true);
  }
}

/** What `run` throws, or undefined. A promise is waited for only where there is one. */
export async function thrownBy(target: Target, input: Buffer): Promise<unknown> {
  try {
    // A copy: what a reader changes of its input is its own.
    const running = target.run(Buffer.from(input));
    if (running !== undefined) await running;
    return undefined;
  } catch (error) {
    return error ?? new Error('threw nothing');
  }
}

function* substitutions(input: Buffer, a: Word, b: Word): Generator<Buffer> {
  for (const [old, put] of [
    [a, b],
    [b, a],
  ] as const) {
    const puts = formsOf(put);
    const olds = formsOf(old);
    for (const [index, form] of olds.entries()) {
      // Numbers are replaced in the way they are written; what has no form of the same width is put as text.
      const other = puts[index] ?? puts[0];
      if (form.length === 0 || other === undefined) continue;
      let times = 0;
      for (let at = input.indexOf(form); at !== -1 && times < 3; at = input.indexOf(form, at + 1)) {
        times += 1;
        yield Buffer.concat([input.subarray(0, at), other, input.subarray(at + form.length)]);
      }
    }
  }
}

/** Shorter and simpler while it stays what it is. */
async function shortened(
  input: Buffer,
  isSame: (shorter: Buffer) => Promise<boolean>,
  forMs: number,
): Promise<Buffer> {
  const endsAt = performance.now() + forMs;
  let best = input;
  for (let size = best.length >> 1; size > 0; size >>= 1) {
    for (let at = 0; at < best.length && performance.now() < endsAt; ) {
      const shorter = Buffer.concat([best.subarray(0, at), best.subarray(at + size)]);
      if (await isSame(shorter)) best = shorter;
      else at += size;
    }
  }
  return best;
}

/** Where in the program, and what kind of error, without what of it comes from the input. */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error).slice(0, 80);
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  const own = frames.find((frame) => frame.includes('/src/')) ?? frames[0] ?? '';
  const place = /([^/]+\.ts):([0-9]+)/.exec(own)?.[0] ?? '';
  const words = error.message.split('\n', 1)[0]?.replace(/["'`].*|[0-9]+/g, '') ?? '';
  return `${error.name} ${place} ${words.slice(0, 60)}`;
}

function oneLine(error: unknown): string {
  if (!(error instanceof Error)) return String(error).slice(0, 200);
  const own = (error.stack ?? '').split('\n').find((line) => /^\s+at .*\/src\//.test(line));
  const place = /src\/[^\s)]+/.exec(own ?? '')?.[0];
  return `${error.name}: ${error.message.replace(/\s+/g, ' ').slice(0, 300)}${place === undefined ? '' : ` (${place})`}`;
}
