/** Makes inputs from inputs: bits, numbers, blocks, words of the program, pieces of other inputs. All from one seed. */
import type { SeededRandom } from '../support/seeded-random.ts';
import type { Word } from './coverage.ts';

const interestingBytes = [0, 1, 0x7f, 0x80, 0xff, 0x20, 0x0a, 0x22, 0x2c, 0x30, 0x5b, 0x7b, 0x5c, 0x25];
const interestingNumbers = [
  0n,
  1n,
  0x7fn,
  0x80n,
  0xffn,
  0x100n,
  0x7fffn,
  0x8000n,
  0xffffn,
  0x10000n,
  0x7fffffffn,
  0x80000000n,
  0xffffffffn,
  0x100000000n,
  (1n << 53n) - 1n,
  1n << 53n,
  (1n << 63n) - 1n,
  1n << 63n,
  (1n << 64n) - 1n,
];
/** What breaks readers of text. */
const oddTexts = [
  '-1',
  '-0',
  '1e400',
  '1e-7',
  '9007199254740993',
  '18446744073709551616',
  '0x10',
  'NaN',
  'null',
  'true',
  '[]',
  '{}',
  '""',
  '__proto__',
  'constructor',
  'toString',
  'length',
  '\u0000',
  '\ufeff',
  '\u2028',
  '\ud7ff',
  'é',
  '😀',
  'İ',
  '%00',
  '%2F',
  '%2e%2e',
  '%',
  '../',
  '\\',
  '\r\n',
  ',',
  ';',
  '=',
  ':',
  '*',
];
const mostWords = 4_000;

export class Mutator {
  readonly #random: SeededRandom;
  readonly #longest: number;
  readonly #words: Buffer[] = oddTexts.map((text) => Buffer.from(text));
  readonly #known = new Set<string>(oddTexts);

  constructor(random: SeededRandom, longest: number) {
    this.#random = random;
    this.#longest = longest;
  }

