/** Faults that every installation may have: of its processes, clocks, databases, and of the network. */
import type { SeededRandom } from '../support/seeded-random.ts';
import type { SimulatedDatabase } from './database.ts';
import type { Network, Weather } from './network.ts';
import type { Fault, Server } from './scenario.ts';
import type { World } from './world.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** What a question or a commit brings about has happened within this. */
const longestMomentMs = 200;

/** Between both, small ones more often. */
export const skewed = (random: SeededRandom, least: number, most: number): number =>
  least + (most - least) * random.fraction() ** 3;

export function processFaults(servers: readonly Server[]): Fault[] {
  return [
    {
      name: 'kill',
      longest: 0,
      begin(random) {
        const { process, program } = random.pick(servers);
        if (!process.isRunning) return undefined;
        process.kill();
        process.startLater(skewed(random, second, 20 * minute), program);
        return { what: `${process.name} is killed` };
      },
    },
    {
      name: 'kill all',
      longest: 0,
      begin(random) {
        for (const { process, program } of servers) {
          process.kill();
          process.startLater(skewed(random, second, 10 * minute), program);
        }
        return { what: 'all processes are killed' };
      },
    },
    {
      name: 'hold',
      longest: 0,
      begin(random) {
        const { process } = random.pick(servers);
        if (!process.isRunning) return undefined;
        const milliseconds = skewed(random, second, 15 * minute);
        process.hold(milliseconds);
        return { what: `${process.name} sleeps for ${Math.round(milliseconds / second)} s` };
      },
    },
  ];
}

export function clockFaults(servers: readonly Server[], databases: readonly SimulatedDatabase[]): Fault[] {
  const set = (milliseconds: number) => {
    for (const one of [...databases, ...servers.map(({ process }) => process)]) one.clockAhead = milliseconds;
  };
  return [
    {
      name: 'wrong clock',
      longest: hour,
      begin(random) {
        const { process } = random.pick(servers);
        if (process.clockAhead !== 0) return undefined;
        process.clockAhead = (random.below(2) === 0 ? 1 : -1) * skewed(random, second, 2 * hour);
        const what = `the clock of ${process.name} is ${Math.round(process.clockAhead / second)} s ahead`;
        return {
          what,
          end: () => {
            process.clockAhead = 0;
          },
        };
      },
    },
    {
      // Everything is on one machine, whose clock is set.
      name: 'clock jump',
      longest: hour,
      begin(random) {
        if (databases.some(({ clockAhead }) => clockAhead !== 0)) return undefined;
        const ahead = skewed(random, minute, 24 * hour);
        set(ahead);
        return { what: `the clock jumps ahead by ${Math.round(ahead / minute)} min`, end: () => set(0) };
      },
    },
    {
      name: 'killed in another time',
      longest: 20 * minute,
      begin(random) {
        if (databases.some(({ clockAhead }) => clockAhead !== 0)) return undefined;
        const ahead = skewed(random, 6 * hour, 24 * hour);
        set(ahead);
        return {
          what: `the clock is ${Math.round(ahead / minute)} min ahead until all processes are killed`,
          end() {
            for (const { process, program } of servers) {
              process.kill();
              process.startLater(second, program);
            }
            set(0);
          },
        };
      },
    },
  ];
}

export function databaseFaults(databases: readonly SimulatedDatabase[]): Fault[] {
  const change = (
    name: string,
    longest: number,
    what: string,
    begin: (database: SimulatedDatabase, random: SeededRandom) => void,
    end: (database: SimulatedDatabase) => void,
  ): Fault =>
    oneAtATime(name, longest, (random) => {
      const database = random.pick(databases);
      return {
        of: database,
        what: `${database.name}: ${what}`,
        begin: () => begin(database, random),
        end: () => end(database),
      };
    });
  return [
    change(
      'database away',
      10 * minute,
      'the database is away',
      (database) => {
        database.weather.down = true;
        database.cut();
      },
      (database) => {
        database.weather.down = false;
      },
    ),
    change(
      'slow database',
      20 * minute,
      'the database is slow',
      (database, random) => {
        database.weather.slowest = skewed(random, 100, 20 * second);
      },
      (database) => {
        database.weather.slowest = 3;
      },
    ),
    change(
      'lost commits',
      20 * minute,
      'answers to commits are lost',
      (database, random) => {
        database.weather.loseCommits = 0.3 * random.fraction();
      },
      (database) => {
        database.weather.loseCommits = 0;
      },
    ),
    change(
      'repeated work',
      hour,
      'transactions are run again',
      (database, random) => {
        database.weather.repeatWork = 0.5 * random.fraction();
      },
      (database) => {
        database.weather.repeatWork = 0;
      },
    ),
  ];
}

/** Something that is to be changed for a while. */
interface Change {
  /** What it is that changes. */
  readonly of: object;
  readonly what: string;
  begin(): void;
  end(): void;
}

/** A fault that befalls one thing once at a time: else the end of one would end the other too. At most `most` things have it. */
function oneAtATime(
  name: string,
  longest: number,
  draw: (random: SeededRandom) => Change,
  most = Number.POSITIVE_INFINITY,
): Fault {
  const changed = new Set<object>();
  return {
    name,
    longest,
    begin(random) {
      const { of, what, begin, end } = draw(random);
      if (changed.has(of) || changed.size >= most) return undefined;
      changed.add(of);
      begin();
      return {
        what,
        end() {
          changed.delete(of);
          end();
        },
      };
    },
  };
}

