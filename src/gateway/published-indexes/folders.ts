/** Where index files live below DATA_DIR: all on one file system, so that links and renames are atomic. */
import { join } from 'node:path';

export function indexFolders(dataDir: string) {
  const root = join(dataDir, 'indexes');
  const published = join(root, 'published');
  return {
    /** Bands by index and band, `publication.json`, `blobs/` and `.torrents/`. */
    published,
    document: join(published, 'publication.json'),
    blobs: join(published, 'blobs'),
    torrents: join(published, '.torrents'),
    state: join(root, 'state.json'),
    /** Copies of published files for the torrent program, by infohash. */
    seeds: join(root, 'seeds'),
    /** Downloads that are not whole yet. */
    incoming: join(root, 'incoming'),
    /** Bands of other gateways, in use. */
    installed: join(root, 'installed'),
    /** How far the scrub is with published files, and with bands of others. */
    scrubOfPublished: join(root, 'scrub-published.json'),
    scrubOfInstalled: join(root, 'scrub-installed.json'),
    /** Sequences seen of others' publications. */
    subscriptions: join(root, 'subscriptions.json'),
  } as const;
}

export type IndexFolders = ReturnType<typeof indexFolders>;
