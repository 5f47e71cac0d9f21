/** Which way the last input took through the instrumented modules, and what they compared. Of this thread. */
import { readFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { instrument } from './instrument.ts';

/** More than the whole program has. */
const mostCounters = 1 << 18;
const mostComparisons = 512;

export type Word = string | number | bigint;

interface Module {
  readonly first: number;
  readonly end: number;
  readonly words: readonly Word[];
  isReached: boolean;
}

/** How often a counter moved, as one of eight bits: 1, 2, 3, 4–7, 8–15, 16–31, 32–127, more. */
const bitOfCount = Uint8Array.from({ length: 256 }, (_, count) => {
  if (count < 4) return count === 0 ? 0 : 1 << (count - 1);
  if (count < 8) return 8;
  if (count < 16) return 16;
  if (count < 32) return 32;
  return count < 128 ? 64 : 128;
});

export class Coverage {
  readonly #counters = new Uint8Array(mostCounters);
  readonly #inWords = new Uint32Array(this.#counters.buffer);
  readonly #seen = new Uint8Array(mostCounters);
  readonly #modules: Module[] = [];
  readonly #compared: [Word, Word][] = [];
  #used = 0;
  #isComparing = false;

  /** Modules below the folder that are loaded from now on are counted. */
  install(folder: string): void {
    const prefix = pathToFileURL(folder + sep).href;
    const compare = (a: unknown, b: unknown): boolean => {
      if (this.#isComparing && a !== b && isWord(a) && isWord(b)) this.#noteComparison(a, b);
      return a === b;
    };
    Object.assign(globalThis, { fuzzCounters: this.#counters, fuzzCompare: compare });
    registerHooks({
      load: (url, context, next) => {
        if (!url.startsWith(prefix) || !url.endsWith('.ts')) return next(url, context);
        return { format: 'module', source: this.#source(fileURLToPath(url)), shortCircuit: true };
      },
    });
  }

  /** What an expression is, instrumented. */
  compile(source: string): (input: unknown) => unknown {
    return new Function(`return ${this.#instrumented(`(${source})`)}`)();
  }

  #source(file: string): string {
    return this.#instrumented(stripTypeScriptTypes(readFileSync(file, 'utf8')));
  }

  #instrumented(source: string): string {
    const first = this.#used;
    const { code, counters, words } = instrument(source, first);
    this.#used += counters;
    if (this.#used > mostCounters) throw new Error('the program has more branches than there are counters');
    this.#modules.push({ first, end: this.#used, words, isReached: false });
    return code;
  }

  #noteComparison(a: Word, b: Word): void {
    if (this.#compared.length < mostComparisons) this.#compared.push([a, b]);
  }

  /** Forgets what moved so far. */
  clear(): void {
    this.#counters.fill(0, 0, this.#used);
  }

  /**
   * What moved since the last time, as numbers; only what no input did before unless `all` is asked. Empty for most
   * inputs.
   */
  features(all = false): number[] {
    const features: number[] = [];
    const words = Math.ceil(this.#used / 4);
    for (let word = 0; word < words; word += 1) {
      if (this.#inWords[word] === 0) continue;
      for (let at = word * 4; at < word * 4 + 4; at += 1) {
        const bit = bitOfCount[this.#counters[at]!]!;
        if (bit !== 0 && (all || (this.#seen[at]! & bit) === 0)) features.push(at * 256 + bit);
        this.#seen[at]! |= bit;
      }
      this.#inWords[word] = 0;
    }
    return features;
  }

  /** How many counters ever moved. */
  get reached(): number {
    return this.#seen.subarray(0, this.#used).reduce((sum, bits) => sum + (bits === 0 ? 0 : 1), 0);
  }

  get counters(): number {
    return this.#used;
  }

  /** Words of the modules that inputs have come to for the first time since this was asked. */
  newWords(): Word[] {
    const found = this.#modules.filter(
      ({ first, end, isReached }) => !isReached && this.#seen.subarray(first, end).some((bits) => bits !== 0),
    );
    for (const module of found) module.isReached = true;
    return found.flatMap(({ words }) => words);
  }

  /** What is compared and unequal from now until it is asked for. */
  startComparing(): void {
    this.#compared.length = 0;
    this.#isComparing = true;
  }

  stopComparing(): [Word, Word][] {
    this.#isComparing = false;
    return this.#compared.splice(0);
  }
}

function isWord(value: unknown): value is Word {
  if (typeof value === 'string') return value.length > 0 && value.length <= 256;
  return typeof value === 'number' || typeof value === 'bigint';
}
