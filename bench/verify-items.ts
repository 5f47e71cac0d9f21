/** Bare verification of data items on worker threads: what the benches of verifying and unbundling compare with. */
import { extname } from 'node:path';
import { verifyItem } from '../src/wallets/data-items/verify.ts';

export type VerifyTasks = Pick<typeof import('./verify-items.ts'), 'verifyItems'>;
export const verifyTasksModule = new URL(`./verify-items${extname(import.meta.filename)}`, import.meta.url);

/** Items by their places in bytes that the threads share. */
export interface PackedItems {
  readonly bytes: Uint8Array;
  readonly offsets: Float64Array;
  readonly sizes: Float64Array;
}

/** Throws where an item is not valid. */
export function verifyItems({ bytes, offsets, sizes }: PackedItems): void {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (const [index, start] of offsets.entries()) {
    const verified = verifyItem(all.subarray(start, start + (sizes[index] ?? 0)));
    if (typeof verified === 'string') throw new Error(`item ${index}: ${verified}`);
  }
}

/** Pieces of 256 items: long enough to be worth a message, short enough to share out evenly. */
export function* piecesOf({ bytes, offsets, sizes }: PackedItems): Generator<PackedItems> {
  for (let at = 0; at < sizes.length; at += 256) {
    yield { bytes, offsets: offsets.slice(at, at + 256), sizes: sizes.slice(at, at + 256) };
  }
}

export interface VerifyPool {
  run(task: 'verifyItems', items: PackedItems): Promise<void>;
}

export async function verifyOnThreads(pool: VerifyPool, items: PackedItems): Promise<void> {
  await Promise.all([...piecesOf(items)].map((piece) => pool.run('verifyItems', piece)));
}
