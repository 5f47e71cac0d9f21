/**
 * Cuts a stream of unknown length into chunks with at most 288 KiB held back: whether a 256 KiB chunk is
 * whole, or one of the last two halves, is known only when 32 KiB behind it were seen or the stream ended.
 */
import { CHUNK_BYTES, MIN_CHUNK_BYTES, nextChunkBytes, type Split } from './chunks.ts';

/** With this many bytes collected the next chunk is certainly a whole one. */
const DECIDED = CHUNK_BYTES + MIN_CHUNK_BYTES;

export class ChunkStream {
  readonly #style: Split['style'];
  readonly #emit: (chunk: Uint8Array) => void;
  #held: Buffer | undefined;
  #heldBytes = 0;

  /** `emit` gets each chunk in order, as a view that is valid only during the call. */
  constructor(style: Split['style'], emit: (chunk: Uint8Array) => void) {
    this.#style = style;
    this.#emit = emit;
  }

  update(bytes: Uint8Array): void {
    let at = 0;
    while (at < bytes.length) {
      if (this.#heldBytes === 0 && bytes.length - at >= DECIDED) {
        this.#emit(bytes.subarray(at, at + CHUNK_BYTES));
        at += CHUNK_BYTES;
        continue;
      }
      this.#held ??= Buffer.allocUnsafe(DECIDED);
      const taken = Math.min(DECIDED - this.#heldBytes, bytes.length - at);
      this.#held.set(bytes.subarray(at, at + taken), this.#heldBytes);
      this.#heldBytes += taken;
      at += taken;
      if (this.#heldBytes === DECIDED) at = this.#emitHeld(this.#held, bytes, at);
    }
  }

  /** Emits the last chunks. Nothing may follow. */
  finish(): void {
    const held = this.#held ?? Buffer.alloc(0);
    for (let at = 0; at < this.#heldBytes; ) {
      const size = nextChunkBytes(this.#heldBytes - at, this.#style);
      this.#emit(held.subarray(at, at + size));
      at += size;
    }
    this.#held = undefined;
    this.#heldBytes = 0;
  }

  /**
   * Emits the whole chunk in `held`. What is behind it stays held, unless it all came from `bytes`: then it is
   * taken back, so that large buffers are hashed where they are. Answers where to go on in `bytes`.
   */
  #emitHeld(held: Buffer, bytes: Uint8Array, at: number): number {
    this.#emit(held.subarray(0, CHUNK_BYTES));
    if (at >= MIN_CHUNK_BYTES && bytes.length - at >= CHUNK_BYTES) {
      this.#heldBytes = 0;
      return at - MIN_CHUNK_BYTES;
    }
    held.copyWithin(0, CHUNK_BYTES, DECIDED);
    this.#heldBytes = MIN_CHUNK_BYTES;
    return at;
  }
}
