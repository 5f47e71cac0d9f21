/**
 * Multiples of a point, so that the point times any scalar is a sum of table entries: the scalar is written in signed
 * digits of `bits` bits, and window j holds 1, 2 … 2^(bits−1) times 2^(bits·j)·P.
 */
import { elementBytes } from './field-program.ts';
import { doublings, order, type Point, type PointAdder, tableEntryBytes } from './points.ts';

/** Scalars are halved by taking the negative of the larger half. */
const scalarBits = 255;

export class WindowTable {
  readonly windows: number;
  readonly bits: number;
  readonly #adder: PointAdder;
  readonly #at: number;
  readonly #perWindow: number;

  /** `place` is memory for `tableBytes(bits)`, which the table fills. */
  constructor(adder: PointAdder, point: Point, bits: number, place: number) {
    this.#adder = adder;
    this.bits = bits;
    this.windows = windowsOf(bits);
    this.#perWindow = 2 ** (bits - 1);
    this.#at = place;
    this.#fill(point);
  }

  /** Notes the addition of `digit` times the window's point onto an accumulator. The digit is not 0. */
  add(accumulator: number, window: number, digit: number): void {
    const at = this.#entry(window, Math.abs(digit));
    this.#adder.push(accumulator, at, at + (digit < 0 ? 2 : 1) * elementBytes);
  }

  #entry(window: number, multiple: number): number {
    return this.#at + (window * this.#perWindow + multiple - 1) * tableEntryBytes;
  }

  /** Powers of two by doubling, everything between as the sum of a power of two and a smaller multiple. */
  #fill(point: Point): void {
    const { bits, windows } = this;
    const chain = doublings(point, bits * windows);
    for (let power = 0; power < bits; power++) {
      const multiple = 2 ** power;
      for (let window = 0; window < windows; window++) {
        this.#adder.writeTableEntry(this.#entry(window, multiple), chain[window * bits + power]!);
      }
      if (2 * multiple <= this.#perWindow) this.#sums(multiple);
    }
  }

  /** multiple + 1 … 2·multiple − 1 in every window, from a multiple and all below it that are there. */
  #sums(multiple: number): void {
    const adder = this.#adder;
    const { field } = adder;
    for (let window = 0; window < this.windows; window++) {
      const power = this.#entry(window, multiple);
      for (let smaller = 1; smaller < multiple; smaller++) {
        const from = this.#entry(window, smaller);
        const sum = this.#entry(window, multiple + smaller);
        field.copy(sum, from);
        field.copy(sum + elementBytes, from + elementBytes);
        adder.push(sum, power, power + elementBytes);
        if (adder.pending === adder.capacity) this.#round();
      }
    }
    this.#round();
    for (let window = 0; window < this.windows; window++) {
      for (let smaller = 1; smaller < multiple; smaller++) {
        const sum = this.#entry(window, multiple + smaller);
        field.program.subtract(sum + 2 * elementBytes, adder.zero, sum + elementBytes);
      }
    }
  }

  #round(): void {
    if (!this.#adder.round()) throw new Error('a table could not be made');
  }
}

export function windowsOf(bits: number): number {
  return Math.ceil((scalarBits + 1) / bits);
}

export function tableBytes(bits: number): number {
  return windowsOf(bits) * 2 ** (bits - 1) * tableEntryBytes;
}

/** Signed digits of a scalar modulo n, least first; each from −2^(bits−1) to 2^(bits−1). */
export function digitsOf(scalar: bigint, bits: number, digits: Int16Array): void {
  const negative = scalar > order / 2n;
  const bytes = scalarBytes;
  const hex = (negative ? order - scalar : scalar).toString(16).padStart(64, '0');
  bytes.fill(0);
  bytes.write(hex, 0, 'hex');
  bytes.subarray(0, 32).reverse();
  const half = 2 ** (bits - 1);
  let carry = 0;
  for (let window = 0; window < digits.length; window++) {
    const at = window * bits;
    const word = bytes.readUInt32LE(at >> 3);
    let digit = ((word >>> (at & 7)) & (2 * half - 1)) + carry;
    carry = digit > half ? 1 : 0;
    if (carry === 1) digit -= 2 * half;
    digits[window] = negative ? -digit : digit;
  }
}

/** Four bytes more than a scalar, so that the last window reads inside. */
const scalarBytes = Buffer.alloc(36);
