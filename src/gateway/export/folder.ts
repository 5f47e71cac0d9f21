/** Where an export may write: inside one configured folder, whatever the request says. */
import { existsSync, lstatSync, mkdirSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { messageOf } from '../../kernel/errors.ts';
import { tableNames } from './tables.ts';

const ownFolders: ReadonlySet<string> = new Set(['.versions', '.current', '.done']);
const tableFolders: ReadonlySet<string> = new Set(tableNames);

export class ExportFolderError extends Error {
  override readonly name = 'ExportFolderError';
}

/** The folder that a request means, made if need be. Links that lead out are followed and refused. */
export function resolveOutput(base: string, asked: string): string {
  if (asked.includes('\0')) throw new ExportFolderError('the folder has no valid name');
  const root = resolve(base);
  const wanted = isAbsolute(asked) ? resolve(asked) : resolve(join(root, asked));
  if (!isInside(root, wanted)) throw new ExportFolderError('the folder lies outside the export folder');
  if (isInsideDataset(root, wanted)) throw new ExportFolderError('the folder lies inside another export');
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

/** Whether it is one of the folders that an export makes: whoever reads that export would read this one too. */
function isInsideDataset(root: string, wanted: string): boolean {
  const names = relative(root, wanted).split(sep);
  return names.some((name, at) => {
    if (ownFolders.has(name)) return true;
    const parent = join(root, ...names.slice(0, at));
    return (
      tableFolders.has(name) && (existsSync(join(parent, '.versions')) || existsSync(join(parent, '.done')))
    );
  });
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

/** Why a write failed, in plain words where the disk is at fault. */
export function writeFailure(error: unknown, folder: string): string {
  const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined;
  const words = messageOf(error);
  const disk = typeof code === 'string' ? diskFaults[code] : undefined;
  return disk === undefined ? words : `${disk}: ${folder} (${words})`;
}

const diskFaults: Readonly<Record<string, string>> = {
  ENOSPC: 'The disk of the export folder is full',
  EDQUOT: 'The disk quota of the export folder is used up',
  EFBIG: 'A file of the export grew beyond what the system allows',
  EROFS: 'The export folder is read-only',
  EACCES: 'The export folder may not be written',
  EPERM: 'The file system of the export folder does not allow links',
  ENOTSUP: 'The file system of the export folder does not allow links',
};
