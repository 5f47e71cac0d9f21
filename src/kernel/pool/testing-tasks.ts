/** Tasks for the pool's own tests. */
import { Transferred } from './protocol.ts';

export function double(value: number): number {
  return value * 2;
}

export function refuse(message: string): never {
  throw new RangeError(message);
}

/** Ends the thread at once, as a crash of native code would. */
export function die(code: number): void {
  process.exit(code);
}

export function spin(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

/** Returns only when the shared cell is no longer zero. */
export function hold(cell: Int32Array<SharedArrayBuffer>): number {
  Atomics.wait(cell, 0, 0);
  return Atomics.load(cell, 0);
}

export function fill(arg: { buffer: Uint8Array<ArrayBuffer>; value: number }): Transferred<Uint8Array> {
  arg.buffer.fill(arg.value);
  return new Transferred(arg.buffer, [arg.buffer.buffer]);
}

export function unclonable(_arg: null): () => void {
  return () => {};
}
