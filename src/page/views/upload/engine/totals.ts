/** How far a whole upload is. */
import { isWorking, type UploadEntry } from './entry.ts';

export interface Totals {
  readonly files: number;
  readonly sent: number;
  readonly failed: number;
  readonly paused: number;
  /** Being worked on, or about to be. */
  readonly going: number;
  readonly cancelled: number;
  /** Of the files that are not cancelled. */
  readonly bytes: number;
  readonly sentBytes: number;
}

export function totalsOf(entries: readonly UploadEntry[]): Totals {
  const totals = { files: 0, sent: 0, failed: 0, paused: 0, going: 0, cancelled: 0, bytes: 0, sentBytes: 0 };
  for (const entry of entries) {
    const { state, size } = entry;
    if (state === 'cancelled') {
      totals.cancelled += 1;
      continue;
    }
    totals.files += 1;
    totals.bytes += size;
    if (state === 'sent') totals.sent += 1;
    else if (state === 'failed') totals.failed += 1;
    else if (state === 'paused') totals.paused += 1;
    else totals.going += 1;
    totals.sentBytes += sentBytes(entry);
  }
  return totals;
}

/** Of its own bytes; what was only read is not sent. */
export function sentBytes(entry: UploadEntry): number {
  const { state, size, doneBytes } = entry;
  if (state === 'sent' || state === 'finishing') return size;
  return state === 'sending' && isWorking(entry) ? Math.min(size, doneBytes) : 0;
}

const windowMs = 15_000;
const leastMs = 1_500;

/** How fast it goes, from what was sent in the last seconds. */
export class SendRate {
  readonly #points: { readonly at: number; readonly bytes: number }[] = [];

  add(at: number, bytes: number): void {
    const last = this.#points.at(-1);
    // A file that begins again takes back what was sent of it.
    if (last !== undefined && bytes < last.bytes) this.#points.length = 0;
    this.#points.push({ at, bytes });
    while ((this.#points[0]?.at ?? at) < at - windowMs) this.#points.shift();
  }

  /** Undefined while too little is known. */
  msLeft(leftBytes: number): number | undefined {
    const [first, last] = [this.#points[0], this.#points.at(-1)];
    if (first === undefined || last === undefined || last.at - first.at < leastMs) return undefined;
    const perMs = (last.bytes - first.bytes) / (last.at - first.at);
    return perMs > 0 ? leftBytes / perMs : undefined;
  }
}
