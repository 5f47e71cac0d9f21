/** Reads a database file from end to end for pages that are damaged; a large one, which takes a while, on a thread of its own. */
import { stat } from 'node:fs/promises';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { checkIntegrity } from './integrity-check.ts';

const thread = new URL(`./integrity-thread${extname(import.meta.filename)}`, import.meta.url);
/** Read in a few milliseconds; a thread takes two hundred to begin. */
const smallBytes = 4 * 1024 * 1024;

/** What is wrong with the file, each in a line; nothing where it is sound. */
export async function integrityProblems(path: string): Promise<readonly string[]> {
  const sizes = await Promise.all([sizeOf(path), sizeOf(`${path}-wal`)]);
  if (sizes.every((size) => size <= smallBytes)) return checkIntegrity(path);
  return new Promise((resolve, reject) => {
    const worker = new Worker(thread, { workerData: path });
    worker.unref();
    worker.once('message', (problems: string[]) => resolve(problems));
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('the check of a database ended without an answer')));
  });
}

async function sizeOf(path: string): Promise<number> {
  const found = await stat(path).catch(() => undefined);
  return found?.size ?? 0;
}
