/** Seeded randomness for tests: the same seed gives the same cases on every machine. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** 32 random bits (mulberry32). */
  bits(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }

  /** An integer from 0 to `limit` - 1. */
  below(limit: number): number {
    return Math.floor((this.bits() / 2 ** 32) * limit);
  }

  /** An integer from `low` to `high`, both included. */
  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  bytes(length: number): Buffer {
    const bytes = Buffer.allocUnsafe(length);
    for (let index = 0; index < length; index += 1) bytes[index] = this.bits() & 0xff;
    return bytes;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }

  /** `bytes` with a few of them changed, removed or doubled: close to valid, which finds more than noise. */
  damage(bytes: Uint8Array): Buffer {
    const damaged = Buffer.from(bytes);
    const kind = this.below(4);
    const at = this.below(damaged.length + 1);
    if (kind === 0) return damaged.subarray(0, at);
    if (kind === 1)
      return Buffer.concat([damaged.subarray(0, at), this.bytes(this.between(1, 64)), damaged.subarray(at)]);
    for (let count = this.between(1, 4); count > 0 && damaged.length > 0; count -= 1) {
      damaged[this.below(damaged.length)] =
        kind === 2 ? this.bits() & 0xff : this.pick([0, 1, 0x7f, 0x80, 0xff]);
    }
    return damaged;
  }
}
