/** The bands in use: opened when they appear, searched newest first, closed when they are retired. */
import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { findInCdb64 } from '../../../formats/cdb64/find.ts';
import { headerBytes } from '../../../formats/cdb64/layout.ts';
import { decodeRootEntry } from '../../../formats/cdb64/root-entry.ts';
import { hasCode } from '../../../kernel/errors.ts';
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
  /** Which installation it is: a damaged band is installed again under its name. */
  readonly installed: string;
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
  #onChanged: (folder: string) => void = () => {};
  #refreshing: Promise<void> = Promise.resolve();

  /** `installed/`: bands by publisher and index. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** `listener` is told of folders in which a file was changed while its band is in use. */
  onChanged(listener: (folder: string) => void): void {
    this.#onChanged = listener;
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

  /**
   * Opens bands that came and closes those that went; calls one after the other. A band that cannot be opened costs
   * no other: the first failure is thrown at the end.
   */
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
    const broken: unknown[] = [];
    for (const publisher of await folderNames(this.#folder)) {
      const index = join(this.#folder, publisher, rootIndex.name);
      for (const band of await folderNames(index)) {
        const path = join(index, band);
        try {
          const installed = await installedAt(path);
          if (installed === undefined) continue;
          there.add(path);
          if (this.#bands.get(path)?.installed === installed) continue;
          await this.#drop(path);
          this.#bands.set(path, await openBand(path, installed, () => this.#onChanged(path)));
        } catch (error) {
          broken.push(new Error(`${path} cannot be opened`, { cause: error }));
        }
      }
    }
    // New bands are searched before those that are gone are closed.
    this.#order = [...this.#bands.values()].sort((a, b) => b.newest - a.newest);
    for (const path of [...this.#bands.keys()]) if (!there.has(path)) await this.#drop(path);
    if (broken.length > 0) throw broken[0];
  }

  async #drop(path: string): Promise<void> {
    const band = this.#bands.get(path);
    this.#bands.delete(path);
    this.#order = this.#order.filter((other) => other !== band);
    // A file handle closes when the reads under way are done.
    for (const { file } of band?.partitions.values() ?? []) await file.close();
  }
}

/** undefined where there is no manifest: the band is being removed. */
async function installedAt(path: string): Promise<string | undefined> {
  try {
    const { ino, mtimeMs, size } = await stat(join(path, manifestName));
    return `${ino}:${mtimeMs}:${size}`;
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}

async function openBand(path: string, installed: string, onChanged: () => void): Promise<OpenBand> {
  const manifest = parseManifest(
    (await readBounded(join(path, manifestName), maxManifestBytes)) ?? Buffer.alloc(0),
  );
  const range = heightRangeOf(manifest);
  const partitions = new Map<number, Partition>();
  try {
    for (const { prefix, filename } of manifest.partitions) {
      const handle = await open(join(path, filename), 'r');
      try {
        const file = new PagedFile(handle, await handle.stat(), onChanged);
        const header = Buffer.alloc(headerBytes);
        await handle.read(header, 0, headerBytes, 0);
        partitions.set(Number.parseInt(prefix, 16), { file, header });
      } catch (error) {
        await handle.close();
        throw error;
      }
    }
  } catch (error) {
    for (const { file } of partitions.values()) await file.close();
    throw error;
  }
  const newest = range === undefined ? -1 : (range[1] ?? Number.MAX_SAFE_INTEGER);
  return { installed, newest, partitions };
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
