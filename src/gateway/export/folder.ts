/** Where an export may write: inside one configured folder, whatever the request says. */
import { mkdirSync, realpathSync } from 'node:fs';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';

export class ExportFolderError extends Error {
  override readonly name = 'ExportFolderError';
}

/** The folder that a request means, made if need be. Links that lead out are followed and refused. */
export function resolveOutput(base: string, asked: string): string {
  if (asked.includes('\0')) throw new ExportFolderError('the folder has no valid name');
  const root = resolve(base);
  const wanted = isAbsolute(asked) ? resolve(asked) : resolve(join(root, asked));
  if (!isInside(root, wanted)) throw new ExportFolderError('the folder lies outside the export folder');
  mkdirSync(root, { recursive: true });
  // Existing parts of the path are looked at before anything is made below them.
  let existing = wanted;
  while (existing !== root && !exists(existing)) existing = resolve(existing, '..');
  const real = realpathSync(root);
  if (!isInside(real, realpathSync(existing))) {
    throw new ExportFolderError('the folder leads outside the export folder');
  }
  mkdirSync(wanted, { recursive: true });
  return wanted;
}

function isInside(root: string, path: string): boolean {
  const way = relative(root, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

function exists(path: string): boolean {
  try {
    realpathSync(path);
    return true;
  } catch {
    return false;
  }
}
