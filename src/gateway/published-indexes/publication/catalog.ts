/**
 * What is published at the moment, as look-ups: a request names an entry of the signed document or nothing, and
 * never becomes part of a path. A document that cannot be read or is wrong publishes nothing.
 */

import { stat } from 'node:fs/promises';
import { pieceLength, torrentName } from '../../../formats/torrent/torrent.ts';
import { hasCode } from '../../../kernel/errors.ts';
import type { Logger } from '../../../kernel/log.ts';
import { readBounded } from '../files.ts';
import type { IndexFolders } from '../folders.ts';
import type { Band, BandFile } from './document.ts';
import { maxDocumentBytes, sha256Hex, type VerifiedPublication, verifyPublication } from './document.ts';

/** How soon a new publication is seen. */
const refreshMs = 250;

export interface Published {
  readonly bytes: Buffer;
  readonly sha256: string;
  readonly publication: VerifiedPublication;
  /** `name/band/file`. */
  readonly byName: ReadonlyMap<string, BandFile>;
  readonly byDigest: ReadonlyMap<string, BandFile>;
  /** `torrentName/file`. */
  readonly bySeed: ReadonlyMap<string, BandFile>;
  /** Lengths of padding by torrent name. */
  readonly pads: ReadonlyMap<string, ReadonlySet<string>>;
  /** Bands that are torrents, by their v1 infohash. */
  readonly torrents: ReadonlyMap<string, Band>;
}

export class Catalog {
  readonly #folders: IndexFolders;
  readonly #log: Logger;
  #published: Published | undefined;
  #isDamaged = false;
  #seen = '';
  #refreshAt = 0;
  #refreshing: Promise<void> | undefined;

  constructor(folders: IndexFolders, log: Logger) {
    this.#folders = folders;
    this.#log = log;
  }

  /** What the last refresh found. */
  get latest(): Published | undefined {
    return this.#published;
  }

  /** There is a document, which cannot be served. */
  get isDamaged(): boolean {
    return this.#isDamaged;
  }

  async current(): Promise<Published | undefined> {
    if (performance.now() >= this.#refreshAt) {
      this.#refreshing ??= this.#refresh().finally(() => {
        this.#refreshing = undefined;
        this.#refreshAt = performance.now() + refreshMs;
      });
      await this.#refreshing;
    }
    return this.#published;
  }

  async #refresh(): Promise<void> {
    try {
      const { mtimeMs, size, ino } = await stat(this.#folders.document);
      const seen = `${ino}:${mtimeMs}:${size}`;
      if (seen === this.#seen) return;
      const bytes = await readBounded(this.#folders.document, maxDocumentBytes);
      this.#seen = seen;
      this.#published = bytes && publishedOf(bytes);
      this.#isDamaged = false;
    } catch (error) {
      this.#published = undefined;
      const missing = hasCode(error, 'ENOENT');
      this.#isDamaged = !missing;
      if (!missing) this.#log.warn({ err: error }, 'the index publication cannot be served');
      else this.#seen = '';
    }
  }
}

function publishedOf(bytes: Buffer): Published {
  const publication = verifyPublication(bytes);
  const byName = new Map<string, BandFile>();
  const byDigest = new Map<string, BandFile>();
  const bySeed = new Map<string, BandFile>();
  const pads = new Map<string, ReadonlySet<string>>();
  const torrents = new Map<string, Band>();
  for (const { name, bands } of publication.indexes) {
    for (const band of bands) {
      const { id, files, torrent } = band;
      const seed = torrent === undefined ? undefined : torrentName(files);
      if (torrent !== undefined && seed !== undefined) {
        torrents.set(torrent.infohashV1, band);
        const rests = files.map(({ size }) => size % pieceLength).filter((rest) => rest > 0);
        pads.set(seed, new Set(rests.map((rest) => String(pieceLength - rest))));
      }
      for (const file of files) {
        byName.set(`${name}/${id}/${file.name}`, file);
        byDigest.set(file.sha256, file);
        if (seed !== undefined) bySeed.set(`${seed}/${file.name}`, file);
      }
    }
  }
  return { bytes, sha256: sha256Hex(bytes), publication, byName, byDigest, bySeed, pads, torrents };
}
