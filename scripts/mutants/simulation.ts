/**
 * The simulated world (`test/simulation`) as a second judge: a mutant that no test notices is put into it, and is found
 * where something that was promised does not come true. The seeds are fixed, and each run is the same again.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Mutant } from './make.ts';
import type { ImportGraph } from './nearest-tests.ts';
import { MutantProcess, type ProcessOptions } from './process.ts';

/** The scenarios that a room acts in. Engines of databases are stood in for there: of storage, only leases are reached. */
const scenarios: Readonly<Record<string, readonly string[]>> = {
  credits: ['payments', 'uploads'],
  payments: ['payments'],
  'upload/bundler': ['uploads'],
  'names/actions': ['names'],
  'storage/sql': ['uploads'],
};
const seeds = [1, 2, 3, 4, 5, 6];
const hours = 12;
const entry = 'test/simulation/run.ts';
/** Of one run without a mutant. */
const longestMs = 600_000;
/** To load all that is simulated, on a busy machine. */
const loadMs = 120_000;
const noMutant = -1;

interface Played {
  readonly scenario: string;
  readonly seed: number;
  readonly ms: number;
  readonly reached: readonly number[];
}

type Judgement = { readonly verdict: 'broke the world' | 'timed out'; readonly by: string } | undefined;

export interface SimulationOptions {
  readonly room: string;
  readonly codeHash: string;
  readonly graph: ImportGraph;
  /** Where runs without a mutant are remembered. */
  readonly surveys: string;
  readonly process: ProcessOptions;
}

export class Simulation {
  readonly #options: SimulationOptions;
  #played: readonly Played[] = [];
  #process: MutantProcess | undefined;

  constructor(options: SimulationOptions) {
    this.#options = options;
  }

  /** Plays every seed without a mutant: which of them each reaches, and how long it takes. */
  async survey(): Promise<void> {
    const { room, codeHash, graph, surveys } = this.#options;
    const key = JSON.stringify([codeHash, graph.hash(entry), scenarios[room] ?? [], seeds, hours]);
    const cached = join(surveys, `${createHash('sha256').update(key).digest('hex').slice(0, 16)}.json`);
    if (!existsSync(cached)) {
      const played: Played[] = [];
      for (const scenario of scenarios[room] ?? []) {
        for (const seed of seeds) {
          const from = performance.now();
          const answer = await this.#play(noMutant, { scenario, seed }, longestMs);
          const ms = performance.now() - from;
          if (answer?.broken !== undefined || answer === undefined)
            throw new Error(
              `${scenario}, seed ${seed} breaks without a mutant: ${answer?.broken ?? 'no end'}`,
            );
          played.push({ scenario, seed, ms, reached: answer.reached });
        }
      }
      mkdirSync(dirname(cached), { recursive: true });
      writeFileSync(cached, JSON.stringify(played));
    }
    this.#played = JSON.parse(readFileSync(cached, 'utf8'));
  }

  async judge(mutant: Mutant & { readonly number: number }): Promise<Judgement> {
    const isLoaded = mutant.isStatic && this.#options.graph.reached(entry).has(mutant.file);
    const { number } = mutant;
    for (const run of this.#played.filter(({ reached }) => isLoaded || reached.includes(number))) {
      const limit = 3 * run.ms + loadMs;
      const by = `the simulated world: ${run.scenario}, seed ${run.seed}`;
      // What earlier ones left behind may have broken it.
      if (mutant.isStatic) this.end();
      const isFirst = this.#process === undefined || this.#process.isWorn;
      let answer = await this.#play(number, run, limit);
      if (!isFirst && (answer === undefined || answer.broken !== undefined)) {
        this.end();
        answer = await this.#play(number, run, limit);
      }
      if (answer !== undefined && answer.broken === undefined) continue;
      this.end();
      if (answer !== undefined) return { verdict: 'broke the world', by: `${by}: ${answer.broken}` };
      // On a busy machine it may be late for no fault of the mutant.
      if ((await this.#play(noMutant, run, limit)) !== undefined) return { verdict: 'timed out', by };
    }
    if (mutant.isStatic) this.end();
    return undefined;
  }

  end(): void {
    this.#process?.end();
    this.#process = undefined;
  }

  /** Undefined where no answer came in time. */
  async #play(
    mutant: number,
    { scenario, seed }: Pick<Played, 'scenario' | 'seed'>,
    limit: number,
  ): Promise<{ broken?: string | undefined; reached: readonly number[] } | undefined> {
    if (this.#process === undefined || this.#process.isWorn) {
      this.end();
      const { environment, ...options } = this.#options.process;
      this.#process = new MutantProcess({
        ...options,
        environment: { ...environment, MUTANT: String(mutant) },
      });
      await this.#process.ready();
    }
    const answer = await this.#process.ask({ ask: 'simulate', mutant, scenario, seed, hours }, limit);
    if (answer?.answer === 'simulated') return answer;
    return answer === undefined ? undefined : { broken: 'the process ended', reached: [] };
  }
}
