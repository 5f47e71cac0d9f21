/**
 * Publishes: pins the files of all bands under their digests, makes their torrents, signs the document that lists
 * them, and puts it in place by one rename. Links come before the document that names them and go after the one
 * that no longer does, so that a crash at any point leaves a publication that is whole; doing it again finishes.
 */
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../../config/config.ts';
import { tryDecodeBase58 } from '../../../formats/base58.ts';
import { canonicalJson } from '../../../formats/canonical-json.ts';
import { FormatError } from '../../../formats/format-error.ts';
import { hasCode, StartupError } from '../../../kernel/errors.ts';
import { writeFileDurably } from '../../../kernel/files.ts';
import { rootIndex } from '../bands/build.ts';
import {
  fewerMark,
  heightRangeOf,
  isMeantToHaveFewer,
  manifestName,
  supersededBy,
} from '../bands/manifest.ts';
import { type StoredBand, storedBands } from '../bands/stored.ts';
import { pinByDigest, readBounded, removeHalfWritten, withLock } from '../files.ts';
import { type IndexFolders, indexFolders } from '../folders.ts';
import {
  type Band,
  type BandFile,
  maxDocumentBytes,
  type PublishedIndex,
  sha256Hex,
  signPublication,
  type VerifiedPublication,
  verifyPublication,
} from './document.ts';
import type { Observer } from './observer.ts';
import { type PublisherState, readState, writeState } from './state.ts';
import { bandTorrent } from './torrents.ts';

export interface PublisherOptions {
  readonly dataDir: string;
  readonly observer: Observer;
  /** base58 wallet of the gateway; the observer's own address without it. */
  readonly publisher: string | undefined;
  readonly ttlSeconds: number;
  /** The filter under which the gateway unbundles: what the index can be expected to hold. */
  readonly filter: unknown;
  /** Offers torrents, whose web seed is the gateway at this address. */
  readonly torrentsAt: string | undefined;
  readonly now?: () => number;
  /** Bytes that are hashed or known by now, of all. */
  readonly onProgress?: (done: number, total: number) => void;
}

export interface PublishReport {
  readonly published: boolean;
  readonly sequence: number;
  readonly bands: number;
  readonly files: number;
}

/** Throws `StartupError` where it is none. */
export function publisherWallet({
  INDEX_PUBLISHER_WALLET: wallet,
}: Pick<Config, 'INDEX_PUBLISHER_WALLET'>): string | undefined {
  if (wallet !== undefined && tryDecodeBase58(wallet)?.length !== 32)
    throw new StartupError('INDEX_PUBLISHER_WALLET must be base58 of 32 bytes');
  return wallet;
}

/** The publisher that the configuration describes. */
export function publisherOf(
  config: Config,
  observer: Observer,
  rest: Pick<PublisherOptions, 'onProgress'> = {},
): Publisher {
  const wallet = publisherWallet(config);
  const publicUrl = config.INDEX_PUBLIC_URL ?? `http://${config.HOST}:${config.GATEWAY_PORT}`;
  return new Publisher({
    dataDir: config.DATA_DIR,
    observer,
    publisher: wallet,
    ttlSeconds: config.INDEX_PUBLISH_TTL_SECONDS,
    filter: JSON.parse(config.ANS104_UNBUNDLE_FILTER),
    torrentsAt: config.INDEX_TORRENTS ? publicUrl : undefined,
    ...rest,
  });
}

export class Publisher {
  readonly #options: PublisherOptions;
  readonly #folders: IndexFolders;
  readonly #now: () => number;

  constructor(options: PublisherOptions) {
    this.#options = options;
    this.#folders = indexFolders(options.dataDir);
    this.#now = options.now ?? Date.now;
  }

