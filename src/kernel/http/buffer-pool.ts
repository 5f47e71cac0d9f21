/** Buffers of one size, used again and again; a bounded number is kept when traffic falls. */
export class BufferPool {
  readonly size: number;
  readonly #keep: number;
  readonly #free: Buffer[] = [];

  constructor(size: number, keep: number) {
    this.size = size;
    this.#keep = keep;
  }

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.size);
  }

  give(buffer: Buffer): void {
    if (this.#free.length < this.#keep) this.#free.push(buffer);
  }
}
