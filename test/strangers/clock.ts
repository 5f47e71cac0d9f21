/**
 * The clock of the whole process. Every part takes `Date.now` where it is given no other, so that services, local
 * chains, the card provider and the client's signatures tell one time; it stands still until it is moved.
 */
import { mock } from 'node:test';

export class Clock {
  #now: number;

  /** Call it before anything that asks for the time is made. */
  constructor(start = Date.UTC(2027, 0, 1)) {
    this.#now = start;
    mock.timers.enable({ apis: ['Date'], now: start });
  }

  get now(): number {
    return this.#now;
  }

  advance(milliseconds: number): void {
    this.#now += milliseconds;
    mock.timers.setTime(this.#now);
  }

  /** The machine's time again. */
  release(): void {
    mock.timers.reset();
  }
}
