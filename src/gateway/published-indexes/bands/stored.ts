/** The band folders of one published index on disk. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { FormatError } from '../../../formats/format-error.ts';
import { hasCode } from '../../../kernel/errors.ts';
import { readBounded } from '../files.ts';
import { isPartName } from '../names.ts';
import { type BandManifest, manifestName, maxManifestBytes, parseManifest } from './manifest.ts';

export interface StoredBand {
  readonly id: string;
  readonly folder: string;
  readonly manifest: BandManifest;
}

/** Whole bands only: a folder that is being built has another name, one being removed has no manifest. */
export async function storedBands(indexFolder: string): Promise<StoredBand[]> {
  const bands: StoredBand[] = [];
  for (const id of await folderNames(indexFolder)) {
    if (!isPartName(id) || id.endsWith('.tmp')) continue;
    const folder = join(indexFolder, id);
    const bytes = await readBounded(join(folder, manifestName), maxManifestBytes);
    if (bytes === undefined) continue;
    try {
      bands.push({ id, folder, manifest: parseManifest(bytes) });
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      throw new FormatError(`${folder}: ${error.message}`);
    }
  }
  return bands.sort((a, b) => (a.id < b.id ? -1 : 1));
}

export async function folderNames(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  }
}