  learn(words: readonly Word[]): void {
    for (const word of words) {
      for (const bytes of formsOf(word)) {
        const key = bytes.toString('latin1');
        if (bytes.length === 0 || this.#known.has(key) || this.#words.length >= mostWords) continue;
        this.#known.add(key);
        this.#words.push(bytes);
      }
    }
  }

  /** One to sixteen changes, mostly few. */
  mutated(input: Buffer, other: () => Buffer): Buffer {
    const random = this.#random;
    let out: Buffer = Buffer.from(input);
    for (let changes = 1 << random.below(5); changes > 0; changes -= 1) out = this.#change(out, other);
    return out.length > this.#longest ? out.subarray(0, this.#longest) : out;
  }

  #change(bytes: Buffer, other: () => Buffer): Buffer {
    const random = this.#random;
    const at = random.below(bytes.length + 1);
    const inside = Math.min(at, bytes.length - 1);
    if (bytes.length === 0)
      return random.below(2) === 0 ? Buffer.from(random.pick(this.#words)) : random.bytes(4);
    switch (random.below(15)) {
      case 0:
        bytes[inside]! ^= 1 << random.below(8);
        return bytes;
      case 1:
        bytes[inside] = random.pick(interestingBytes);
        return bytes;
      case 2:
        bytes[inside] = random.below(256);
        return bytes;
      case 3:
        bytes[inside] = bytes[inside]! + random.between(-16, 16);
        return bytes;
      case 4:
        return putNumber(bytes, at, random.pick(interestingNumbers), random);
      case 5:
        return addToNumber(bytes, at, random);
      case 6: {
        const end = Math.min(bytes.length, at + this.#size(bytes.length));
        return Buffer.concat([bytes.subarray(0, at), bytes.subarray(end)]);
      }
      case 7: {
        const from = random.below(bytes.length);
        const block = bytes.subarray(from, from + this.#size(bytes.length - from));
        return Buffer.concat([bytes.subarray(0, at), block, bytes.subarray(at)]);
      }
      case 8: {
        const from = random.below(bytes.length);
        bytes.copyWithin(at, from, from + this.#size(bytes.length - from));
        return bytes;
      }
      case 9: {
        const piece = other();
        const from = random.below(piece.length + 1);
        return Buffer.concat([bytes.subarray(0, at), piece.subarray(from)]);
      }
      case 10: {
        const piece = other();
        const from = random.below(piece.length + 1);
        const block = piece.subarray(from, from + this.#size(piece.length - from));
        return Buffer.concat([bytes.subarray(0, at), block, bytes.subarray(at)]);
      }
      case 11: {
        const word = random.pick(this.#words);
        return Buffer.concat([bytes.subarray(0, at), word, bytes.subarray(at)]);
      }
      case 12: {
        const word = random.pick(this.#words);
        return Buffer.concat([bytes.subarray(0, at), word, bytes.subarray(at + word.length)]);
      }
      case 13:
        return changeDigits(bytes, at, random);
      default:
        return Buffer.concat([
          bytes.subarray(0, at),
          random.below(4) === 0
            ? Buffer.alloc(this.#size(256), bytes[inside])
            : random.bytes(1 + random.below(8)),
          bytes.subarray(at),
        ]);
    }
  }

  /** Mostly small. */
  #size(limit: number): number {
    const most = Math.max(1, Math.min(limit, 1 << this.#random.below(10)));
    return 1 + this.#random.below(most);
  }
}

/** A word as text, and a number in the ways that formats write one. */
export function formsOf(word: Word): Buffer[] {
  if (typeof word === 'string') return [Buffer.from(word)];
  const text = Buffer.from(String(word));
  if (typeof word === 'number' && !Number.isSafeInteger(word)) return [text];
  const value = BigInt.asUintN(64, BigInt(word));
  const widths = [1, 2, 4, 8].filter((width) => value < 1n << BigInt(8 * width));
  return [
    text,
    ...widths.flatMap((width) => [littleEndian(value, width), littleEndian(value, width).reverse()]),
  ];
}

function littleEndian(value: bigint, width: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return Buffer.from(bytes.subarray(0, width));
}

function putNumber(bytes: Buffer, at: number, value: bigint, random: SeededRandom): Buffer {
  const width = Math.min(bytes.length, 1 << random.below(4));
  const number = littleEndian(value, width);
  if (random.below(2) === 0) number.reverse();
  number.copy(bytes, Math.min(at, bytes.length - width));
  return bytes;
}

function addToNumber(bytes: Buffer, at: number, random: SeededRandom): Buffer {
  const width = 1 << random.between(1, 3);
  if (bytes.length < width) return bytes;
  const place = Math.min(at, bytes.length - width);
  const isLittle = random.below(2) === 0;
  const slice = Buffer.alloc(8);
  bytes.copy(slice, 0, place, place + width);
  if (!isLittle) slice.subarray(0, width).reverse();
  slice.writeBigUInt64LE(BigInt.asUintN(64, slice.readBigUInt64LE() + BigInt(random.between(-35, 35))));
  if (!isLittle) slice.subarray(0, width).reverse();
  slice.copy(bytes, place, 0, width);
  return bytes;
}

/** The decimal number nearest after a place becomes another one. */
function changeDigits(bytes: Buffer, at: number, random: SeededRandom): Buffer {
  const found = /[0-9]{1,20}/.exec(bytes.toString('latin1', at));
  if (found === null) return bytes;
  const value = BigInt(found[0]);
  const changed = random.pick([
    value + 1n,
    value - 1n,
    value * 2n,
    -value,
    random.pick(interestingNumbers),
    BigInt(random.below(1_000)),
  ]);
  const from = at + found.index;
  return Buffer.concat([
    bytes.subarray(0, from),
    Buffer.from(String(changed)),
    bytes.subarray(from + found[0].length),
  ]);
}
