/**
 * Many additions of curve points at once, in affine form. A single addition needs an inversion, which costs as much as
 * 270 multiplications; of many, one inversion gives all (Montgomery's trick), and an addition is six multiplications.
 *
 * Adding a point to itself or to its negative has no slope: then nothing is added and the caller is told. It does not
 * happen to points that are independent of each other.
 */
import { Field, prime } from './field.ts';
import { elementBytes, entryBytes, scratchElements } from './field-program.ts';

export const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

export interface Point {
  readonly x: bigint;
  readonly y: bigint;
}

/** x, y and −y, as tables keep a point. */
export const tableEntryBytes = 3 * elementBytes;
/** x and y, as an accumulator keeps it. */
export const accumulatorBytes = 2 * elementBytes;

export class PointAdder {
  readonly field: Field = new Field();
  readonly capacity: number;
  /** The number 0. */
  readonly zero: number;
  readonly #entries: number;
  readonly #one: number;
  readonly #inverse: number;
  readonly #scratch: number;
  #count = 0;

  /** `capacity` is how many additions one round may have. */
  constructor(capacity: number) {
    this.capacity = capacity;
    // An entry of its own before the first, whose product is the number 1.
    const first = this.field.reserve((capacity + 1) * entryBytes);
    this.#entries = first + entryBytes;
    this.#one = this.#entries - elementBytes;
    this.zero = this.field.reserve(elementBytes);
    this.#inverse = this.field.reserve(elementBytes);
    this.#scratch = this.field.reserve(scratchElements * elementBytes);
    this.field.write(this.#one, 1n);
  }

  /** Notes an addition for the round: the point at `x`, `y` onto the accumulator. */
  push(accumulator: number, x: number, y: number): void {
    const at = (this.#entries + this.#count++ * entryBytes) / 4;
    const { words } = this.field;
    words[at] = accumulator;
    words[at + 1] = x;
    words[at + 2] = y;
  }

  /** Additions that were noted and not done yet. */
  get pending(): number {
    return this.#count;
  }

  /** Does the additions that were noted; false when one of them has no slope: then none was done. */
  round(): boolean {
    const count = this.#count;
    this.#count = 0;
    if (count === 0) return true;
    const { program } = this.field;
    program.forward(this.#entries, count, this.#one);
    const last = this.#entries + (count - 1) * entryBytes;
    this.field.invert(this.#inverse, last + entryBytes - elementBytes);
    if (this.field.read(this.#inverse) === 0n) return false;
    program.backward(last, count, this.#inverse, this.#scratch);
    return true;
  }

  writePoint(at: number, { x, y }: Point): void {
    this.field.write(at, x);
    this.field.write(at + elementBytes, y);
  }

  readPoint(at: number): Point {
    return { x: this.field.read(at), y: this.field.read(at + elementBytes) };
  }

  writeTableEntry(at: number, point: Point): void {
    this.writePoint(at, point);
    this.field.write(at + 2 * elementBytes, prime - point.y);
  }
}

const modulo = (value: bigint): bigint => {
  const rest = value % prime;
  return rest < 0n ? rest + prime : rest;
};

/** P, 2P, 4P … 2^(count−1)·P, in affine form. */
export function doublings(point: Point, count: number): Point[] {
  // Jacobian coordinates: no inversion until the end, and then one for all.
  const chain: { x: bigint; y: bigint; z: bigint }[] = [{ ...point, z: 1n }];
  for (let i = 1; i < count; i++) {
    const { x, y, z } = chain[i - 1]!;
    const a = modulo(x * x);
    const b = modulo(y * y);
    const d = modulo(4n * x * b);
    const e = 3n * a;
    const x2 = modulo(e * e - 2n * d);
    chain.push({ x: x2, y: modulo(e * (d - x2) - 8n * b * b), z: modulo(2n * y * z) });
  }
  const inverses = invertAll(
    chain.map(({ z }) => z),
    prime,
  );
  return chain.map(({ x, y }, i) => {
    const inverse = inverses[i]!;
    const square = modulo(inverse * inverse);
    return { x: modulo(x * square), y: modulo(y * modulo(square * inverse)) };
  });
}

/** The inverses of numbers that are none of them 0, for the price of one. */
export function invertAll(values: readonly bigint[], modulus: bigint): bigint[] {
  const products: bigint[] = [];
  let product = 1n;
  for (const value of values) {
    products.push(product);
    product = (product * value) % modulus;
  }
  let inverse = invert(product, modulus);
  const inverses: bigint[] = new Array(values.length);
  for (let i = values.length - 1; i >= 0; i--) {
    inverses[i] = (inverse * products[i]!) % modulus;
    inverse = (inverse * values[i]!) % modulus;
  }
  return inverses;
}

function invert(value: bigint, modulus: bigint): bigint {
  let [a, b, x, y] = [value % modulus, modulus, 1n, 0n];
  while (a > 1n) {
    const quotient = b / a;
    [a, b] = [b - quotient * a, a];
    [x, y] = [y - quotient * x, x];
  }
  return ((x % modulus) + modulus) % modulus;
}
