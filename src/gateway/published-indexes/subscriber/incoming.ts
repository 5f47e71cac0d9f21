/**
 * What is being downloaded of one publisher:
 *
 *   parts/<sha256>         files from their start to where they broke off
 *   <band>~<generation>/   checked files of a band that is not whole yet
 */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { sizeOf } from '../files.ts';
import { type Band, type BandFile, sha256Hex } from '../publication/document.ts';

/**
 * A band's folder once it is installed: `<id>~<first 12 hex digits of SHA-256 over the sorted lines name NUL size NUL
 * digest>`. It tells two bands of one id apart; no id has a `~`.
 */
export function installedName({ id, files }: Band): string {
  return `${id}~${generationOf(files)}`;
}

/** What of the name follows from the files. */
export function generationOf(files: readonly BandFile[]): string {
  const lines = files.map(({ name, size, sha256 }) => `${name}\0${size}\0${sha256}`).sort();
  return sha256Hex(lines.join('\n')).slice(0, 12);
}

/** Removes what no offered band can use any more. */
export async function tidyIncoming(incoming: string, offered: readonly Band[]): Promise<void> {
  const digests = new Set(offered.flatMap(({ files }) => files.map(({ sha256 }) => sha256)));
  const folders = new Set(['parts', ...offered.map(installedName)]);
  for (const name of await namesIn(incoming))
    if (!folders.has(name)) await rm(join(incoming, name), { recursive: true, force: true });
  for (const name of await namesIn(join(incoming, 'parts')))
    if (!digests.has(name)) await rm(join(incoming, 'parts', name), { force: true });
}

/** Bytes of a band that are there. */
export async function bytesOfBand(band: Band, incoming: string): Promise<number> {
  let sum = await bytesBelow(join(incoming, installedName(band)));
  for (const { sha256 } of band.files) sum += (await sizeOf(join(incoming, 'parts', sha256))) ?? 0;
  return sum;
}

export async function bytesBelow(folder: string): Promise<number> {
  let sum = 0;
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  for (const entry of entries)
    if (entry.isFile()) sum += (await sizeOf(join(entry.parentPath, entry.name))) ?? 0;
  return sum;
}

function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}
