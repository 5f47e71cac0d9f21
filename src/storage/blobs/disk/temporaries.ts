/**
 * Names for files that are being written, and the removal of those a crash left behind.
 *
 * Several processes, also on several machines, may share the folder, so that a name says who writes:
 * `<host>.<process id>.<random>`. What a dead process of this machine left goes at once; of any other a file
 * goes when nothing was written to it for long.
 */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { hasCode } from '../../../kernel/errors.ts';
import { type Files, isMissing } from './files.ts';

const abandonedAfterMs = 6 * 60 * 60 * 1_000;

const host = hostname().replace(/[^A-Za-z0-9-]/g, '-') || 'localhost';

export function temporaryName(): string {
  return `${host}.${process.pid}.${randomBytes(12).toString('hex')}`;
}

export async function removeLeftovers(folder: string, files: Files, now: number): Promise<void> {
  for (const name of await files.readdir(folder)) {
    const path = join(folder, name);
    try {
      if (isOfDeadProcess(name) || (await files.stat(path)).mtimeMs < now - abandonedAfterMs) {
        await files.unlink(path);
      }
    } catch (error) {
      // Another process that starts at the same time removes them too.
      if (!isMissing(error)) throw error;
    }
  }
}

function isOfDeadProcess(name: string): boolean {
  const [writtenOn, id] = name.split('.');
  if (writtenOn !== host || id === undefined || !/^[1-9][0-9]{0,9}$/.test(id)) return false;
  try {
    process.kill(Number(id), 0);
    return false;
  } catch (error) {
    return hasCode(error, 'ESRCH');
  }
}
