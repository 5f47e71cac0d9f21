/**
 * Tells when a file may have changed. A watch on the file itself dies with the first rename over it, so the
 * folder is watched; and since some file systems tell nothing, the file is looked at now and then.
 */
import { type FSWatcher, statSync, watch } from 'node:fs';
import { basename, dirname } from 'node:path';

const settleMs = 100;
const pollMs = 30_000;

export function watchFile(path: string, changed: () => void): () => void {
  const name = basename(path);
  let timer: NodeJS.Timeout | undefined;
  let seen = signature(path);
  const soon = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      seen = signature(path);
      changed();
    }, settleMs).unref();
  };
  let watcher: FSWatcher | undefined;
  try {
    watcher = watch(dirname(path), { persistent: false }, (_event, file) => {
      if (file === null || file === name) soon();
    });
    watcher.on('error', () => watcher?.close());
  } catch {
    // The poll below still sees every change.
  }
  const poll = setInterval(() => {
    if (signature(path) !== seen) soon();
  }, pollMs).unref();
  return () => {
    clearTimeout(timer);
    clearInterval(poll);
    watcher?.close();
  };
}

function signature(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? '' : `${found.ino} ${found.size} ${found.mtimeMs}`;
}
