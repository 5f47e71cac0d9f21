/** Removes old backups, and of their blobs those that no newer one needs. */
import { readList } from '../../storage/backup/blob-copies.ts';
import { type Manifest, partsOf, readManifest } from '../../storage/backup/manifest.ts';
import type { BackupPlace } from '../../storage/backup/place.ts';

/** Answers how many were removed. */
export async function pruneBackups(place: BackupPlace, keep: number): Promise<number> {
  const ids = await place.list();
  const old = ids.slice(0, Math.max(0, ids.length - keep));
  const needed = new Set<string>();
  for (const id of ids.slice(old.length)) for (const digest of await digestsOf(place, id)) needed.add(digest);
  for (const id of old) {
    const digests = await digestsOf(place, id);
    // Without its manifest it is no backup any more, whatever happens next.
    await place.remove(id);
    for (const digest of digests) if (!needed.has(digest)) await place.blobs.delete(digest);
  }
  return old.length;
}

async function digestsOf(place: BackupPlace, id: string): Promise<Set<string>> {
  const text = await place.read(id);
  if (text === undefined) return new Set();
  const manifest: Manifest = readManifest(text, id);
  const list = manifest.blobs === undefined ? [] : await readList(place.blobs, manifest.blobs);
  return new Set([...partsOf(manifest), ...list].map(({ digest }) => digest));
}
