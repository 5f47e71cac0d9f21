/**
 * A world told by its seed: one queue of events in simulated time, and everybody in it. What is awaited is an event of
 * somebody; between two events all code that can run has run. So a process can be killed or held at any await, and the same
 * seed gives the same run.
 */

import { createHash } from 'node:crypto';
import { type SeededRandom, seededRandom } from '../support/seeded-random.ts';
import { activity, machines, real } from './machine.ts';
import { SimulatedProcess } from './process.ts';
import { Story } from './story.ts';

/** Events between two turns of the machine's own loop. */
const turnEvery = 256;
/** Most days are short: servers that wait cost as much as servers at work. What takes hours happens on long ones. */
const paces = [0.25, 0.25, 0.25, 0.25, 0.25, 0.5, 0.5, 1];
/** Unix milliseconds at which every world begins. */
const beginning = Date.UTC(2027, 0, 1);

/** Who an event belongs to: it happens only while its owner lives, and not while its owner is held. */
export interface Owner {
  readonly isAlive: boolean;
  readonly heldUntil: number;
}

interface Event {
  time: number;
  /** Of events of one time the earlier planned comes first. */
  readonly order: number;
  readonly owner: Owner | undefined;
  /** undefined: cancelled. */
  run: (() => void) | undefined;
}

/** A promise of the product that was not kept, or something that must never be. */
export class Broken extends Error {
  override readonly name = 'Broken';
}

export class World {
  readonly seed: number;
  /** The smaller, the shorter days are, the more often people and faults come, and the faster chains grow. */
  readonly pace: number;
  readonly story = new Story();
  readonly processes = new Map<string, SimulatedProcess>();
  /** Milliseconds since the beginning. */
  time = 0;
  /** Events that happened. */
  events = 0;
  readonly #endings: (() => void)[] = [];
  readonly #queue = new EventQueue();
  #order = 0;
  #atMoment: (() => void) | undefined;
  #isNight = false;
  readonly #sleepers: (() => void)[] = [];
  #failure: unknown;
  #hasFailed = false;

  constructor(seed: number) {
    this.seed = seed;
    this.pace = this.random('pace').pick(paces);
  }

  /** Unix milliseconds, as the truth has it. */
  get now(): number {
    return beginning + this.time;
  }

  /** No server runs; the outside goes on slowly, because nobody looks. */
  get isNight(): boolean {
    return this.#isNight;
  }