  /** Publishes what is built, if it changed or the document on disk is past half of its life. */
  publish(): Promise<PublishReport> {
    return withLock(join(this.#folders.published, '.lock'), () => this.#publish());
  }

  async #publish(): Promise<PublishReport> {
    const { observer, ttlSeconds } = this.#options;
    const state = await readState(this.#folders.state);
    const { live, dropped } = await this.#bands();
    const bands: Band[] = [];
    const sizes = live.map(({ manifest }) => manifest.partitions.reduce((sum, { size }) => sum + size, 0));
    const total = sizes.reduce((sum, size) => sum + size, 0);
    let before = 0;
    for (const [at, band] of live.entries()) {
      bands.push(
        await this.#describe(band, state, (done) => this.#options.onProgress?.(before + done, total)),
      );
      before += sizes[at] ?? 0;
    }
    this.#options.onProgress?.(total, total);
    const indexes: PublishedIndex[] = [{ ...rootIndex, filter: this.#options.filter, bands }];
    const current = await this.#current();
    const count = { bands: bands.length, files: bands.reduce((sum, { files }) => sum + files.length, 0) };
    if (current !== undefined && this.#stillGood(current.publication, indexes)) {
      await this.#prune(indexes, dropped);
      return { published: false, sequence: current.publication.sequence, ...count };
    }
    const sequence = Math.max(state.sequence, current?.publication.sequence ?? 0) + 1;
    // Subscribers would refuse a count that begins again, and never say so here.
    if (sequence === 1 && (await sizeOf(this.#folders.document)) !== undefined) {
      throw new StartupError(
        `${this.#folders.document} is damaged and its sequence lost: put it back, or write {"sequence": N} to ` +
          `${this.#folders.state}, N being at least the last one that was published`,
      );
    }
    const issued = this.#now();
    const bytes = signPublication(
      {
        version: 1,
        publisher: this.#options.publisher ?? observer.address,
        sequence,
        previousManifestSha256: current === undefined ? null : sha256Hex(current.bytes),
        issuedAt: new Date(issued).toISOString(),
        expiresAt: new Date(issued + ttlSeconds * 1000).toISOString(),
        indexes,
      },
      observer,
    );
    if (bytes.length > maxDocumentBytes) throw new Error('the publication is too large: use larger bands');
    verifyPublication(bytes);
    // A sequence that was written down is never used again, whatever happens next.
    await writeState(this.#folders.state, { ...state, sequence }, listedIn(bands));
    await writeFileDurably(this.#folders.document, bytes);
    await this.#prune(indexes, dropped);
    return { published: true, sequence, ...count };
  }

  async #bands(): Promise<{ live: StoredBand[]; dropped: StoredBand[] }> {
    const all = await storedBands(join(this.#folders.published, rootIndex.name));
    const gone = new Set(all.flatMap(({ manifest }) => supersededBy(manifest.metadata)));
    return { live: all.filter(({ id }) => !gone.has(id)), dropped: all.filter(({ id }) => gone.has(id)) };
  }

  async #describe(
    { id, folder, manifest }: StoredBand,
    state: PublisherState,
    progress: (bytes: number) => void,
  ): Promise<Band> {
    const names = [manifestName, ...manifest.partitions.map(({ filename }) => filename)].sort();
    const found = (await readdir(folder)).sort();
    if (canonicalJson(found) !== canonicalJson(names))
      throw new Error(`${folder} holds other files than its manifest names`);
    const files: BandFile[] = [];
    let done = 0;
    for (const name of names) {
      const file = await this.#file(join(folder, name), name, state);
      files.push(file);
      done += file.size;
      progress(done);
    }
    for (const { filename, size } of manifest.partitions) {
      if (files.find(({ name }) => name === filename)?.size !== size)
        throw new Error(`${join(folder, filename)} has another size than its manifest says`);
    }
    const heightRange = heightRangeOf(manifest);
    const { torrentsAt } = this.#options;
    return {
      id,
      files,
      ...(heightRange !== undefined && { heightRange }),
      records: manifest.totalRecords,
      http: { baseUrl: `/gw/indexes/${rootIndex.name}/${id}/` },
      ...(torrentsAt !== undefined && {
        torrent: await bandTorrent(this.#folders, files, torrentsAt, state),
      }),
      ...(supersededBy(manifest.metadata).length > 0 && {
        metadata: {
          supersedes: supersededBy(manifest.metadata),
          ...(isMeantToHaveFewer(manifest.metadata) && { [fewerMark]: true }),
        },
      }),
    };
  }

  /** Pinned and hashed once; known again by inode, size and time as long as its link is there. */
  async #file(path: string, name: string, state: PublisherState): Promise<BandFile> {
    const { ino, size, mtimeMs } = await stat(path);
    const fingerprint = `${ino}:${size}:${mtimeMs}`;
    const known = state.digests.get(fingerprint);
    if (known !== undefined && (await sizeOf(join(this.#folders.blobs, known))) === size) {
      return { name, size, sha256: known };
    }
    const pinned = await pinByDigest(path, this.#folders.blobs);
    state.digests.set(fingerprint, pinned.sha256);
    return { name, ...pinned };
  }

  /** A document that is damaged was not served: the next one takes its place. */
  async #current(): Promise<{ bytes: Buffer; publication: VerifiedPublication } | undefined> {
    const bytes = await readBounded(this.#folders.document, maxDocumentBytes);
    try {
      return bytes === undefined ? undefined : { bytes, publication: verifyPublication(bytes) };
    } catch (error) {
      if (error instanceof FormatError) return undefined;
      throw error;
    }
  }

  #stillGood(publication: VerifiedPublication, indexes: readonly PublishedIndex[]): boolean {
    const halfLife = Date.parse(publication.issuedAt) + (this.#options.ttlSeconds * 1000) / 2;
    return (
      publication.keyId === this.#options.observer.address &&
      publication.publisher === (this.#options.publisher ?? this.#options.observer.address) &&
      canonicalJson(publication.indexes) === canonicalJson(indexes) &&
      this.#now() < halfLife
    );
  }

  /** Removes what the document in place does not name. */
  async #prune(indexes: readonly PublishedIndex[], dropped: readonly StoredBand[]): Promise<void> {
    const { digests, infohashes } = listedIn(indexes.flatMap((index) => index.bands));
    await removeOthers(this.#folders.blobs, digests);
    await removeOthers(this.#folders.torrents, new Set([...infohashes].map((one) => `${one}.torrent`)));
    await removeHalfWritten(this.#folders.document);
    await removeHalfWritten(this.#folders.state);
    for (const { folder } of dropped) {
      await rm(join(folder, manifestName), { force: true });
      await rm(folder, { recursive: true, force: true });
    }
  }
}

function listedIn(bands: readonly Band[]): { digests: Set<string>; infohashes: Set<string> } {
  return {
    digests: new Set(bands.flatMap(({ files }) => files.map(({ sha256 }) => sha256))),
    infohashes: new Set(bands.flatMap(({ torrent }) => torrent?.infohashV1 ?? [])),
  };
}

async function removeOthers(folder: string, wanted: ReadonlySet<string>): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const name of await readdir(folder)) {
    if (!wanted.has(name)) await rm(join(folder, name), { force: true });
  }
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}
