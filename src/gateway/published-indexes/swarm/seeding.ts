/** Seeding as a part of the gateway: peers are served and tracked exactly while torrents are published. */
import { join } from 'node:path';
import type { Config } from '../../../config/config.ts';
import { type PeerAddress, readTorrentFile, readTorrentInfo } from '../../../formats/torrent/index.ts';
import type { Logger } from '../../../kernel/log.ts';
import type { Metrics } from '../../../kernel/metrics.ts';
import { readBounded } from '../files.ts';
import type { IndexFolders } from '../folders.ts';
import { maxTorrentBytes } from '../publication/torrents.ts';
import type { Catalog, Published } from '../routes/catalog.ts';
import { allowedAddresses, seedHost } from './addresses.ts';
import { type Offer, Seeder } from './seeder.ts';
import { Tracker } from './tracker.ts';

export interface SeedingOptions {
  readonly config: Config;
  readonly catalog: Catalog;
  readonly folders: IndexFolders;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** This is one of several processes of a gateway. */
  readonly sharePort: boolean;
}

export class Seeding {
  readonly tracker: Tracker;
  readonly #options: SeedingOptions;
  readonly #offers = new Map<string, Offer>();
  readonly #uploaded: (bytes: number) => void;
  #seeder: Seeder | undefined;
  #port: number | undefined;
  /** Trackers hand out addresses, not names; without one that of the connection is taken. */
  #host: string | undefined;
  #seen: Published | undefined;
  #refreshing: Promise<void> = Promise.resolve();
  /** First 20 bytes of the v2 infohashes: clients may announce under them too. */
  #registered = new Set<string>();
  #complained = false;

  constructor(options: SeedingOptions) {
    this.#options = options;
    const { metrics } = options;
    const uploaded = metrics.plainCounter('index_seeder_bytes_total', 'Bytes of index files given to peers');
    this.#uploaded = (bytes) => uploaded.add(bytes);
    metrics.gauge('index_seeder_peers', 'Peers being served', [], () => this.#seeder?.connections ?? 0);
    metrics.gauge('index_swarm_tracker_peers', 'Peers that the tracker knows', [], () => this.tracker.peers);
    this.tracker = new Tracker({ registered: (infohash) => this.#registered.has(infohash) });
  }

  /** Brings it in line with what is published; calls one after the other. */
  refresh(): Promise<void> {
    this.#refreshing = this.#refreshing.catch(() => {}).then(() => this.#refresh());
    return this.#refreshing;
  }

  /** The seeder's address for a client that reached us at that one. */
  peerFor(localAddress: string | undefined): PeerAddress | undefined {
    if (this.#port === undefined) return undefined;
    const host = this.#host ?? localAddress?.replace(/^::ffff:/i, '');
    return host === undefined ? undefined : { host, port: this.#port };
  }

  async stop(): Promise<void> {
    await this.#refreshing.catch(() => {});
    await this.#end();
  }

  async #refresh(): Promise<void> {
    const { config, catalog } = this.#options;
    const published = config.INDEX_TORRENTS ? await catalog.current() : undefined;
    if (published === this.#seen && this.#seeder !== undefined) return;
    this.#seen = published;
    const bands = [...(published?.torrents.values() ?? [])];
    const infohashes = new Set(bands.flatMap(({ torrent }) => torrent?.infohashV1 ?? []));
    this.#registered = new Set([
      ...infohashes,
      ...bands.flatMap(({ torrent }) => torrent?.infohashV2?.slice(0, 40) ?? []),
    ]);
    for (const infohash of this.#offers.keys()) if (!infohashes.has(infohash)) this.#offers.delete(infohash);
    if (infohashes.size === 0) await this.#end();
    else if (this.#seeder === undefined) await this.#start();
    this.#seeder?.keepOnly(infohashes);
  }

  async #end(): Promise<void> {
    const seeder = this.#seeder;
    this.#seeder = undefined;
    this.#port = undefined;
    await seeder?.close();
  }

  async #start(): Promise<void> {
    const { config, log } = this.#options;
    const seeder = new Seeder({
      host: config.HOST,
      port: config.INDEX_SEED_PORT,
      sharePort: this.#options.sharePort,
      maxConnections: config.INDEX_SEED_CONNECTIONS,
      bytesPerSecond: config.INDEX_SEED_BYTES_PER_SECOND,
      offer: (infohash) => this.#offer(infohash),
      log,
      uploaded: this.#uploaded,
    });
    try {
      this.#port = await seeder.listen();
      this.#seeder = seeder;
      const named = seedHost(config);
      [this.#host] = named === undefined ? [] : await allowedAddresses(named, { allowPrivate: true });
      log.info({ host: config.HOST, port: this.#port }, 'peers are given the published indexes');
    } catch (error) {
      // The web seed gives the same bytes: no reason for a gateway not to run.
      if (!this.#complained)
        log.warn(
          { err: error },
          `port ${config.INDEX_SEED_PORT} is taken: set INDEX_SEED_PORT to another to give torrents to peers`,
        );
      this.#complained = true;
    }
  }

  async #offer(infohash: string): Promise<Offer | undefined> {
    const { catalog, folders } = this.#options;
    const band = (await catalog.current())?.torrents.get(infohash);
    if (band === undefined) return undefined;
    const known = this.#offers.get(infohash);
    if (known !== undefined) return known;
    const bytes = await readBounded(join(folders.torrents, `${infohash}.torrent`), maxTorrentBytes);
    if (bytes === undefined) return undefined;
    const { info } = readTorrentFile(bytes);
    const { infohashV1, pieceLength, pieceCount, files } = readTorrentInfo(info);
    const digests = new Map(band.files.map(({ name, sha256 }) => [name, sha256]));
    const offer: Offer = {
      infohash: infohashV1,
      info,
      pieceLength,
      pieceCount,
      files: files.map(({ name, length, firstPiece }) => ({
        path: join(folders.blobs, digests.get(name) ?? '-'),
        length,
        firstPiece,
      })),
    };
    if (infohashV1 !== infohash) return undefined;
    this.#offers.set(infohash, offer);
    return offer;
  }
}
