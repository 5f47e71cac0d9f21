/**
 * Answers that are whole in memory until their reader has them (a record with its data in it, a node's answer passed
 * on), and bodies that are until they are passed on. Each is bounded; this bounds them together, so that many slow
 * clients with large ones do not fill the memory.
 */
import { HttpError } from '../kernel/errors.ts';

/** Smaller ones are not worth counting: most leave at once. */
const smallBytes = 256 * 1024;

/** What tells when it is closed, as a response does. */
interface Leaving {
  once(event: 'close', listener: () => void): unknown;
}

export class HeldBytes {
  readonly #max: number;
  readonly #what: string;
  #held = 0;

  constructor(max: number, what = 'answers') {
    this.#max = max;
    this.#what = what;
  }

  get held(): number {
    return this.#held;
  }

  /** Until the answer is out or its reader gone. Throws 503 where there is no room; one alone always has it. */
  hold(answer: Leaving, bytes: number): void {
    if (bytes <= smallBytes) return;
    if (this.#held > 0 && this.#held + bytes > this.#max) {
      throw new HttpError(503, `Too many large ${this.#what} at once`, {
        retryAfter: 5,
        headers: { 'cache-control': 'no-store' },
      });
    }
    this.#held += bytes;
    answer.once('close', () => {
      this.#held -= bytes;
    });
  }
}

/** Of this process, whatever route they leave by. */
export const largeAnswers = new HeldBytes(256 * 1024 * 1024);
