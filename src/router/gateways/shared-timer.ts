/**
 * Calls back those whose patience ends, with one timer for all of them. Nearly everybody is done long before and
 * only leaves a mark; a timer of its own for each would be the larger part of what waiting costs.
 */
export interface Waiter {
  /** Whether it still waits. */
  readonly waits: boolean;
  timedOut(): void;
}

interface Place {
  readonly waiter: Waiter;
  readonly due: number;
}

export class SharedTimer {
  /** By when they came, which is nearly when they are due: the same patience is given to all at a time. */
  #queue: Place[] = [];
  #first = 0;
  #timer: NodeJS.Timeout | undefined;

  wait(waiter: Waiter, milliseconds: number): void {
    this.#queue.push({ waiter, due: performance.now() + milliseconds });
    this.#timer ??= setTimeout(() => this.#look(), Math.ceil(milliseconds)).unref();
  }

  #look(): void {
    const now = performance.now();
    this.#timer = undefined;
    for (let place = this.#queue[this.#first]; place !== undefined; place = this.#queue[this.#first]) {
      if (place.waiter.waits) {
        if (place.due > now) {
          this.#timer = setTimeout(() => this.#look(), Math.ceil(place.due - now)).unref();
          break;
        }
        this.#first += 1;
        place.waiter.timedOut();
      } else this.#first += 1;
    }
    this.#queue = this.#queue.slice(this.#first);
    this.#first = 0;
  }
}
