/**
 * Memory that answers of others are read into. Node reads every 64 KiB into fresh memory, and to get that, have its pages
 * made and collect it again costs as much as to read and send the bytes. Here little is read into one buffer that all
 * connections share, and copied out of it. Much is read into larger buffers that are handed on as they are, and used
 * again where whoever had the bytes last gives them back. What is not given back is garbage like any other.
 */
import { type OnReadOpts, Socket } from 'node:net';
import { countStreamedBytes } from '../kernel/minor-gc.ts';

/** One for all: what was read is copied before anything else can be read. */
const shared = Buffer.allocUnsafeSlow(64 * 1024);
const largeBytes = 256 * 1024;
/** Large buffers that are kept when traffic falls. */
const maxFree = 64;

const free: Uint8Array[] = [];
/** How many bytes were read into each large buffer that is on its way. */
const lent = new WeakMap<ArrayBufferLike, number>();
let next: Uint8Array = shared;

/** For `connect`: Node asks for a buffer when a connection begins, and after each read for the next one. */
export const onread: OnReadOpts = {
  buffer() {
    const chosen = next;
    next = shared;
    return chosen;
  },
  callback: take,
};

/** Called by Node as the socket's own; false: it has enough for now. */
function take(this: unknown, count: number, into: Uint8Array): boolean {
  if (!(this instanceof Socket)) throw new TypeError('a socket calls this');
  const isLarge = into !== shared;
  if (isLarge && 2 * count >= largeBytes) {
    lent.set(into.buffer, count);
    const goesOn = this.push(Buffer.from(into.buffer, 0, count));
    next = largeBuffer();
    return goesOn;
  }
  const piece = Buffer.allocUnsafe(count);
  piece.set(into.subarray(0, count));
  countStreamedBytes(count);
  const goesOn = this.push(piece);
  if (!isLarge) next = count === shared.length ? largeBuffer() : shared;
  // A connection that rests holds no large buffer.
  else if (4 * count >= largeBytes) next = into;
  else keep(into);
  return goesOn;
}

/** For whoever had the bytes last and holds them no more; of what was not read so, or is a part of it, nothing happens. */
export function giveBack(piece: Buffer): void {
  if (piece.byteOffset !== 0 || lent.get(piece.buffer) !== piece.length) return;
  lent.delete(piece.buffer);
  keep(new Uint8Array(piece.buffer));
}

function largeBuffer(): Uint8Array {
  const kept = free.pop();
  if (kept !== undefined) return kept;
  countStreamedBytes(largeBytes);
  return Buffer.allocUnsafeSlow(largeBytes);
}

function keep(buffer: Uint8Array): void {
  if (free.length < maxFree) free.push(buffer);
}
