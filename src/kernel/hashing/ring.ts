/**
 * The memory that the event loop and a hashing thread share: a ring of slots, filled on one side and hashed on the
 * other, and counters to wait on. Bytes are copied once, into the ring; nothing is sent in messages.
 */
export const slotBytes = 256 * 1024;
export const slotCount = 8;
/** Of the longest digest. */
const digestBytes = 48;

/** Lengths with another meaning than bytes. */
export const endOfData = 0;
export const startAgain = -1;
export const leave = -2;

export interface Ring {
  /** How many slots were filled since the beginning. */
  readonly filled: Int32Array<SharedArrayBuffer>;
  /** How many of them the thread is done with. */
  readonly hashed: Int32Array<SharedArrayBuffer>;
  /** How many digests were written. */
  readonly digests: Int32Array<SharedArrayBuffer>;
  readonly lengths: Int32Array<SharedArrayBuffer>;
  readonly digest: Uint8Array<SharedArrayBuffer>;
  readonly slots: Uint8Array<SharedArrayBuffer>;
}

const controlBytes = 12 + 4 * slotCount + digestBytes;

export function makeMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(controlBytes + slotBytes * slotCount);
}

export function ringOf(memory: SharedArrayBuffer): Ring {
  return {
    filled: new Int32Array(memory, 0, 1),
    hashed: new Int32Array(memory, 4, 1),
    digests: new Int32Array(memory, 8, 1),
    lengths: new Int32Array(memory, 12, slotCount),
    digest: new Uint8Array(memory, 12 + 4 * slotCount, digestBytes),
    slots: new Uint8Array(memory, controlBytes, slotBytes * slotCount),
  };
}
