/** What is wrong at the moment: which faults there are, and since when nothing has changed. */
import { type Fault, followed } from './scenario.ts';

export class Calm {
  readonly #time: () => number;
  readonly #settleMs: number;
  readonly #active = new Map<string, number>();
  #changedAt = Number.NEGATIVE_INFINITY;

  /** `settleMs`: what faults leave behind is over by then. */
  constructor(time: () => number, settleMs: number) {
    this.#time = time;
    this.#settleMs = settleMs;
  }

  /** Whether nothing is wrong, and nothing was for a while. */
  get isCalm(): boolean {
    return this.#active.size === 0 && this.unchangedMs > this.#settleMs;
  }

  /** Kinds of the faults that there are. */
  get kinds(): readonly string[] {
    return [...this.#active.keys()];
  }

  /** Milliseconds since a fault began or ended. */
  get unchangedMs(): number {
    return this.#time() - this.#changedAt;
  }

  watched(faults: readonly Fault[]): Fault[] {
    return faults.map((fault) =>
      followed(fault, {
        begun: (lasts) => {
          this.#changedAt = this.#time();
          if (lasts) this.#count(fault.name, 1);
        },
        ended: () => {
          this.#changedAt = this.#time();
          this.#count(fault.name, -1);
        },
      }),
    );
  }

  #count(name: string, change: number): void {
    const count = (this.#active.get(name) ?? 0) + change;
    if (count === 0) this.#active.delete(name);
    else this.#active.set(name, count);
  }
}
