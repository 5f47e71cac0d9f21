/** The bands in use: opened when they appear, searched newest first, let go when they are retired. */
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeRootEntry, findInCdb64, headerBytes } from '../../../formats/cdb64/index.ts';
import { rootIndex } from '../bands/build.ts';
import { heightRangeOf, manifestName, maxManifestBytes, parseManifest } from '../bands/manifest.ts';
import { folderNames } from '../bands/stored.ts';
import { readBounded } from '../files.ts';
import { indexFolders } from '../folders.ts';
import { PagedFile } from './paged-file.ts';

/** Where an item is, as a publisher says: a claim that the reader checks against the item itself. */
export interface SubscribedPlace {
  /** Base64url id of the transaction whose data holds the item. */
  readonly root: string;
  readonly itemOffset: number;
  readonly dataOffset: number;
  /** Header and payload. */
  readonly itemSize: number;
}

interface OpenBand {
  readonly newest: number;
  readonly partitions: ReadonlyMap<number, Partition>;
}

interface Partition {
  readonly file: PagedFile;
  readonly header: Buffer;
}

/** The bands of a data folder; nothing is open before the first `refresh`. */
export function openSubscribedBands(dataDir: string): InstalledBands {
  return new InstalledBands(indexFolders(dataDir).installed);
}

export class InstalledBands {
  readonly #folder: string;
  readonly #bands = new Map<string, OpenBand>();
  #order: OpenBand[] = [];
  #refreshing: Promise<void> = Promise.resolve();

  /** `installed/`: bands by publisher and index. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  get count(): number {
    return this.#bands.size;
  }

  /** Where the item is; undefined when no band knows. */
  async locate(id: string): Promise<SubscribedPlace | undefined> {
    if (this.#order.length === 0) return undefined;
    const key = Buffer.from(id, 'base64url');
    if (key.length !== 32) return undefined;
    for (let order = this.#order; ; ) {
      const place = await lookUpIn(order, key);
      // A band that was retired on the way has been replaced: its successor knows.
      if (place !== undefined || order === this.#order) return place;
      order = this.#order;
    }
  }

  /** Opens bands that came and closes those that went; calls one after the other. */
  refresh(): Promise<void> {
    this.#refreshing = this.#refreshing.catch(() => {}).then(() => this.#refresh());
    return this.#refreshing;
  }

  async close(): Promise<void> {
    await this.#refreshing.catch(() => {});
    for (const path of [...this.#bands.keys()]) await this.#drop(path);
  }

  async #refresh(): Promise<void> {
    const there = new Set<string>();
    for (const publisher of await folderNames(this.#folder)) {
      const index = join(this.#folder, publisher, rootIndex.name);
      for (const band of await folderNames(index)) {
        const path = join(index, band);
        const manifest = await readBounded(join(path, manifestName), maxManifestBytes);
        if (manifest === undefined) continue;
        there.add(path);
        if (!this.#bands.has(path)) this.#bands.set(path, await openBand(path, manifest));
      }
    }
    // Those that came are found before those that went are let go.
    this.#order = [...this.#bands.values()].sort((a, b) => b.newest - a.newest);
    for (const path of [...this.#bands.keys()]) if (!there.has(path)) await this.#drop(path);
  }

  async #drop(path: string): Promise<void> {
    const band = this.#bands.get(path);
    this.#bands.delete(path);
    this.#order = this.#order.filter((other) => other !== band);
    // A file handle closes when the reads under way are done.
    for (const { file } of band?.partitions.values() ?? []) await file.close();
  }
}

async function openBand(path: string, manifestBytes: Buffer): Promise<OpenBand> {
  const manifest = parseManifest(manifestBytes);
  const range = heightRangeOf(manifest);
  const partitions = new Map<number, Partition>();
  try {
    for (const { prefix, filename } of manifest.partitions) {
      const handle = await open(join(path, filename), 'r');
      const file = new PagedFile(handle, (await handle.stat()).size);
      const header = Buffer.alloc(headerBytes);
      await handle.read(header, 0, headerBytes, 0);
      partitions.set(Number.parseInt(prefix, 16), { file, header });
    }
  } catch (error) {
    for (const { file } of partitions.values()) await file.close();
    throw error;
  }
  return { newest: range === undefined ? -1 : (range[1] ?? Number.MAX_SAFE_INTEGER), partitions };
}

async function lookUpIn(bands: readonly OpenBand[], key: Buffer): Promise<SubscribedPlace | undefined> {
  for (const band of bands) {
    const place = await lookUp(band, key).catch(() => undefined);
    if (place !== undefined) return place;
  }
  return undefined;
}

async function lookUp(band: OpenBand, key: Buffer): Promise<SubscribedPlace | undefined> {
  const partition = band.partitions.get(key[0]!);
  if (partition === undefined) return undefined;
  const value = await findInCdb64(partition.file.read, partition.header, key);
  if (value === undefined) return undefined;
  const { path, offsets } = decodeRootEntry(value);
  if (offsets?.size === undefined) return undefined;
  return {
    root: path[0]!.toString('base64url'),
    itemOffset: offsets.item,
    dataOffset: offsets.data,
    itemSize: offsets.size,
  };
}
