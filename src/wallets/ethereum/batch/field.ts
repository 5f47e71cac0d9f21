/** Numbers modulo p in the memory that `field-program.ts` works on. */
import { elementBytes, type FieldProgram, fieldProgram, limbs } from './field-program.ts';

/** What is used of it; the type packages that are installed describe it for browsers only. */
declare const WebAssembly: {
  readonly Memory: new (limits: { initial: number }) => WasmMemory;
  readonly Module: new (bytes: Uint8Array<ArrayBuffer>) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: object };
};

interface WasmMemory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

export const prime = 2n ** 256n - 2n ** 32n - 977n;

const pageBytes = 65_536;
const wordBits = 26n;
const wordMask = (1n << wordBits) - 1n;

export class Field {
  readonly program: FieldProgram;
  readonly #memory: WasmMemory;
  #words: Uint32Array;
  #used = 0;
  readonly #chain: number;

  constructor() {
    this.#memory = new WebAssembly.Memory({ initial: 1 });
    const instance = new WebAssembly.Instance(new WebAssembly.Module(fieldProgram()), {
      env: { memory: this.#memory },
    });
    if (!isProgram(instance.exports)) throw new Error('the field program is incomplete');
    this.program = instance.exports;
    this.#words = new Uint32Array(this.#memory.buffer);
    this.#chain = this.reserve(chainElements * elementBytes);
  }

  /** Memory as 32-bit words; asked for again after `reserve`, which may move it. */
  get words(): Uint32Array {
    return this.#words;
  }

  /** A piece of memory that is never given back, all zero. */
  reserve(bytes: number): number {
    const at = this.#used;
    this.#used += Math.ceil(bytes / 8) * 8;
    const missing = this.#used - this.#memory.buffer.byteLength;
    if (missing > 0) {
      this.#memory.grow(Math.ceil(missing / pageBytes));
      this.#words = new Uint32Array(this.#memory.buffer);
    }
    return at;
  }

  write(at: number, value: bigint): void {
    let rest = value;
    for (let i = 0; i < limbs; i++) {
      this.#words[at / 4 + i] = Number(rest & wordMask);
      rest >>= wordBits;
    }
  }

  /** The one form, 0 ≤ value < p. */
  read(at: number): bigint {
    let value = 0n;
    for (let i = limbs - 1; i >= 0; i--) value = (value << wordBits) + BigInt(this.#words[at / 4 + i]!);
    return value % prime;
  }

  copy(to: number, from: number): void {
    this.#words.copyWithin(to / 4, from / 4, from / 4 + limbs);
  }

  /**
   * dst = 1/src = src^(p−2), by the ones of p−2: 223 of them, a zero, 22, four zeros, 1, a zero, 11, a zero, 1. What
   * has no inverse becomes 0.
   */
  invert(dst: number, src: number): void {
    const { multiply } = this.program;
    const at = (index: number) => this.#chain + index * elementBytes;
    const [x2, x3, x22, x44, x88, t] = [at(0), at(1), at(2), at(3), at(4), at(5)];
    /** to = from^(2^times) · factor */
    const step = (to: number, from: number, times: number, factor: number) => {
      multiply(t, from, from);
      for (let i = 1; i < times; i++) multiply(t, t, t);
      multiply(to, t, factor);
    };
    step(x2, src, 1, src);
    step(x3, x2, 1, src);
    step(x22, x3, 3, x3); // 6 ones
    step(x22, x22, 3, x3); // 9
    step(x22, x22, 2, x2); // 11
    step(x22, x22, 11, x22);
    step(x44, x22, 22, x22);
    step(x88, x44, 44, x44);
    step(x88, x88, 88, x88); // 176
    step(x88, x88, 44, x44); // 220
    step(x88, x88, 3, x3); // 223
    step(x88, x88, 23, x22);
    step(x88, x88, 5, src);
    step(x88, x88, 3, x2);
    step(dst, x88, 2, src);
  }
}

const chainElements = 6;

function isProgram(exports: object): exports is FieldProgram {
  return ['multiply', 'subtract', 'forward', 'backward'].every(
    (name) => typeof Reflect.get(exports, name) === 'function',
  );
}
