/**
 * A body may arrive so slowly that it never ends: each byte resets the time-out, so the time-out alone would wait
 * for ever. Only the time spent waiting for the source counts, not the time its bytes wait for us.
 */
const leastBytesPerSecond = 1_024;
/** How long a source may be slower than that. */
const slowAfterMs = 30_000;

export class MinimumSpeed {
  readonly #windowMs: number;
  readonly #now: () => number;
  #waited = 0;
  #bytes = 0;
  #since: number;

  constructor(windowMs: number = slowAfterMs, now: () => number = () => performance.now()) {
    this.#windowMs = windowMs;
    this.#now = now;
    this.#since = now();
  }

  /** Bytes came. Throws when they came too slowly for too long. */
  arrived(bytes: number): void {
    this.#waited += this.#now() - this.#since;
    this.#bytes += bytes;
    if (this.#waited < this.#windowMs) return;
    if (this.#bytes < (leastBytesPerSecond * this.#waited) / 1_000) {
      throw new Error('the body comes too slowly');
    }
    this.#waited = 0;
    this.#bytes = 0;
  }

  /** The next bytes are waited for. */
  waiting(): void {
    this.#since = this.#now();
  }
}

/** The same body; throws where it comes too slowly. */
export async function* withMinimumSpeed(
  body: AsyncIterable<Buffer>,
  windowMs: number = slowAfterMs,
): AsyncGenerator<Buffer> {
  const speed = new MinimumSpeed(windowMs);
  for await (const piece of body) {
    speed.arrived(piece.length);
    yield piece;
    speed.waiting();
  }
}
