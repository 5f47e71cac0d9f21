/**
 * Which members of a segment have a term: one bit for each, in answer order. Stored as bits or as a list of distances,
 * whichever is shorter; terms that few members have share rows, of which a segment has a fixed number.
 */
import { VarintReader, varintSize, writeVarint } from './varint.ts';

/** A bit for each member, lowest first, 32 in a word. */
export type Bits = Uint32Array;

/** Last byte of what is stored: how to read what is before it. */
const asList = 0;
const asBits = 1;

/** Every processor that Node runs on here keeps the lowest byte of a word first, as it is stored. */
const wordBytes = Uint32Array.BYTES_PER_ELEMENT;

export const noBits = (members: number): Bits => new Uint32Array(Math.ceil(members / 32));

export function allBits(members: number): Bits {
  const bits = noBits(members).fill(0xffffffff);
  const rest = members % 32;
  if (rest > 0) bits[bits.length - 1] = 2 ** rest - 1;
  return bits;
}

export function setBit(bits: Bits, member: number): void {
  const word = member >>> 5;
  bits[word] = (bits[word] ?? 0) | (1 << (member & 31));
}

export function keepCommon(bits: Bits, others: Bits): void {
  for (let word = 0; word < bits.length; word += 1) bits[word] = (bits[word] ?? 0) & (others[word] ?? 0);
}

export function removeBits(bits: Bits, others: Bits): void {
  for (let word = 0; word < bits.length; word += 1) bits[word] = (bits[word] ?? 0) & ~(others[word] ?? 0);
}

export function countBits(bits: Bits): number {
  let count = 0;
  for (let word of bits) for (; word !== 0; word = (word & (word - 1)) >>> 0) count += 1;
  return count;
}

export function hasBits(bits: Bits): boolean {
  for (let word = 0; word < bits.length; word += 1) if (bits[word] !== 0) return true;
  return false;
}

/** The members between two bounds, the first included and the last not, in either order. */
export function* membersOf(bits: Bits, ascending: boolean, from: number, to: number): Generator<number> {
  const first = from >>> 5;
  const last = Math.min(bits.length - 1, Math.ceil(to / 32) - 1);
  for (let step = 0; step <= last - first; step += 1) {
    const index = ascending ? first + step : last - step;
    let word = bits[index] ?? 0;
    while (word !== 0) {
      const bit = ascending ? 31 - Math.clz32(word & -word) : 31 - Math.clz32(word);
      word = (word & ~(1 << bit)) >>> 0;
      const member = index * 32 + bit;
      if (member >= from && member < to) yield member;
    }
  }
}

/** Members in growing order. */
export function packMembers(members: readonly number[], all: number): Buffer {
  const listBytes = distances(members).reduce((sum, distance) => sum + varintSize(distance), 0);
  const bits = noBits(all);
  if (listBytes >= bits.byteLength) {
    for (const member of members) setBit(bits, member);
    return Buffer.concat([Buffer.from(bits.buffer), Buffer.of(asBits)]);
  }
  const packed = Buffer.allocUnsafe(listBytes + 1);
  let at = 0;
  for (const distance of distances(members)) at = writeVarint(packed, at, distance);
  packed[at] = asList;
  return packed;
}

/** Sets the bits of packed members. */
export function addMembers(bits: Bits, packed: Buffer): void {
  const end = packed.length - 1;
  if (packed[end] === asList) {
    const reader = new VarintReader(packed);
    for (let member = -1; reader.at < end; ) {
      member += reader.next();
      setBit(bits, member);
    }
    return;
  }
  const source = packed.byteOffset % wordBytes === 0 ? packed : new Uint8Array(packed);
  const words = new Uint32Array(source.buffer, source.byteOffset, Math.floor(end / wordBytes));
  for (let word = 0; word < bits.length; word += 1) bits[word] = (bits[word] ?? 0) | (words[word] ?? 0);
}

/** Rare terms with their members, by term in growing order. */
export function packTermMembers(
  terms: readonly (readonly [term: number, members: readonly number[]])[],
): Buffer {
  const numbers: number[] = [];
  let before = 0;
  for (const [term, members] of terms) {
    numbers.push(term - before, members.length, ...distances(members));
    before = term;
  }
  const packed = Buffer.allocUnsafe(numbers.reduce((sum, number) => sum + varintSize(number), 0));
  let at = 0;
  for (const number of numbers) at = writeVarint(packed, at, number);
  return packed;
}

/** Sets the bits of those members that have one of the terms. */
export function addTermMembers(bits: Bits, packed: Buffer, terms: ReadonlySet<number>): void {
  const reader = new VarintReader(packed);
  for (let term = 0; reader.at < packed.length; ) {
    term += reader.next();
    const isWanted = terms.has(term);
    let member = -1;
    for (let left = reader.next(); left > 0; left -= 1) {
      member += reader.next();
      if (isWanted) setBit(bits, member);
    }
  }
}

/** From one to the next; the first from before the first member. */
function distances(members: readonly number[]): number[] {
  let before = -1;
  return members.map((member) => {
    const distance = member - before;
    before = member;
    return distance;
  });
}
