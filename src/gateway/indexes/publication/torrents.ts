/** The torrent of a band, made from the pinned files and kept beside the publication. */
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { FileHasher, type HashedFile, makeTorrent } from '../../../formats/torrent/index.ts';
import { readBounded, writeWhole } from '../files.ts';
import type { IndexFolders } from '../folders.ts';
import type { BandFile, BandTorrent } from './read-indexes.ts';

export const maxTorrentBytes = 16 * 1024 * 1024;

/** `name` follows from the files, so that a torrent made once is found again by it. */
export async function bandTorrent(
  folders: IndexFolders,
  name: string,
  files: readonly BandFile[],
  publicUrl: string,
): Promise<BandTorrent> {
  const hashed: HashedFile[] = [];
  for (const file of files) {
    const hasher = new FileHasher(file.name);
    for await (const piece of createReadStream(join(folders.blobs, file.sha256), {
      highWaterMark: 1024 * 1024,
    }))
      hasher.update(piece);
    hashed.push(hasher.end());
  }
  const torrent = makeTorrent({ name, files: hashed, webSeeds: [`${publicUrl}/gw/indexes/webseed/`] });
  const { infohashV1, infohashV2 } = torrent;
  const path = join(folders.torrents, `${infohashV1}.torrent`);
  const stored = await readBounded(path, maxTorrentBytes).catch(() => undefined);
  if (stored === undefined || !stored.equals(torrent.bytes)) await writeWhole(path, torrent.bytes);
  return {
    infohashV1,
    infohashV2,
    magnet: `magnet:?xt=urn:btih:${infohashV1}&xt=urn:btmh:1220${infohashV2}&dn=${name}`,
    torrentUrl: `/gw/indexes/torrents/${infohashV1}.torrent`,
  };
}
