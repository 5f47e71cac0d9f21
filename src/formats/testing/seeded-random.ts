/** Randomness for tests that is the same in every run (xorshift128+ over a seed). */
export interface SeededRandom {
  /** An integer 0 ≤ n < limit. */
  below(limit: number): number;
  bytes(length: number): Buffer;
  pick<T>(items: readonly T[]): T;
  /** A copy with a few bytes changed, cut, repeated or appended. */
  mangle(bytes: Uint8Array): Buffer;
  /** The bytes in pieces of random size, some of them empty. */
  pieces(bytes: Buffer, largest: number): Buffer[];
}

export function seededRandom(seed: number): SeededRandom {
  let a = (seed ^ 0x9e3779b9) >>> 0 || 1;
  let b = (seed * 0x85ebca6b + 1) >>> 0 || 1;
  const next = () => {
    let t = a;
    a = b;
    t ^= t << 23;
    t ^= t >>> 17;
    t ^= b ^ (b >>> 26);
    b = t >>> 0;
    return (a + b) >>> 0;
  };
  const below = (limit: number) => Math.floor((next() / 2 ** 32) * limit);
  const bytes = (length: number) => {
    const out = Buffer.allocUnsafe(length);
    for (let i = 0; i < length; i++) out[i] = next() >>> 11;
    return out;
  };
  for (let i = 0; i < 16; i++) next();
  return {
    below,
    bytes,
    pick: (items) => items[below(items.length)]!,
    mangle(source) {
      let out = Buffer.from(source);
      for (let changes = 1 + below(3); changes > 0; changes--) {
        const at = below(out.length + 1);
        const kind = below(5);
        if (kind <= 1 && at < out.length) out[at] = next() >>> 11;
        else if (kind === 2) out = out.subarray(0, at);
        else if (kind === 3)
          out = Buffer.concat([out.subarray(0, at), bytes(1 + below(4)), out.subarray(at)]);
        else if (at < out.length) out[at]! ^= 1 << below(8);
      }
      return out;
    },
    pieces(source, largest) {
      const out: Buffer[] = [];
      for (let at = 0; at < source.length; ) {
        const size = below(largest + 1);
        out.push(source.subarray(at, at + size));
        at += size;
      }
      return out;
    },
  };
}
