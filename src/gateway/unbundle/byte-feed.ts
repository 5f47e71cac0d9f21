/** A stream of pieces read by length: exactly so many bytes, or piece by piece up to so many. */
export class ByteFeed {
  readonly #pieces: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);
  #position = 0;
  /** Sees every byte once, in order. */
  readonly #seen: ((piece: Buffer) => void) | undefined;

  constructor(stream: AsyncIterable<Buffer>, seen?: (piece: Buffer) => void) {
    this.#pieces = stream[Symbol.asyncIterator]();
    this.#seen = seen;
  }

  get position(): number {
    return this.#position;
  }

  /** The next bytes, at most `limit`; undefined at the end of the stream. */
  async some(limit: number): Promise<Buffer | undefined> {
    while (this.#rest.length === 0) {
      const next = await this.#pieces.next();
      if (next.done === true) return undefined;
      this.#rest = next.value;
      this.#seen?.(this.#rest);
    }
    const piece = this.#rest.subarray(0, limit);
    this.#rest = this.#rest.subarray(piece.length);
    this.#position += piece.length;
    return piece;
  }

  /** Fills the target; false when the stream ends before. */
  async fill(target: Uint8Array): Promise<boolean> {
    for (let at = 0; at < target.length; ) {
      const piece = await this.some(target.length - at);
      if (piece === undefined) return false;
      target.set(piece, at);
      at += piece.length;
    }
    return true;
  }

  /** Lets the source stop; safe after the end too. */
  async close(): Promise<void> {
    await this.#pieces.return?.();
  }
}
