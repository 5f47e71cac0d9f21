/** Randomness for tests that is the same in every run and on every machine (sfc32 over a seed). */
export interface SeededRandom {
  /** 32 random bits. */
  bits(): number;
  /** 0 ≤ n < 1. */
  fraction(): number;
  /** An integer 0 ≤ n < limit. */
  below(limit: number): number;
  /** An integer from `low` to `high`, both included. */
  between(low: number, high: number): number;
  bytes(length: number): Buffer;
  pick<T>(items: readonly T[]): T;
  /** A copy with a few bytes changed, cut or put in: close to valid, which finds more than noise. */
  mangle(bytes: Uint8Array): Buffer;
  /** The bytes in pieces of random size, some of them empty. */
  pieces(bytes: Buffer, largest: number): Buffer[];
}

export function seededRandom(seed: number): SeededRandom {
  let [a, b, c, counter] = [0x9e3779b9, 0x243f6a88, 0xb7e15162, seed | 0];
  /** sfc32: small, fast, and its cycles are far longer than any test. */
  const bits = () => {
    const result = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + result) | 0;
    return result >>> 0;
  };
  const fraction = () => bits() / 2 ** 32;
  const below = (limit: number) => Math.floor(fraction() * limit);
  /** `bits` for each byte, with its state in locals: tests ask for many mebibytes. */
  const bytes = (length: number) => {
    const out = Buffer.allocUnsafe(length);
    let [x, y, z, count] = [a | 0, b | 0, c | 0, counter | 0];
    for (let i = 0; i < length; i++) {
      const result = (((x + y) | 0) + count) | 0;
      count = (count + 1) | 0;
      x = y ^ (y >>> 9);
      y = (z + (z << 3)) | 0;
      z = (((z << 21) | (z >>> 11)) + result) | 0;
      out[i] = (result >>> 11) & 0xff;
    }
    [a, b, c, counter] = [x, y, z, count];
    return out;
  };
  for (let i = 0; i < 16; i++) bits();
  return {
    bits,
    fraction,
    below,
    between: (low, high) => low + below(high - low + 1),
    bytes,
    pick: (items) => items[below(items.length)]!,
    mangle(source) {
      let out = Buffer.from(source);
      for (let changes = 1 + below(3); changes > 0; changes--) {
        const at = below(out.length + 1);
        const kind = below(5);
        if (kind <= 1 && at < out.length) out[at] = bits() >>> 11;
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
