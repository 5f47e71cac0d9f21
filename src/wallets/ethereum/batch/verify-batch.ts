/**
 * Verifies many ECDSA signatures of one public key, recovery bit and all, several times as fast as one after the other.
 *
 * R = u1·G + u2·Q with u1 = z/s and u2 = r/s. Both points are known beforehand, so both products are sums of entries
 * of tables, and the sums of all signatures are made side by side with affine additions that share their inversions.
 * A signature is good when R.x is r and the parity of R.y is the recovery bit: the same as recovering the key and
 * comparing it, r at or above n excluded.
 *
 * Every sum begins at a point that nobody can know, drawn when the program starts, so that no signature can be made
 * to meet an addition that has no slope.
 */
import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { publicKeyOf } from '../secp256k1.ts';
import { prime } from './field.ts';
import { accumulatorBytes, invertAll, order, type Point, PointAdder } from './points.ts';
import { digitsOf, tableBytes, WindowTable, windowsOf } from './window-table.ts';

export interface RecoverableEcdsa {
  /** 32 bytes. */
  readonly digest: Uint8Array;
  /** r ‖ s ‖ recovery bit (0 or 1), 65 bytes. */
  readonly signature: Uint8Array;
}

/** From so many signatures of one key on its table pays. */
export const worthATable = 24;

const roundSize = 256;
const generatorBits = 11;
const keyBits = 8;
const keptKeys = 16;
const generator: Point = {
  x: 0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798n,
  y: 0x483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8n,
};

/**
 * 1 for each signature that the key made, 0 for the others; undefined when it must be found out one by one. The key
 * is uncompressed (`04 ‖ X ‖ Y`) and a point of the curve.
 */
export function verifyBatch(
  publicKey: Uint8Array,
  signatures: readonly RecoverableEcdsa[],
): Uint8Array | undefined {
  curve ??= openCurve();
  if (curve === 'unavailable') return undefined;
  const verdicts = new Uint8Array(signatures.length);
  for (let from = 0; from < signatures.length; from += roundSize) {
    const part = curve.verify(publicKey, signatures.slice(from, from + roundSize));
    if (part === undefined) return undefined;
    verdicts.set(part, from);
  }
  return verdicts;
}

let curve: BatchCurve | 'unavailable' | undefined;

/** Where WebAssembly is switched off, signatures are verified one by one. */
function openCurve(): BatchCurve | 'unavailable' {
  try {
    return new BatchCurve();
  } catch {
    return 'unavailable';
  }
}

class BatchCurve {
  readonly #adder = new PointAdder(roundSize);
  readonly #accumulators = this.#adder.field.reserve(roundSize * accumulatorBytes);
  readonly #generator = new WindowTable(
    this.#adder,
    generator,
    generatorBits,
    this.#adder.field.reserve(tableBytes(generatorBits)),
  );
  /** Memory of tables that are no longer kept. */
  readonly #free: number[] = [];
  readonly #keys = new LRUCache<string, { table: WindowTable; place: number }>({
    max: keptKeys,
    dispose: ({ place }) => this.#free.push(place),
  });
  readonly #start = secretPoint();
  readonly #end = this.#tableEntryOf({ x: this.#start.x, y: prime - this.#start.y });

  verify(publicKey: Uint8Array, signatures: readonly RecoverableEcdsa[]): Uint8Array | undefined {
    const verdicts = new Uint8Array(signatures.length);
    const sound = signatures.flatMap((signature, index) => readSignature(signature, index) ?? []);
    if (sound.length === 0) return verdicts;
    const table = this.#tableOf(publicKey);
    if (!this.#sum(table, sound)) return undefined;
    sound.forEach(({ index, r, recovery }, at) => {
      const { x, y } = this.#adder.readPoint(this.#accumulator(at));
      verdicts[index] = x === r && (y & 1n) === recovery ? 1 : 0;
    });
    return verdicts;
  }

  #sum(table: WindowTable, sound: readonly Sound[]): boolean {
    const inverses = invertAll(
      sound.map(({ s }) => s),
      order,
    );
    const forGenerator = sound.map(() => new Int16Array(windowsOf(generatorBits)));
    const forKey = sound.map(() => new Int16Array(windowsOf(keyBits)));
    sound.forEach(({ z, r }, at) => {
      const inverse = inverses[at]!;
      digitsOf((z * inverse) % order, generatorBits, forGenerator[at]!);
      digitsOf((r * inverse) % order, keyBits, forKey[at]!);
      this.#adder.writePoint(this.#accumulator(at), this.#start);
    });
    if (!this.#addAll(this.#generator, forGenerator) || !this.#addAll(table, forKey)) return false;
    for (let at = 0; at < sound.length; at++) {
      this.#adder.push(this.#accumulator(at), this.#end.x, this.#end.y);
    }
    return this.#adder.round();
  }

  #addAll(table: WindowTable, digits: readonly Int16Array[]): boolean {
    for (let window = 0; window < table.windows; window++) {
      for (let at = 0; at < digits.length; at++) {
        const digit = digits[at]![window]!;
        if (digit !== 0) table.add(this.#accumulator(at), window, digit);
      }
      if (!this.#adder.round()) return false;
    }
    return true;
  }

  #accumulator(at: number): number {
    return this.#accumulators + at * accumulatorBytes;
  }

  #tableOf(publicKey: Uint8Array): WindowTable {
    const name = Buffer.from(publicKey).toString('latin1');
    const known = this.#keys.get(name);
    if (known !== undefined) return known.table;
    const place = this.#free.pop() ?? this.#adder.field.reserve(tableBytes(keyBits));
    const table = new WindowTable(this.#adder, pointOf(publicKey), keyBits, place);
    this.#keys.set(name, { table, place });
    return table;
  }

  #tableEntryOf(point: Point): { readonly x: number; readonly y: number } {
    const at = this.#adder.field.reserve(accumulatorBytes);
    this.#adder.writePoint(at, point);
    return { x: at, y: at + accumulatorBytes / 2 };
  }
}

interface Sound {
  readonly index: number;
  readonly r: bigint;
  readonly s: bigint;
  readonly z: bigint;
  readonly recovery: bigint;
}

/** The numbers of a signature whose form is right: r and s in range, s at most n/2, a recovery bit. */
function readSignature({ digest, signature }: RecoverableEcdsa, index: number): Sound | undefined {
  if (digest.length !== 32 || signature.length !== 65 || signature[64]! > 1) return undefined;
  const r = numberOf(signature.subarray(0, 32));
  const s = numberOf(signature.subarray(32, 64));
  if (r === 0n || r >= order || s === 0n || s > order / 2n) return undefined;
  return { index, r, s, z: numberOf(digest) % order, recovery: BigInt(signature[64]!) };
}

function numberOf(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex')}`);
}

/** The point of an uncompressed key that is known to be on the curve. */
function pointOf(publicKey: Uint8Array): Point {
  return { x: numberOf(publicKey.subarray(1, 33)), y: numberOf(publicKey.subarray(33, 65)) };
}

function secretPoint(): Point {
  for (;;) {
    try {
      return pointOf(publicKeyOf(randomBytes(32)));
    } catch {
      // Zero or above n, once in 2^128 draws.
    }
  }
}
