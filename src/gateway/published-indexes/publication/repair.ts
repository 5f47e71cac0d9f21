/**
 * Brings back published files that were lost or damaged. A file whose band still has it is pinned again; a band that has
 * lost it too is set aside as `.damaged-<id>.tmp`, so that it is built again from the index. Until then the document in
 * place names it, and its file answers 503.
 */
import { rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { hasCode } from '../../../kernel/errors.ts';
import { digestFile, pinByDigest, sizeOf } from '../files.ts';
import type { IndexFolders } from '../folders.ts';
import type { VerifiedPublication } from './document.ts';

/** Ids of bands that were set aside. */
export async function repairPublished(
  { published, blobs }: IndexFolders,
  { indexes }: VerifiedPublication,
): Promise<string[]> {
  const damaged: string[] = [];
  for (const { name, bands } of indexes) {
    for (const { id, files } of bands) {
      const folder = join(published, name, id);
      let isWhole = true;
      for (const file of files) {
        if ((await sizeOf(join(blobs, file.sha256))) === file.size) continue;
        const path = join(folder, file.name);
        const found = await digestFile(path).catch(() => undefined);
        if (found?.sha256 === file.sha256) await pinByDigest(path, blobs);
        else isWhole = false;
      }
      if (isWhole) continue;
      await setAside(folder, id);
      damaged.push(id);
    }
  }
  return damaged;
}

async function setAside(folder: string, id: string): Promise<void> {
  const aside = join(dirname(folder), `.damaged-${id}.tmp`);
  try {
    await rm(aside, { recursive: true, force: true });
    await rename(folder, aside);
  } catch (error) {
    // Where nothing is left of it, it is built again all the same.
    if (!hasCode(error, 'ENOENT')) throw error;
  }
}
