/**
 * Time as the ledger counts it: a slot is 400 ms since its first start, and every slot is a block. The blockhash
 * of a slot is a hash of the ledger's own random seed and the slot's number, so none is the hash of another
 * ledger, and a ledger that was off for a month need not hash its way through the slots it slept.
 */
import { createHash } from 'node:crypto';
import { encodeBase58 } from '../../formats/base58.ts';

export const slotMs = 400;
export const slotsInEpoch = 432_000;
/** A transaction lives while its blockhash is at most this many blocks old. */
export const blockhashLife = 150;
/** Hashes that are remembered, for `isBlockhashValid` and to tell an old one from an unknown one. */
const remembered = 300;

export interface Moment {
  readonly slot: number;
  /** Unix milliseconds. */
  readonly ms: number;
}

export class Slots {
  readonly #seed: Buffer;
  readonly #genesisMs: number;
  readonly #clock: () => number;
  readonly #known = new Map<string, number>();
  #latestMs: number;
  #filledTo = -1;

  constructor(seed: Buffer, genesisMs: number, clock: () => number) {
    this.#seed = seed;
    this.#genesisMs = genesisMs;
    this.#clock = clock;
    this.#latestMs = genesisMs;
  }

  /** Never before an earlier answer, whatever the machine's clock does. */
  now(): Moment {
    this.#latestMs = Math.max(this.#latestMs, this.#clock());
    return this.at(this.#latestMs);
  }

  at(ms: number): Moment {
    return { slot: Math.floor((ms - this.#genesisMs) / slotMs), ms };
  }

  /** After a restart: time does not go on before what was already recorded. */
  notBefore(ms: number): void {
    this.#latestMs = Math.max(this.#latestMs, ms);
  }

  /** Milliseconds until the running slot is over. */
  msLeft(): number {
    const { slot, ms } = this.now();
    return this.#genesisMs + (slot + 1) * slotMs - ms;
  }

  /** When a slot began, in Unix seconds. */
  timeOf(slot: number): number {
    return Math.floor((this.#genesisMs + slot * slotMs) / 1000);
  }

  blockhash(slot: number): string {
    const number = Buffer.alloc(8);
    number.writeBigUInt64LE(BigInt(slot));
    return encodeBase58(createHash('sha256').update(this.#seed).update(number).digest());
  }

  get genesisHash(): string {
    return encodeBase58(createHash('sha256').update('genesis').update(this.#seed).digest());
  }

  /** The slot of a recent blockhash, or undefined where it is unknown or long forgotten. */
  slotOf(blockhash: string, moment: Moment): number | undefined {
    this.#fill(moment.slot);
    return this.#known.get(blockhash);
  }

  isAlive(blockhash: string, moment: Moment): boolean {
    const slot = this.slotOf(blockhash, moment);
    return slot !== undefined && slot <= moment.slot && moment.slot - slot <= blockhashLife;
  }

  #fill(slot: number): void {
    for (let next = Math.max(this.#filledTo + 1, slot - remembered + 1); next <= slot; next += 1) {
      this.#known.set(this.blockhash(next), next);
      this.#filledTo = next;
    }
    for (const [hash, old] of this.#known) {
      if (old > this.#filledTo - remembered) break;
      this.#known.delete(hash);
    }
  }
}
