/** Buffers of one size, used again and again; a bounded number is kept when traffic falls. */
export class BufferPool {
  readonly size: number;
  readonly #keep: number;
  readonly #free: Buffer[] = [];
  #lent = 0;

  constructor(size: number, keep: number) {
    this.size = size;
    this.#keep = keep;
  }

  /** Bytes of the buffers that are in use. */
  get lentBytes(): number {
    return this.#lent * this.size;
  }

  take(): Buffer {
    this.#lent += 1;
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.size);
  }

  give(buffer: Buffer): void {
    this.#lent -= 1;
    if (this.#free.length < this.#keep) this.#free.push(buffer);
  }
}
