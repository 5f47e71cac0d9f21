/** An operator who backs a ledger up, loses it and restores it, as `turnpike backup` and `turnpike restore` do. */
import type { SqlExecutor } from '../../src/storage/sql/sql.ts';
import type { SimulatedDatabase } from './database.ts';
import { skewed } from './faults.ts';
import { minute, Person, type PersonOptions, second } from './person.ts';
import type { Life } from './process.ts';
import type { Server } from './scenario.ts';

/** What happened between a backup and the restore of it: the ledger does not know of it. */
export interface Losses {
  /** Whether it may have been said of what the ledger does not know: an answer may still be on its way when that is restored. */
  covers(said: Said): boolean;
}

/** Heard at a time of the world, in answer to what was asked at another; both in milliseconds since its beginning. */
export interface Said {
  readonly askedAt: number;
  readonly at: number;
}

export interface RestorerOptions extends PersonOptions {
  readonly ledger: SimulatedDatabase;
  /** All that use the ledger. */
  readonly processes: readonly Server[];
  /** What the command notes in the restored tables, in the machine's time. */
  readonly note?: (tx: SqlExecutor, since: number, restoredAt: number) => Promise<void>;
  /** Told when the ledger is back. */
  readonly restored?: () => void;
}

/** As the command does: clocks differ, and something may have been on its way. */
export const overlapMs = 60 * minute;

export class Restorer extends Person implements Losses {
  /** When the ledger was last restored; undefined: never. Milliseconds since the beginning of the world. */
  restoredAt: number | undefined;
  readonly #options: RestorerOptions;
  readonly #lost: { readonly from: number; readonly to: number }[] = [];

  constructor(options: RestorerOptions) {
    super(options);
    this.#options = options;
  }

  covers({ askedAt, at }: Said): boolean {
    return this.#lost.some(({ from, to }) => at >= from && askedAt <= to);
  }

  /** Answers when, in the world's time. */
  async backUp(life: Life): Promise<number> {
    const { ledger } = this.#options;
    while (!ledger.isQuiet) await life.wait(1);
    ledger.backUp();
    this.tell('backs the ledger up');
    return life.world.time;
  }

  async loseAndRestore(backedUpAt: number): Promise<void> {
    const { ledger, processes, note, restored } = this.#options;
    const { world } = this;
    for (const { process } of processes) process.kill();
    ledger.restore();
    // Nobody is let in before that: it takes no simulated time.
    const restoredAt = Math.floor(world.now);
    await note?.(ledger.atOnce(), restoredAt - Math.floor(world.time - backedUpAt) - overlapMs, restoredAt);
    for (const { process, program } of processes)
      process.startLater(skewed(this.random, second, 10 * minute), program);
    const { time } = world;
    this.#lost.push({ from: backedUpAt, to: time });
    this.restoredAt = time;
    this.tell(`restores the ledger as it was ${Math.round((time - backedUpAt) / minute)} min ago`);
    restored?.();
  }
}
