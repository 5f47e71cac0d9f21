/**
 * Bulk verification on worker threads: many items in, one byte of verdict per item out.
 *
 *   const pool = createPool<VerifyTasks>({ module: verifyTasksModule, … });
 *   const verdicts = await verifyAll(pool, { path, offsets, sizes, ids });
 *
 * Items are given by their place in bytes that the threads share (a SharedArrayBuffer is not copied) or in a
 * file.
 */
import { extname } from 'node:path';
import { type ItemProblem, itemProblemCodes } from '../../formats/ans104/item-problem.ts';

export type VerifyTasks = typeof import('./verify-tasks.ts');
export const verifyTasksModule = new URL(`./verify-tasks${extname(import.meta.filename)}`, import.meta.url);

/** Where the items are: columns of equal length, as a bundle's header has them. */
export interface ItemPlaces {
  readonly offsets: Float64Array;
  readonly sizes: Float64Array;
  /** 32 bytes for each item: the id it must have. Without it ids are not compared. */
  readonly ids?: Uint8Array;
  /** See `ItemReadOptions`: for mined bundles only. */
  readonly lenient?: boolean;
}

export interface ItemsInMemory extends ItemPlaces {
  readonly bytes: Uint8Array;
}

export interface ItemsInFile extends ItemPlaces {
  readonly path: string;
}

/** 0 is a valid item, else one more than the index of the problem in `itemProblemCodes`. */
export type Verdicts = Uint8Array<ArrayBuffer>;

/** What a verdict says; undefined for a valid item. */
export function problemOf(verdict: number): ItemProblem | undefined {
  return itemProblemCodes[verdict - 1];
}

/** The part of the kernel's pool that is needed here. */
export interface VerifyPool {
  run(task: 'verifyItems', items: ItemsInMemory | ItemsInFile): Promise<Verdicts>;
}

/** Items in one piece of work: long enough to be worth a message, short enough to share out evenly. */
const piecesOf = 256;

/** Verifies any number of items on a pool, a bounded number of pieces at a time. */
export async function verifyAll(pool: VerifyPool, items: ItemsInMemory | ItemsInFile): Promise<Verdicts> {
  const count = items.sizes.length;
  const verdicts = new Uint8Array(count);
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const start = next;
      const end = Math.min(count, start + piecesOf);
      next = end;
      const places = {
        ...items,
        offsets: items.offsets.slice(start, end),
        sizes: items.sizes.slice(start, end),
        ...(items.ids === undefined ? {} : { ids: items.ids.slice(start * 32, end * 32) }),
      };
      verdicts.set(await pool.run('verifyItems', places), start);
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  return verdicts;
}
