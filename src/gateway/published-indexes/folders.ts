/** Where index files live below DATA_DIR: all on one file system, so that links and renames are atomic. */
import { join } from 'node:path';

export interface IndexFolders {
  /** Bands by index and band, `publication.json`, `blobs/` and `.torrents/`. */
  readonly published: string;
  readonly document: string;
  readonly blobs: string;
  readonly torrents: string;
  readonly state: string;
  /** Copies of published files for the torrent program, by infohash. */
  readonly seeds: string;
  /** Downloads that are not whole yet. */
  readonly incoming: string;
  /** Bands of other gateways, in use. */
  readonly installed: string;
  /** Sequences seen of others' publications. */
  readonly subscriptions: string;
}

export function indexFolders(dataDir: string): IndexFolders {
  const root = join(dataDir, 'indexes');
  const published = join(root, 'published');
  return {
    published,
    document: join(published, 'publication.json'),
    blobs: join(published, 'blobs'),
    torrents: join(published, '.torrents'),
    state: join(root, 'state.json'),
    seeds: join(root, 'seeds'),
    incoming: join(root, 'incoming'),
    installed: join(root, 'installed'),
    subscriptions: join(root, 'subscriptions.json'),
  };
}
