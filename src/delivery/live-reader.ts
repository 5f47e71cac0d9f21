/**
 * Pieces on their way to a reader while they are still being fetched. Whoever fetches gives every piece to every
 * reader, sees how far each lags, and waits for it or drops it: a dropped reader of a download reads the rest from the
 * cache afterwards, from its `position`.
 */
export class LiveReader {
  /** Bytes handed to the reader. */
  position = 0;
  lag = 0;
  #queue: Buffer[] = [];
  #ended = false;
  #error: unknown;
  #wake: (() => void) | undefined;
  #onCaughtUp: (() => void) | undefined;
  #goal = 0;

  give(piece: Buffer): void {
    this.#queue.push(piece);
    this.lag += piece.length;
    this.#wake?.();
  }

  /** Resolves when the reader lags no more than so many bytes, or is gone. */
  caughtUp(bytes: number): Promise<void> {
    this.#goal = bytes;
    return new Promise((resolve) => {
      this.#onCaughtUp = resolve;
    });
  }

  /** No more live pieces: what is queued is dropped too, the cache has it. */
  letGo(): void {
    this.#queue = [];
    this.lag = 0;
    this.end(undefined);
  }

  end(error: unknown): void {
    this.#ended = true;
    this.#error = error;
    this.#wake?.();
    this.#onCaughtUp?.();
  }

  /** The next piece; undefined at the end or when let go. */
  async take(): Promise<Buffer | undefined> {
    for (;;) {
      const piece = this.#queue.shift();
      if (piece !== undefined) {
        this.lag -= piece.length;
        this.position += piece.length;
        if (this.lag <= this.#goal) this.#onCaughtUp?.();
        return piece;
      }
      if (this.#error !== undefined) throw this.#error;
      if (this.#ended) return undefined;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
      this.#wake = undefined;
    }
  }
}
