/**
 * A run of the simulated world: days on which clients are at work and things go wrong, evenings without faults in which all
 * that was promised must come true, quiet hours in which it must stay so, and nights in which nothing runs. One run is told
 * by its seed.
 */
import './machine.ts';
import { ArweaveNetwork } from './arweave.ts';
import { skewed, Troubles } from './faults.ts';
import { namesScenario } from './names/scenario.ts';
import { Network } from './network.ts';
import { paymentsScenario } from './payments/scenario.ts';
import { readingScenario } from './reading/scenario.ts';
import type { Scenario } from './scenario.ts';
import type { Story } from './story.ts';
import { uploadsScenario } from './uploads/scenario.ts';
import { Broken, World } from './world.ts';

export interface SimulationOptions {
  readonly seed: number;
  /** Simulated hours at least; a day is ended. */
  readonly hours: number;
  /** Names of the only faults that there are; undefined: the seed has its own. */
  readonly faults?: readonly string[] | undefined;
  /** The scenario; the seed draws one where it is not said. */
  readonly only?: string | undefined;
}

export interface SimulationReport {
  readonly seed: number;
  readonly hours: number;
  readonly events: number;
  /** What was not as it must be; undefined where all was. */
  readonly broken: string | undefined;
  readonly story: Story;
}

const minute = 60_000;
const hour = 60 * minute;
/** Without faults, everything that was promised has come true within this. */
const settleMs = 8 * hour;

const calmMs = 20 * minute;
const longestQuietMs = 8 * hour;
/** Nothing runs then; it makes the simulated years. */
const longestNightMs = 300 * hour;
/** Drawn from: gateways and routers take several times as long as the others. */
const scenarioShares = [
  ...['uploads', 'names', 'payments', 'restores'],
  ...['uploads', 'names', 'payments', 'restores'],
  ...['upload-restores', 'upload-parts', 'reading'],
];

export async function simulate(options: SimulationOptions): Promise<SimulationReport> {
  const world = new World(options.seed);
  let broken: string | undefined;
  try {
    await new Simulation(world, options).run(options.hours * hour);
  } catch (error) {
    if (error instanceof Broken) broken = error.message;
    else broken = error instanceof Error ? (error.stack ?? error.message) : String(error);
  } finally {
    world.end();
  }
  const { seed, events, story, time } = world;
  return { seed, hours: time / hour, events, broken, story };
}

class Simulation {
  readonly #world: World;
  readonly #scenarios: readonly Scenario[];
  readonly #troubles: Troubles;
  readonly #random;
  #isDay = false;
  #isCalm = false;
  #isSettling = false;
  #hasSettled = false;

  constructor(world: World, { only, faults }: SimulationOptions) {
    this.#world = world;
    this.#random = world.random('days');
    const network = new Network(world);
    const nodes = 1 + this.#random.below(3);
    const isDay = () => this.#isDay;
    const isCalm = () => this.#isCalm;
    const uploads = ({ restores = false, inParts = false } = {}) => {
      const arweave = new ArweaveNetwork(world, network, nodes);
      return uploadsScenario({ world, network, arweave, isDay, isCalm, restores, inParts });
    };
    const makers = {
      uploads: () => uploads(),
      'upload-restores': () => uploads({ restores: true }),
      'upload-parts': () => uploads({ inParts: true }),
      names: () => namesScenario({ world, network, isDay }),
      payments: () => paymentsScenario({ world, network, isDay, restores: false }),
      restores: () => paymentsScenario({ world, network, isDay, restores: true }),
      reading: () => {
        const arweave = new ArweaveNetwork(world, network, nodes);
        return readingScenario({ world, network, arweave, isDay, isCalm });
      },
    };
    const names = Object.keys(makers);
    const wanted = only ?? world.random('scenario').pick(scenarioShares);
    if (!(wanted in makers)) throw new Error(`no scenario is named ${wanted}: ${names.join(', ')}`);
    this.#scenarios = Object.entries(makers).flatMap(([name, make]) => (name === wanted ? [make()] : []));
    const looksLate = world.random('looks').below(8) > 0;
    for (const { process } of this.#servers) process.looksLate = looksLate;
    this.#troubles = new Troubles(
      world,
      this.#scenarios.flatMap((scenario) => scenario.faults),
      faults,
    );
    world.tell('WORLD', `seed ${world.seed}; faults: ${this.#troubles.names.join(', ') || 'none'}`);
  }

