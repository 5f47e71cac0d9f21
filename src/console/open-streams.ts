/** Answers that go on until somebody ends them: bounded in number, and ended at once when the console stops. */
import { tooManyStreams } from './errors.ts';

const maxStreams = 64;

export class OpenStreams {
  readonly #ends = new Set<() => void>();

  /** `end` is called when the console stops; the caller calls what is returned when the stream is over. */
  enter(end: () => void): () => void {
    if (this.#ends.size >= maxStreams) throw tooManyStreams();
    this.#ends.add(end);
    return () => this.#ends.delete(end);
  }

  endAll(): void {
    for (const end of this.#ends) end();
    this.#ends.clear();
  }
}
