/** Hashing of large streams beside the event loop: a thread hashes one stream at a time. */
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { endOfData, leave, makeMemory, type Ring, ringOf, slotBytes, slotCount, startAgain } from './ring.ts';

const program = new URL(`./thread${extname(import.meta.filename)}`, import.meta.url);

const digestBytes = { sha256: 32, sha384: 48 };

export type HashAlgorithm = keyof typeof digestBytes;

export class HashThread {
  readonly #digestBytes: number;
  readonly #ring: Ring;
  readonly #worker: Worker;
  /** Bytes in the slot that is being filled. */
  #partial = 0;
  #filled = 0;
  /** Whether bytes were pushed since the last digest. */
  #hasBytes = false;
  #alive = true;

  constructor(algorithm: HashAlgorithm, died: (thread: HashThread) => void) {
    this.#digestBytes = digestBytes[algorithm];
    const memory = makeMemory();
    this.#ring = ringOf(memory);
    this.#worker = new Worker(program, { workerData: { memory, algorithm } });
    this.#worker.unref();
    this.#worker.once('exit', () => {
      this.#alive = false;
      died(this);
      // What waits for it must not wait for ever.
      Atomics.notify(this.#ring.hashed, 0);
      Atomics.notify(this.#ring.digests, 0);
    });
    this.#worker.on('error', () => {});
  }

  /** While it is held, what waits for it keeps the process alive. */
  hold(held: boolean): void {
    if (held) this.#worker.ref();
    else this.#worker.unref();
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** Takes the next bytes; await it to hold back-pressure. */
  async update(bytes: Uint8Array): Promise<void> {
    this.#hasBytes = true;
    for (let at = 0; at < bytes.length; ) {
      await this.#room();
      const slot = (this.#filled % slotCount) * slotBytes;
      const taken = Math.min(bytes.length - at, slotBytes - this.#partial);
      this.#ring.slots.set(bytes.subarray(at, at + taken), slot + this.#partial);
      this.#partial += taken;
      at += taken;
      if (this.#partial === slotBytes) this.#hand(slotBytes);
    }
  }

  /** Of everything that was pushed. */
  async digest(): Promise<Buffer> {
    await this.#room();
    if (this.#partial > 0) this.#hand(this.#partial);
    await this.#room();
    const before = Atomics.load(this.#ring.digests, 0);
    this.#hand(endOfData);
    await this.#waitWhile(this.#ring.digests, before);
    this.#hasBytes = false;
    return Buffer.from(this.#ring.digest.subarray(0, this.#digestBytes));
  }

  /** Forgets what was pushed, whatever state it is in. */
  async reset(): Promise<void> {
    this.#partial = 0;
    if (!this.#hasBytes) return;
    this.#hasBytes = false;
    await this.#room();
    this.#hand(startAgain);
  }

  async end(): Promise<void> {
    if (!this.#alive) return;
    this.#hand(leave);
    await this.#worker.terminate();
  }

  #hand(length: number): void {
    Atomics.store(this.#ring.lengths, this.#filled % slotCount, length);
    this.#filled++;
    this.#partial = 0;
    Atomics.store(this.#ring.filled, 0, this.#filled);
    Atomics.notify(this.#ring.filled, 0);
  }

  /** Resolves when a slot is free. */
  async #room(): Promise<void> {
    for (;;) {
      if (!this.#alive) throw new Error('the hashing thread died');
      const hashed = Atomics.load(this.#ring.hashed, 0);
      if (this.#filled - hashed < slotCount) return;
      await this.#waitWhile(this.#ring.hashed, hashed);
    }
  }

  async #waitWhile(counter: Int32Array<SharedArrayBuffer>, value: number): Promise<void> {
    while (Atomics.load(counter, 0) === value) {
      if (!this.#alive) throw new Error('the hashing thread died');
      const waiting = Atomics.waitAsync(counter, 0, value, 5_000);
      if (waiting.async) await waiting.value;
    }
  }
}
