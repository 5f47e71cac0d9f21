/** Reads a database file from end to end for pages that are damaged, here and now. */
import { DatabaseSync } from 'node:sqlite';
import { messageOf } from '../../../kernel/errors.ts';

const busyTimeoutMs = 10_000;
/** Told to a person; the first says enough. */
const mostProblems = 10;

/** What is wrong, each in a line. */
export function checkIntegrity(path: string): string[] {
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
