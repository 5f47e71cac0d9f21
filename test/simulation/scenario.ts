/** What takes part in a simulated world: an installation with its outsides, clients that remember what they were promised, faults and checks. */
import type { SeededRandom } from '../support/seeded-random.ts';
import type { Program, SimulatedProcess } from './process.ts';

export interface Scenario {
  readonly name: string;
  /** Started at the beginning and after each night; killed, held and started again by faults. */
  readonly servers: readonly Server[];
  /** Each runs for as long as the world; `isDay` tells whether new things are begun. */
  readonly clients: readonly Client[];
  readonly faults: readonly Fault[];
  /** Often, and cheap: says by `world.broken` what must never be. */
  watch?(): void;
  /** What is promised and not done yet, in words; none once it has settled. */
  open(): readonly string[];
  /** When everything has settled, in a process of its own: what is wrong, in words. */
  settled(): Promise<readonly string[]>;
}

export interface Server {
  readonly process: SimulatedProcess;
  readonly program: Program;
}

export interface Client {
  readonly process: SimulatedProcess;
  readonly program: Program;
}

export interface Fault {
  /** The same for all of a kind: a seed has some kinds and lacks others. */
  readonly name: string;
  /** Milliseconds that it lasts at most; 0 where it is over at once. */
  readonly longest: number;
  /** Begins it; answers what happened and how it ends, or undefined where there is nothing to do it to. */
  begin(random: SeededRandom): Trouble | undefined;
}

export interface Trouble {
  readonly what: string;
  end?(): void;
}

interface Followed {
  /** `lasts`: it ends by and by. */
  begun(lasts: boolean): void;
  ended(): void;
}

/** The same fault; whoever follows it is told after it has begun, and after it has ended. */
export function followed(fault: Fault, { begun, ended }: Followed): Fault {
  return {
    ...fault,
    begin(random) {
      const trouble = fault.begin(random);
      if (trouble === undefined) return undefined;
      const { what, end } = trouble;
      begun(end !== undefined);
      if (end === undefined) return trouble;
      return {
        what,
        end() {
          end();
          ended();
        },
      };
    },
  };
}