  set isNight(isNight: boolean) {
    this.#isNight = isNight;
    if (!isNight) for (const wake of this.#sleepers.splice(0)) this.schedule(0, wake);
  }

  /** Called once, when the night is over. */
  atMorning(wake: () => void): void {
    this.#sleepers.push(wake);
  }

  /** Chance of its own for each purpose: what one draws changes nothing for the others. */
  random(purpose: string): SeededRandom {
    return seededRandom(createHash('sha256').update(`${this.seed} ${purpose}`).digest().readInt32LE(0));
  }

  /** A process, or somebody who is as good as one, such as a client. */
  process(name: string): SimulatedProcess {
    const known = this.processes.get(name);
    if (known !== undefined) return known;
    const made = new SimulatedProcess(this, name);
    this.processes.set(name, made);
    return made;
  }

  /** After so many milliseconds, and only while its owner lives; the answer cancels it. */
  schedule(milliseconds: number, run: () => void, owner?: Owner): () => void {
    const event: Event = { time: this.time + milliseconds, order: this.#order++, owner, run };
    this.#queue.push(event);
    return () => {
      event.run = undefined;
    };
  }

  /** Something is under way, such as a question that arrives or a commit: a time at which a fault does most. */
  moment(): void {
    const run = this.#atMoment;
    this.#atMoment = undefined;
    run?.();
  }

  /** Called once, at the next moment. Who asked before is forgotten. */
  atNextMoment(run: () => void): void {
    this.#atMoment = run;
  }

  tell(who: string, what: string): void {
    this.story.tell(this.time, who, what);
  }

  /** Ends the run: something is not as it must be. */
  broken(what: string): void {
    this.tell('CHECK', what);
    this.fail(new Broken(what));
  }

  fail(error: unknown): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    this.#failure = error;
  }

  /** Frees what the machine holds for this world. */
  atEnd(free: () => void): void {
    this.#endings.push(free);
  }

  /** It is not run any more. */
  end(): void {
    for (const free of this.#endings) free();
  }

  /** Lets time pass until it is over, or so many milliseconds have passed. Throws what broke. */
  run(milliseconds: number, isOver: () => boolean = () => false): Promise<void> {
    const end = this.time + milliseconds;
    const unhandled = (error: unknown) => this.fail(error);
    process.on('unhandledRejection', unhandled);
    process.on('uncaughtException', unhandled);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const stop = () => {
      process.off('unhandledRejection', unhandled);
      process.off('uncaughtException', unhandled);
      if (this.#hasFailed) reject(this.#failure);
      else resolve();
    };
    let ticks = activity.ticks;
    const step = () => {
      if (isMachineBusy()) return void real.setImmediate(step);
      if (this.#hasFailed || isOver()) return stop();
      ticks = activity.ticks;
      if (!this.#next(end)) {
        this.time = Math.max(this.time, end);
        return stop();
      }
      // Now and then the machine has its turn: signals, messages of a parent, promises that nobody handles.
      if (this.events % turnEvery === 0) real.setImmediate(step);
      else void ready.then(settle);
    };
    // A tick runs when no microtask is left. If none was put off since the last look, nothing else waits either.
    const settle = () => real.nextTick(look);
    const look = () => {
      if (activity.ticks === ticks) return step();
      ticks = activity.ticks;
      void ready.then(settle);
    };
    machines.exit(() => real.setImmediate(step));
    return promise;
  }

  /** The next event up to that time; false where there is none. */
  #next(end: number): boolean {
    for (;;) {
      const event = this.#queue.peek();
      if (event === undefined || event.time > end) return false;
      this.#queue.pop();
      const { owner, run } = event;
      if (run === undefined || owner?.isAlive === false) continue;
      if (owner !== undefined && owner.heldUntil > event.time) {
        event.time = owner.heldUntil;
        this.#queue.push(event);
        continue;
      }
      this.time = Math.max(this.time, event.time);
      this.events += 1;
      try {
        run();
      } catch (error) {
        this.fail(error);
      }
      return true;
    }
  }
}

/** A microtask without the bookkeeping of `queueMicrotask`. */
const ready = Promise.resolve();

const fileRequests = /^(?:FSReq|CloseReq$)/;

/** Work that the machine itself still does for us, such as reading a file: no simulated time passes for it. */
function isMachineBusy(): boolean {
  if (!activity.hasAskedForFiles) return false;
  for (const name of process.getActiveResourcesInfo()) if (fileRequests.test(name)) return true;
  activity.hasAskedForFiles = false;
  return false;
}

/** A binary heap: the earliest first, of those the one that was planned first. */
class EventQueue {
  readonly #events: Event[] = [];

  peek(): Event | undefined {
    return this.#events[0];
  }

  push(event: Event): void {
    const events = this.#events;
    let at = events.length;
    events.push(event);
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = events[above]!;
      if (!isBefore(event, parent)) break;
      events[at] = parent;
      at = above;
    }
    events[at] = event;
  }

  pop(): void {
    const events = this.#events;
    const last = events.pop();
    if (last === undefined || events.length === 0) return;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= events.length) break;
      if (below + 1 < events.length && isBefore(events[below + 1]!, events[below]!)) below += 1;
      if (!isBefore(events[below]!, last)) break;
      events[at] = events[below]!;
      at = below;
    }
    events[at] = last;
  }
}

const isBefore = (left: Event, right: Event): boolean =>
  left.time < right.time || (left.time === right.time && left.order < right.order);