  async run(milliseconds: number): Promise<void> {
    this.#startServers();
    for (const { clients } of this.#scenarios) {
      for (const { process, program } of clients) process.start(program);
    }
    this.#watch();
    while (this.#world.time < milliseconds) {
      await this.#day();
      await this.#evening();
      await this.#quietHours();
      await this.#night();
    }
  }

  async #day(): Promise<void> {
    this.#world.tell('WORLD', 'a day begins');
    // Everything starts; then there is a while in which nothing is wrong, and everything must be as quick as it can be.
    await this.#world.run(minute);
    this.#isDay = true;
    this.#isCalm = true;
    await this.#world.run(this.#world.pace * calmMs);
    this.#isCalm = false;
    this.#troubles.begin();
    await this.#world.run(this.#world.pace * skewed(this.#random, hour / 2, 4 * hour));
  }

  async #evening(): Promise<void> {
    this.#isDay = false;
    this.#troubles.end();
    this.#world.tell('WORLD', 'an evening without faults begins');
    await this.#settle();
    // What others do afterwards: nodes hear of each other, people try again what was not answered, back-offs end. What they
    // begin by that comes true too.
    await this.#world.run(hour / 2);
    await this.#settle();
    await this.#inspect();
  }

  /** Servers run, and nobody asks them for anything: what was promised stays true. */
  async #quietHours(): Promise<void> {
    this.#world.tell('WORLD', 'quiet hours begin');
    const longest = this.#random.below(4) === 0 ? longestQuietMs : hour / 2;
    await this.#world.run(this.#world.pace * skewed(this.#random, 0, longest));
    await this.#settle();
    await this.#inspect();
  }

  async #settle(): Promise<void> {
    this.#hasSettled = false;
    this.#isSettling = true;
    await this.#world.run(settleMs, () => this.#hasSettled);
    this.#isSettling = false;
    const open = this.#scenarios.flatMap((scenario) => scenario.open());
    if (open.length > 0)
      this.#world.broken(
        `not done after ${settleMs / hour} hours without faults: ${open.slice(0, 5).join(', ')}`,
      );
  }

  async #inspect(): Promise<void> {
    let wrong: readonly string[] | undefined;
    this.#world.process('inspector').start(async () => {
      const found: string[] = [];
      for (const scenario of this.#scenarios) found.push(...(await scenario.settled()));
      wrong = found;
    });
    await this.#world.run(settleMs, () => wrong !== undefined);
    if (wrong === undefined) this.#world.broken('the inspection did not end');
    else if (wrong.length > 0) this.#world.broken(wrong.slice(0, 5).join('; '));
    await this.#world.run(0);
  }

  async #night(): Promise<void> {
    this.#world.tell('WORLD', 'a night begins');
    for (const { process } of this.#servers) process.kill();
    this.#world.isNight = true;
    await this.#world.run(skewed(this.#random, 0, longestNightMs));
    this.#world.isNight = false;
    this.#startServers();
  }

  get #servers() {
    return this.#scenarios.flatMap(({ servers }) => servers);
  }

  #startServers(): void {
    for (const { process, program } of this.#servers) process.start(program);
  }

  #watch(): void {
    this.#world.schedule(this.#world.isNight ? 20 * minute : minute, () => {
      this.#watch();
      if (this.#world.isNight) return;
      for (const scenario of this.#scenarios) scenario.watch?.();
      if (this.#isSettling)
        this.#hasSettled = this.#scenarios.every((scenario) => scenario.open().length === 0);
    });
  }
}
