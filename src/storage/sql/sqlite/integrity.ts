/** Reads a database file from end to end for pages that are damaged, on a thread of its own: a large one takes a while. */
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';

const thread = new URL(`./integrity-thread${extname(import.meta.filename)}`, import.meta.url);

/** What is wrong with the file, each in a line; nothing where it is sound. */
export function integrityProblems(path: string): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(thread, { workerData: path });
    worker.unref();
    worker.once('message', (problems: string[]) => resolve(problems));
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('the check of a database ended without an answer')));
  });
}
