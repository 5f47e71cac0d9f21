/**
 * Arithmetic modulo p = 2^256 − 2^32 − 977 and the inner loops of adding many points at once, as WebAssembly.
 *
 * A number is ten words of 26 bits, the last of 22, in memory (40 bytes). Results may be off by a few bits in their
 * last carries ("loose"): they are right modulo p, and every word stays below 2^27, so that the ten products of a
 * column fit 64 bits. `field.ts` brings them to their one form.
 */
import { type Code, encodeModule, op, type WasmFunction } from './wasm-module.ts';

export const limbs = 10;
export const elementBytes = 4 * limbs;

const mask = 0x3ffffff;
const topMask = 0x3fffff;
/** 2^260 = 16·2^256 ≡ 2^36 + 15632: what a word ten places up adds to this one and to the next. */
const fold0 = 15_632;
const fold1 = 1 << 10;

const [dst, a, b] = [0, 1, 2];

/** dst = a · b. */
const multiply: WasmFunction = {
  name: 'multiply',
  parameters: 3,
  locals32: 0,
  locals64: 2 * limbs + 2 * limbs,
  body: multiplyBody(),
};

function multiplyBody(): Code {
  const left = (i: number) => 3 + i;
  const right = (i: number) => 3 + limbs + i;
  const column = (k: number) => 3 + 2 * limbs + k;
  const code: Code[] = [];
  for (let i = 0; i < limbs; i++) {
    code.push(op.get(a), op.load64(4 * i), op.set(left(i)));
    code.push(op.get(b), op.load64(4 * i), op.set(right(i)));
  }
  for (let k = 0; k <= 2 * (limbs - 1); k++) {
    let first = true;
    for (let i = Math.max(0, k - limbs + 1); i <= Math.min(k, limbs - 1); i++) {
      code.push(op.get(left(i)), op.get(right(k - i)), op.mul);
      if (!first) code.push(op.add);
      first = false;
    }
    code.push(op.set(column(k)));
  }
  // The upper half in words of 26 bits, with one more at its end.
  for (let k = limbs; k < 2 * limbs - 2; k++) code.push(carry(column(k), column(k + 1), 26, mask));
  code.push(op.get(column(2 * limbs - 2)), op.const64(26), op.shr, op.set(column(2 * limbs - 1)));
  code.push(keep(column(2 * limbs - 2), mask));
  // Folded onto the lower half; what leaves its end is worth 2^260 again.
  for (let k = 0; k < limbs; k++) {
    code.push(
      op.get(column(k)),
      op.get(column(k + limbs)),
      op.const64(fold0),
      op.mul,
      op.add,
      op.set(column(k)),
    );
    const next = k === limbs - 1 ? column(limbs) : column(k + 1);
    const before: Code = k === limbs - 1 ? op.const64(0) : op.get(next);
    code.push(before, op.get(column(k + limbs)), op.const64(fold1), op.mul, op.add, op.set(next));
  }
  code.push(...reduceAndStore((k) => column(k), column(limbs)));
  return code;
}

/** dst = a − b, with 4p added so that no word is negative. */
const subtract: WasmFunction = {
  name: 'subtract',
  parameters: 3,
  locals32: 0,
  locals64: limbs + 1,
  body: subtractBody(),
};

function subtractBody(): Code {
  const word = (i: number) => 3 + i;
  const code: Code[] = [];
  const prime = [0x3fffc2f, 0x3ffffbf, ...Array(7).fill(mask), topMask];
  for (let i = 0; i < limbs; i++) {
    code.push(op.get(a), op.load64(4 * i), op.get(b), op.load64(4 * i), op.sub);
    code.push(op.const64(4 * (prime[i] ?? 0)), op.add, op.set(word(i)));
  }
  code.push(op.const64(0), op.set(word(limbs)));
  code.push(...reduceAndStore((i) => word(i), word(limbs)));
  return code;
}

/** Moves what is above `bits` of a word to the next. */
function carry(from: number, to: number, bits: number, keepMask: number): Code {
  return [op.get(to), op.get(from), op.const64(bits), op.shr, op.add, op.set(to), keep(from, keepMask)];
}

function keep(local: number, keepMask: number): Code {
  return [op.get(local), op.const64(keepMask), op.and, op.set(local)];
}

/**
 * Carries through ten words, folds what is above 2^256 (and `over`, worth 2^260) back as 2^32 + 977, carries once
 * more, and stores at dst.
 */
