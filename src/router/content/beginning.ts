/**
 * The first bytes of a download, for readers that come a little late. All downloads together keep only so much:
 * beyond, those who come late wait for the whole and read it from the cache.
 */

/** Bytes that all downloads together keep of their beginnings. */
export const beginningsLimit = 128 * 1024 * 1024;
let kept = 0;

export class Beginning {
  /** Everything so far; undefined once that is too much to keep. */
  pieces: readonly Buffer[] | undefined;
  /** What of it counts against the limit for all. */
  bytes = 0;
  readonly #pieces: Buffer[] = [];
  readonly #maxBytes: number;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.pieces = this.#pieces;
  }

  /** Another piece; `elsewhere` says whether it can be had from the cache as well. */
  add(piece: Buffer, elsewhere: boolean): void {
    if (this.pieces === undefined) return;
    this.#pieces.push(piece);
    this.bytes += piece.length;
    kept += piece.length;
    if (this.bytes > this.#maxBytes || (elsewhere && kept > beginningsLimit)) this.drop();
  }

  drop(): void {
    this.pieces = undefined;
    this.#pieces.length = 0;
    this.release();
  }

  /** It is all there is, and kept for whoever has it in hand: no more beginning. */
  release(): void {
    kept -= this.bytes;
    this.bytes = 0;
  }
}
