/** How long the write-ahead logs of this process's databases are: what an operator is alarmed by. */
import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { processGauge } from '../../../kernel/metrics.ts';

/** Open databases, each as often as it is open. */
const open = new Map<string, number>();
let isShown = false;

export function logBytes(databasePath: string): number {
  return statSync(`${databasePath}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}

export function watchLog(databasePath: string): void {
  open.set(databasePath, (open.get(databasePath) ?? 0) + 1);
  if (isShown) return;
  isShown = true;
  const help = 'Size of the write-ahead log of a SQLite database';
  processGauge('database_log_bytes', help, 'database', () =>
    [...open.keys()].map((path) => [basename(path, '.db'), logBytes(path)]),
  );
}

export function unwatchLog(databasePath: string): void {
  const left = (open.get(databasePath) ?? 0) - 1;
  if (left > 0) open.set(databasePath, left);
  else open.delete(databasePath);
}
