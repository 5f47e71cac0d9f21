/** Where an export may write: inside one configured folder, whatever the request says. */
import { lstatSync, mkdirSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';

export class ExportFolderError extends Error {
  override readonly name = 'ExportFolderError';
}

/** The folder that a request means, made if need be. Links that lead out are followed and refused. */
export function resolveOutput(base: string, asked: string): string {
  if (asked.includes('\0')) throw new ExportFolderError('the folder has no valid name');
  const root = resolve(base);
  const wanted = isAbsolute(asked) ? resolve(asked) : resolve(join(root, asked));
  if (!isInside(root, wanted)) throw new ExportFolderError('the folder lies outside the export folder');
  try {
    mkdirSync(root, { recursive: true });
    const real = realpathSync(root);
    // Existing parts of the path are checked before anything is made below them.
    for (let part = wanted; part !== root; part = dirname(part)) {
      if (lstatSync(part, { throwIfNoEntry: false }) === undefined) continue;
      if (!isInside(real, realpathSync(part))) {
        throw new ExportFolderError('the folder leads outside the export folder');
      }
      break;
    }
    mkdirSync(wanted, { recursive: true });
  } catch (error) {
    if (error instanceof ExportFolderError) throw error;
    const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined;
    if (typeof code !== 'string') throw error;
    throw new ExportFolderError(`the folder cannot be made (${code})`);
  }
  return wanted;
}

/** A folder below an export's own, made step by step: throws before anything is made behind a link that leads out. */
export function makeInside(folder: string, ...parts: readonly string[]): string {
  mkdirSync(folder, { recursive: true });
  const real = realpathSync(folder);
  let path = folder;
  for (const part of parts) {
    path = join(path, part);
    mkdirSync(path, { recursive: true });
    if (!isInside(real, realpathSync(path))) {
      throw new ExportFolderError(`${path} leads outside of the export`);
    }
  }
  return path;
}

function isInside(root: string, path: string): boolean {
  const way = relative(root, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}
