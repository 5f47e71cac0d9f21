/**
 * The torrent of a band, made from the pinned files and kept beside the publication. Its name follows from the files,
 * so that one made before is found again: files are read and hashed once.
 */
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import {
  FileHasher,
  type HashedFile,
  makeTorrent,
  type Torrent,
  torrentName,
  withWebSeeds,
} from '../../../formats/torrent/torrent.ts';
import { writeFileDurably } from '../../../kernel/files.ts';
import { readBounded } from '../files.ts';
import type { IndexFolders } from '../folders.ts';
import type { BandFile, BandTorrent } from './document.ts';
import type { PublisherState } from './state.ts';

export const maxTorrentBytes = 16 * 1024 * 1024;

/** `gatewayUrl` is where others reach this gateway: torrent and magnet name its web seed. */
export async function bandTorrent(
  folders: IndexFolders,
  files: readonly BandFile[],
  gatewayUrl: string,
  state: PublisherState,
): Promise<BandTorrent> {
  const name = torrentName(files);
  const webSeed = `${gatewayUrl}/gw/indexes/webseed/`;
  const { infohashV1, infohashV2 } =
    (await storedTorrent(folders, name, webSeed, state)) ?? (await makeBand(folders, name, files, webSeed));
  state.torrents.set(name, infohashV1);
  const torrentUrl = `/gw/indexes/torrents/${infohashV1}.torrent`;
  const magnet = [
    `xt=urn:btih:${infohashV1}`,
    `xt=urn:btmh:1220${infohashV2}`,
    `dn=${name}`,
    `xs=${encodeURIComponent(`${gatewayUrl}${torrentUrl}`)}`,
    `ws=${encodeURIComponent(webSeed)}`,
  ];
  return { infohashV1, infohashV2, magnet: `magnet:?${magnet.join('&')}`, torrentUrl };
}

/** The one made before, with the web seed of today. */
async function storedTorrent(
  folders: IndexFolders,
  name: string,
  webSeed: string,
  state: PublisherState,
): Promise<Torrent | undefined> {
  const infohash = state.torrents.get(name);
  if (infohash === undefined) return undefined;
  const path = join(folders.torrents, `${infohash}.torrent`);
  try {
    const stored = await readBounded(path, maxTorrentBytes);
    if (stored === undefined) return undefined;
    const torrent = withWebSeeds(stored, [webSeed]);
    if (torrent.infohashV1 !== infohash || torrent.name !== name) return undefined;
    if (!stored.equals(torrent.bytes)) await writeFileDurably(path, torrent.bytes);
    return torrent;
  } catch {
    return undefined;
  }
}

async function makeBand(
  folders: IndexFolders,
  name: string,
  files: readonly BandFile[],
  webSeed: string,
): Promise<Torrent> {
  const hashed: HashedFile[] = [];
  for (const file of files) {
    const hasher = new FileHasher(file.name);
    const path = join(folders.blobs, file.sha256);
    for await (const piece of createReadStream(path, { highWaterMark: 1024 * 1024 })) hasher.update(piece);
    hashed.push(hasher.end());
  }
  const torrent = makeTorrent({ name, files: hashed, webSeeds: [webSeed] });
  await writeFileDurably(join(folders.torrents, `${torrent.infohashV1}.torrent`), torrent.bytes);
  return torrent;
}
