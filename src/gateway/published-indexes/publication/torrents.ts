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
  readTorrentFile,
  readTorrentInfo,
  torrentName,
  type Whereabouts,
  wrapInfo,
} from '../../../formats/torrent/index.ts';
import { writeFileDurably } from '../../../kernel/files.ts';
import { readBounded } from '../files.ts';
import type { IndexFolders } from '../folders.ts';
import type { BandFile, BandTorrent } from './read-indexes.ts';
import type { PublisherState } from './state.ts';

export const maxTorrentBytes = 16 * 1024 * 1024;

/** Where the torrents of this gateway are to be had. */
export interface TorrentPlaces {
  readonly trackers: readonly string[];
  readonly webSeeds: readonly string[];
  /** `host:port` of its seeder. */
  readonly peers: readonly string[];
}

export async function bandTorrent(
  folders: IndexFolders,
  files: readonly BandFile[],
  places: TorrentPlaces,
  state: PublisherState,
): Promise<BandTorrent> {
  const name = torrentName(files);
  const made =
    (await storedTorrent(folders, name, places, state)) ?? (await makeBand(folders, name, files, places));
  const { infohashV1, infohashV2 } = made;
  state.torrents.set(name, infohashV1);
  const where = [
    ...places.trackers.map((tracker) => `&tr=${encodeURIComponent(tracker)}`),
    ...places.peers.map((peer) => `&x.pe=${peer}`),
  ].join('');
  return {
    infohashV1,
    infohashV2,
    magnet: `magnet:?xt=urn:btih:${infohashV1}&xt=urn:btmh:1220${infohashV2}&dn=${name}${where}`,
    torrentUrl: `/gw/indexes/torrents/${infohashV1}.torrent`,
  };
}

interface Infohashes {
  readonly infohashV1: string;
  readonly infohashV2: string;
}

/** The one made before; its trackers and web seeds are brought up to date. */
async function storedTorrent(
  folders: IndexFolders,
  name: string,
  where: Whereabouts,
  state: PublisherState,
): Promise<Infohashes | undefined> {
  const infohash = state.torrents.get(name);
  if (infohash === undefined) return undefined;
  const path = join(folders.torrents, `${infohash}.torrent`);
  try {
    const stored = await readBounded(path, maxTorrentBytes);
    if (stored === undefined) return undefined;
    const { info, layers } = readTorrentFile(stored);
    const found = readTorrentInfo(info);
    if (found.infohashV1 !== infohash || found.name !== name) return undefined;
    const wanted = wrapInfo(info, layers, where);
    if (!stored.equals(wanted)) await writeFileDurably(path, wanted);
    return found;
  } catch {
    return undefined;
  }
}

async function makeBand(
  folders: IndexFolders,
  name: string,
  files: readonly BandFile[],
  where: Whereabouts,
): Promise<Infohashes> {
  const hashed: HashedFile[] = [];
  for (const file of files) {
    const hasher = new FileHasher(file.name);
    const path = join(folders.blobs, file.sha256);
    for await (const piece of createReadStream(path, { highWaterMark: 1024 * 1024 })) hasher.update(piece);
    hashed.push(hasher.end());
  }
  const torrent = makeTorrent({ name, files: hashed, ...where });
  await writeFileDurably(join(folders.torrents, `${torrent.infohashV1}.torrent`), torrent.bytes);
  return torrent;
}
