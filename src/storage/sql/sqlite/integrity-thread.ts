/** The thread that reads a whole database file for `integrity.ts`. */
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { messageOf } from '../../../kernel/errors.ts';

const busyTimeoutMs = 10_000;
/** Told to a person; the first says enough. */
const mostProblems = 10;

parentPort?.postMessage(check(String(workerData)));

/** What is wrong, each in a line. */
function check(path: string): string[] {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { readOnly: true, timeout: busyTimeoutMs });
    const rows = database.prepare(`PRAGMA quick_check(${mostProblems})`).all();
    const found = rows.flatMap((row) => Object.values(row).map(String));
    return found.length === 1 && found[0] === 'ok' ? [] : found;
  } catch (error) {
    return [messageOf(error)];
  } finally {
    database?.close();
  }
}