/** Makes faults that change one of several nodes for a while, of a kind at most `most` at a time. */
export function changesOf<Node extends { readonly process: { readonly name: string } }>(
  nodes: readonly Node[],
) {
  return (
    name: string,
    longest: number,
    what: string,
    begin: (node: Node, random: SeededRandom) => void,
    end: (node: Node) => void,
    most = nodes.length,
  ): Fault => {
    return oneAtATime(
      name,
      longest,
      (random) => {
        const node = random.pick(nodes);
        return {
          of: node,
          what: `${node.process.name} ${what}`,
          begin: () => begin(node, random),
          end: () => end(node),
        };
      },
      most,
    );
  };
}

/** Of the links to some origins, for everybody or for one process. */
export function networkFaults(
  network: Network,
  origins: readonly string[],
  servers: readonly Server[],
): Fault[] {
  const change = (
    name: string,
    longest: number,
    what: string,
    begin: (weather: Weather, random: SeededRandom) => void,
    end: (weather: Weather) => void,
  ): Fault =>
    oneAtATime(name, longest, (random) => {
      const origin = random.pick(origins);
      const from = random.below(2) === 0 ? '' : random.pick(servers).process.name;
      const weather = network.weather(origin, from);
      return {
        of: weather,
        what: `the link of ${from || 'everybody'} to ${origin} ${what}`,
        begin: () => begin(weather, random),
        end: () => end(weather),
      };
    });
  return [
    change(
      'cut link',
      20 * minute,
      'is cut',
      (weather) => {
        weather.cut = true;
      },
      (weather) => {
        weather.cut = false;
      },
    ),
    change(
      'slow link',
      30 * minute,
      'is slow',
      (weather, random) => {
        weather.slowest = skewed(random, second, 2 * minute);
      },
      (weather) => {
        weather.slowest = 40;
      },
    ),
    change(
      'lossy link',
      30 * minute,
      'loses messages',
      (weather, random) => {
        weather.loseAnswers = random.fraction() * 0.6;
        weather.loseQuestions = random.fraction() * 0.3;
      },
      (weather) => {
        weather.loseAnswers = 0;
        weather.loseQuestions = 0;
      },
    ),
    change(
      'repeating link',
      hour,
      'brings questions twice',
      (weather, random) => {
        weather.repeat = random.fraction() * 0.5;
      },
      (weather) => {
        weather.repeat = 0;
      },
    ),
  ];
}

/**
 * Draws faults while there is day. A seed has some kinds of them only, and some of those more often than others: all kinds
 * at once hide each other, and few of them meet as they must to do harm.
 */
export class Troubles {
  readonly #world: World;
  readonly #random: SeededRandom;
  readonly #faults: readonly Fault[];
  /** How often each is drawn, beside the others. */
  readonly #weights: readonly number[];
  readonly #ends = new Set<() => void>();
  readonly #pause: number;
  #isOn = false;

  /** `only`: the names of those that there are; undefined: drawn from the seed. */
  constructor(world: World, faults: readonly Fault[], only: readonly string[] | undefined) {
    this.#world = world;
    this.#random = world.random('faults');
    const kinds = new Set(only ?? drawnKinds(this.#random, [...new Set(faults.map(({ name }) => name))]));
    this.#faults = faults.filter(({ name }) => kinds.has(name));
    this.#weights = this.#faults.map(() => 0.2 + this.#random.fraction() ** 2);
    this.#pause = world.pace * skewed(this.#random, 2 * minute, 25 * minute);
  }

  get names(): readonly string[] {
    return [...new Set(this.#faults.map(({ name }) => name))];
  }

  begin(): void {
    this.#isOn = true;
    this.#later();
  }

  /** Everything works again. */
  end(): void {
    this.#isOn = false;
    for (const end of [...this.#ends]) end();
  }

  #later(): void {
    this.#world.schedule(-Math.log(1 - this.#random.fraction()) * this.#pause, () => {
      if (!this.#isOn) return;
      this.#later();
      if (this.#random.below(2) === 0) this.#one();
      else
        this.#world.atNextMoment(() => {
          this.#world.schedule(skewed(this.#random, 0, longestMomentMs), () => this.#one());
        });
    });
  }

  #drawn(): Fault | undefined {
    let left = this.#random.fraction() * this.#weights.reduce((sum, weight) => sum + weight, 0);
    return this.#faults.find((_, index) => {
      left -= this.#weights[index] ?? 0;
      return left < 0;
    });
  }

  #one(): void {
    if (!this.#isOn) return;
    const fault = this.#drawn();
    const trouble = fault?.begin(this.#random);
    if (fault === undefined || trouble === undefined) return;
    this.#world.tell('FAULT', trouble.what);
    const { end } = trouble;
    if (end === undefined) return;
    let isOver = false;
    const over = () => {
      if (isOver) return;
      isOver = true;
      this.#ends.delete(over);
      end();
      this.#world.tell('FAULT', `is over: ${trouble.what}`);
    };
    this.#ends.add(over);
    this.#world.schedule(skewed(this.#random, second, fault.longest), over);
  }
}

/** A few kinds in half of the seeds, a share of all in the others. */
function drawnKinds(random: SeededRandom, kinds: readonly string[]): readonly string[] {
  if (random.below(2) === 0) return Array.from({ length: random.between(1, 6) }, () => random.pick(kinds));
  const share = 0.2 + 0.6 * random.fraction();
  return kinds.filter(() => random.fraction() < share);
}
