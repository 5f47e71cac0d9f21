/** Parsed manifests. A manifest never changes, so that each is read and parsed once. */
import { LRUCache } from 'lru-cache';
import { type Manifest, manifestContentType } from '../formats/manifest/manifest.ts';
import { Together } from '../kernel/background/together.ts';

/** Memory for parsed manifests, counted as a multiple of their text. */
const maxBytes = 64 * 1024 * 1024;
const entryBytes = 512;

export function isManifestType(contentType: string | undefined): boolean {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase() === manifestContentType;
}

export interface ReadManifest<M extends Manifest | undefined> {
  readonly manifest: M;
  /** Bytes of its text. */
  readonly size: number;
}

/** `M` includes undefined where it is remembered too that a document is no manifest. */
export class ManifestCache<M extends Manifest | undefined> {
  readonly #parsed = new LRUCache<string, ReadManifest<M>>({
    maxSize: maxBytes,
    // Parsed entries take a few times the room of their text. The largest is kept too, if alone: to read it for each
    // request would keep the processor busy.
    sizeCalculation: ({ size }) => Math.min(size * 3 + entryBytes, maxBytes),
  });
  readonly #reading = new Together<string, M>();

  has(id: string): boolean {
    return this.#parsed.has(id);
  }

  /** `read` is called once for all who ask at the same time; what it throws is not kept. */
  get(id: string, read: () => Promise<ReadManifest<M>>): Promise<M> | M {
    const kept = this.#parsed.get(id);
    if (kept !== undefined) return kept.manifest;
    return this.#reading.run(id, async () => {
      const found = await read();
      this.#parsed.set(id, found);
      return found.manifest;
    });
  }
}
