/** Spreads bytes over time: those who take wait until the bytes before theirs are paid off. */
import { setTimeout as sleep } from 'node:timers/promises';

export class RateLimit {
  readonly #bytesPerMs: number;
  readonly #burstMs = 250;
  #freeAt = 0;

  constructor(bytesPerSecond: number) {
    this.#bytesPerMs = bytesPerSecond / 1000;
  }

  /** Undefined when there is nothing to wait for. */
  take(bytes: number): Promise<void> | undefined {
    const now = performance.now();
    this.#freeAt = Math.max(this.#freeAt, now - this.#burstMs) + bytes / this.#bytesPerMs;
    const wait = this.#freeAt - now;
    return wait > 0 ? sleep(wait, undefined, { ref: false }) : undefined;
  }
}
