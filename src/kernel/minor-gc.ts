/**
 * Collects the young generation (a minor GC) while bodies stream through, by bytes streamed.
 *
 * Every read from a socket is a buffer outside of V8's heap, and V8 answers so much of it with full collections:
 * one for each 50 MiB or so, each of which marks the whole heap of a program of our size. Streaming a gigabyte
 * cost more in those than in hashing it. Nearly all of these buffers are garbage a moment later, which a
 * collection of the young generation finds out in less than a millisecond; but V8 starts one of those only when
 * the heap itself has grown, and a streamed body hardly makes it grow.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Well below what makes V8 collect everything. */
const collectEvery = 8 * 1024 * 1024;

const collectYoung = youngCollector();
let streamed = 0;

/** Called with the bytes that were read from a connection and are not kept. */
export function countStreamedBytes(count: number): void {
  streamed += count;
  if (streamed < collectEvery) return;
  streamed = 0;
  collectYoung();
}

function youngCollector(): () => void {
  // The function is there only in contexts that are made while the flag is set.
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  if (typeof collect !== 'function') return () => {};
  return () => void Reflect.apply(collect, undefined, [{ type: 'minor' }]);
}
