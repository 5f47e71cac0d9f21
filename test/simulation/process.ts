/**
 * A process of the simulated world. It has its own clock on the wall, its own chance, and lives: from each start to the next
 * death. Whatever a life waits for happens in that life or never.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import { messageOf } from '../../src/kernel/errors.ts';
import type { SeededRandom } from '../support/seeded-random.ts';
import { type Machine, machines } from './machine.ts';
import type { Owner, World } from './world.ts';

/** After which a supervisor starts a program again. */
const restartMs = 5_000;

/**
 * Pauses of those who look again and again whether others changed something, or say that they are still there, and by how much
 * they are longer where looks are late. Leases last three times as long as the pause between two renewals.
 */
const latenessMs: ReadonlyMap<number, number> = new Map([
  [1_000, 14_000],
  [3_000, 2_000],
  [5_000, 3_000],
]);

export class Life implements Machine, Owner {
  readonly process: SimulatedProcess;
  readonly world: World;
  /** Called when it ends: others notice that it is gone. */
  readonly endings = new Set<() => void>();
  isAlive = true;
  readonly #random: SeededRandom;
  /** Runs code in this life, as the context of all that follows from it. */
  readonly #enter: (run: () => void) => void;

  constructor(process: SimulatedProcess, number: number) {
    this.process = process;
    this.world = process.world;
    this.#random = this.world.random(`${process.name} life ${number}`);
    this.#enter = machines.run(this, () => AsyncLocalStorage.snapshot());
  }

  get heldUntil(): number {
    return this.process.heldUntil;
  }

  now(): number {
    return Math.floor(this.world.now + this.process.clockAhead);
  }

  steadyNow(): number {
    return this.world.time;
  }

  bits(): number {
    return this.#random.bits();
  }

  after(milliseconds: number, run: () => void): () => void {
    return this.resume(milliseconds, () => this.#enter(run));
  }

  resume(milliseconds: number, go: () => void): () => void {
    if (!this.isAlive) return () => {};
    const late = this.process.looksLate ? (latenessMs.get(milliseconds) ?? 0) : 0;
    return this.world.schedule(milliseconds + late, go, this);
  }

  /** Waits as people do between two things: so long on average, where days are long. */
  async idle(random: SeededRandom, milliseconds: number): Promise<void> {
    if (this.world.isNight) await new Promise<void>((resolve) => this.world.atMorning(resolve));
    await this.wait(-Math.log(1 - random.fraction()) * milliseconds * this.world.pace);
  }

  /** Resolves in this life after so long, or never. */
  wait(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      // Who waits goes on in its own context.
      if (this.isAlive) this.world.schedule(milliseconds, resolve, this);
    });
  }
}

/** What a process runs; it is started in the process, again after each death. */
export type Program = (life: Life) => Promise<void>;

export class SimulatedProcess {
  readonly world: World;
  readonly name: string;
  /** Milliseconds by which its clock on the wall is ahead of the truth. */
  clockAhead = 0;
  /** Nothing happens in it before this time of the world. */
  heldUntil = 0;
  /** Idle looks are seldom: they would be most of what happens in a run. */
  looksLate = false;
  #life: Life | undefined;
  #lives = 0;

  constructor(world: World, name: string) {
    this.world = world;
    this.name = name;
  }

  get life(): Life | undefined {
    return this.#life;
  }

  get isRunning(): boolean {
    return this.#life !== undefined;
  }

  /** Runs, and does not sleep. */
  get isAwake(): boolean {
    return this.isRunning && this.heldUntil <= this.world.time;
  }

  /** Begins a life. A program that fails ends it, and is started again after a while, as a supervisor does. */
  start(program: Program): Life {
    this.kill();
    const life = new Life(this, this.#lives++);
    this.#life = life;
    machines.run(life, () => {
      program(life).catch((error: unknown) => {
        if (!life.isAlive) return;
        this.tell(`does not start: ${messageOf(error)}`);
        this.kill();
        this.startLater(restartMs, program);
      });
    });
    return life;
  }

  /** Unless it runs by then. */
  startLater(milliseconds: number, program: Program): void {
    this.world.schedule(milliseconds, () => {
      if (this.isRunning) return;
      this.tell('starts');
      this.start(program);
    });
  }

  /** As `kill -9` does: nothing of it runs any more. */
  kill(): void {
    const life = this.#life;
    if (life === undefined) return;
    this.#life = undefined;
    this.heldUntil = 0;
    life.isAlive = false;
    for (const end of [...life.endings]) end();
  }

  /** As a machine that sleeps: time passes, and nothing runs. */
  hold(milliseconds: number): void {
    this.heldUntil = Math.max(this.heldUntil, this.world.time + milliseconds);
  }

  tell(what: string): void {
    this.world.tell(this.name, what);
  }
}

/** The life in which this code runs. */
export function currentLife(): Life {
  const machine = machines.getStore();
  if (!(machine instanceof Life)) throw new Error('this is no code of a simulated process');
  return machine;
}
