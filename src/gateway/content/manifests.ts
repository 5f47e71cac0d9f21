/** Paths inside manifests. A manifest never changes, so that each is read and parsed once. */
import { LRUCache } from 'lru-cache';
import {
  type Manifest,
  type ManifestHit,
  manifestContentType,
  maxManifestBytes,
  resolveManifestPath,
} from '../../formats/manifest/manifest.ts';
import { readManifestInSteps } from '../../formats/manifest/read-in-steps.ts';
import { upstreamUnavailable } from '../errors.ts';
import type { Content } from './content.ts';
import type { Described } from './opened.ts';

/** Memory for parsed manifests, counted as a multiple of their text. */
const maxBytes = 64 * 1024 * 1024;
const entryBytes = 512;
/** Larger ones are read a few at a time, since each may take some hundred megabytes meanwhile. */
const largeBytes = 1024 * 1024;
const maxLarge = 4;

export class Manifests {
  readonly #content: Content;
  readonly #parsed = new LRUCache<string, { manifest: Manifest | undefined; bytes: number }>({
    maxSize: maxBytes,
    sizeCalculation: ({ bytes }) => bytes + entryBytes,
  });
  readonly #reading = new Map<string, Promise<Manifest | undefined>>();
  #large = 0;

  constructor(content: Content) {
    this.#content = content;
  }

  isManifest(described: Described): boolean {
    return described.contentType?.split(';', 1)[0]?.trim().toLowerCase() === manifestContentType;
  }

  /** `path` is decoded. undefined: nothing is there, or the document is no manifest. */
  async resolve(described: Described, path: string): Promise<ManifestHit | undefined> {
    const manifest = await this.#manifest(described);
    return manifest === undefined ? undefined : resolveManifestPath(manifest, path);
  }

  #manifest(described: Described): Promise<Manifest | undefined> | Manifest | undefined {
    const kept = this.#parsed.get(described.id);
    if (kept !== undefined) return kept.manifest;
    let reading = this.#reading.get(described.id);
    if (reading === undefined) {
      reading = this.#read(described).finally(() => this.#reading.delete(described.id));
      this.#reading.set(described.id, reading);
    }
    return reading;
  }

  async #read({ id, size }: Described): Promise<Manifest | undefined> {
    if (size > maxManifestBytes) return undefined;
    const isLarge = size > largeBytes;
    if (isLarge && this.#large >= maxLarge) {
      throw upstreamUnavailable(new Error('many large manifests are being read'));
    }
    if (isLarge) this.#large += 1;
    try {
      const opened = await this.#content.stream(id);
      if (opened === undefined) return undefined;
      const manifest = await readManifestInSteps(opened.stream);
      // Parsed entries take a few times the room of their text. The largest is kept too, if alone: to read it for each
      // request would keep the processor busy.
      this.#parsed.set(id, { manifest, bytes: Math.min(size * 3, maxBytes - entryBytes) });
      return manifest;
    } finally {
      if (isLarge) this.#large -= 1;
    }
  }
}