function reduceAndStore(word: (i: number) => number, over: number): Code[] {
  const code: Code[] = [];
  for (let i = 0; i < limbs - 1; i++) code.push(carry(word(i), word(i + 1), 26, mask));
  const top = word(limbs - 1);
  code.push(op.get(over), op.const64(4), op.shl, op.get(top), op.const64(22), op.shr, op.add, op.set(over));
  code.push(keep(top, topMask));
  code.push(op.get(word(0)), op.get(over), op.const64(977), op.mul, op.add, op.set(word(0)));
  code.push(op.get(word(1)), op.get(over), op.const64(6), op.shl, op.add, op.set(word(1)));
  for (let i = 0; i < limbs - 1; i++) code.push(carry(word(i), word(i + 1), 26, mask));
  for (let i = 0; i < limbs; i++) code.push(op.get(dst), op.get(word(i)), op.store64(4 * i));
  return code;
}

const [multiplyIndex, subtractIndex] = [0, 1];
const call = (index: number, ...operands: Code[]): Code => [...operands, op.call(index)];
/** A pointer held in memory: word `offset` of the entry that `local` points to. */
const field = (local: number, offset: number): Code => [op.get(local), op.load32(offset)];
const plus = (local: number, offset: number): Code => [op.get(local), op.const32(offset), op.add32];

/** An addition to be done: pointers to the accumulator (x, y), the point's x and its y; then room for two numbers. */
export const entryBytes = 12 + 4 + 2 * elementBytes;
const [accumulator, pointX, pointY, difference, product] = [0, 4, 8, 16, 16 + elementBytes];

/**
 * forward(entry, count, before): difference = point.x − acc.x of each entry, product = product of all differences
 * up to it; `before` points to the number to begin with.
 */
const forward: WasmFunction = {
  name: 'forward',
  parameters: 3,
  locals32: 0,
  locals64: 0,
  body: op.loop([
    call(subtractIndex, plus(0, difference), field(0, pointX), field(0, accumulator)),
    call(multiplyIndex, plus(0, product), op.get(2), plus(0, difference)),
    plus(0, product),
    op.set(2),
    plus(0, entryBytes),
    op.set(0),
    op.get(1),
    op.const32(1),
    op.sub32,
    op.tee(1),
  ]),
};

/**
 * backward(entry, count, inverse, scratch): from the last entry to the first. `inverse` is the inverse of the last
 * product and is changed on the way; the product before the first entry lies just before it as of an entry.
 */
const backward: WasmFunction = {
  name: 'backward',
  parameters: 4,
  locals32: 0,
  locals64: 0,
  body: op.loop([
    // slope = (point.y − acc.y) · 1/difference
    call(multiplyIndex, plus(3, 0), op.get(2), plus(0, product - entryBytes)),
    call(multiplyIndex, op.get(2), op.get(2), plus(0, difference)),
    call(subtractIndex, plus(3, elementBytes), field(0, pointY), [
      ...field(0, accumulator),
      op.const32(elementBytes),
      op.add32,
    ]),
    call(multiplyIndex, plus(3, 0), plus(3, 0), plus(3, elementBytes)),
    // x3 = slope² − acc.x − point.x
    call(multiplyIndex, plus(3, elementBytes), plus(3, 0), plus(3, 0)),
    call(subtractIndex, plus(3, elementBytes), plus(3, elementBytes), field(0, accumulator)),
    call(subtractIndex, plus(3, elementBytes), plus(3, elementBytes), field(0, pointX)),
    // y3 = slope · (acc.x − x3) − acc.y
    call(subtractIndex, plus(3, 2 * elementBytes), field(0, accumulator), plus(3, elementBytes)),
    call(multiplyIndex, plus(3, 0), plus(3, 0), plus(3, 2 * elementBytes)),
    call(subtractIndex, [...field(0, accumulator), op.const32(elementBytes), op.add32], plus(3, 0), [
      ...field(0, accumulator),
      op.const32(elementBytes),
      op.add32,
    ]),
    // acc.x = x3, as x3 − 0
    call(subtractIndex, field(0, accumulator), plus(3, elementBytes), plus(3, 3 * elementBytes)),
    op.get(0),
    op.const32(entryBytes),
    op.sub32,
    op.set(0),
    op.get(1),
    op.const32(1),
    op.sub32,
    op.tee(1),
  ]),
};

/** Numbers of scratch that `backward` needs; the last must be zero. */
export const scratchElements = 4;

export interface FieldProgram {
  multiply(dst: number, a: number, b: number): void;
  subtract(dst: number, a: number, b: number): void;
  forward(entry: number, count: number, before: number): void;
  backward(entry: number, count: number, inverse: number, scratch: number): void;
}

export const fieldProgram = () => encodeModule([multiply, subtract, forward, backward]);
