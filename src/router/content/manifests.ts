/** Manifests, resolved here from proven bytes: whoever serves the content has no say in which content it is. */
import { LRUCache } from 'lru-cache';
import type { TxId } from '../../formats/base64url.ts';
import {
  type Manifest,
  type ManifestHit,
  manifestContentType,
  resolveManifestPath,
} from '../../formats/manifest/manifest.ts';
import { readManifestInSteps } from '../../formats/manifest/read-in-steps.ts';
import { manifestError, manifestPathNotFound } from '../errors.ts';

export function isManifestType(contentType: string): boolean {
  return contentType.split(';', 1)[0]?.trim().toLowerCase() === manifestContentType;
}

/** Text that the parsed manifests may have come from, together. */
const keptBytes = 64 * 1024 * 1024;

export class Manifests {
  readonly #maxBytes: number;
  readonly #parsed = new LRUCache<TxId, Manifest>({ maxSize: keptBytes });

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** What the path leads to. `read` gives the manifest's bytes, where they are needed. */
  async resolve(
    id: TxId,
    path: string,
    size: number | undefined,
    read: () => Promise<Buffer>,
  ): Promise<ManifestHit> {
    const known = this.#parsed.get(id);
    const manifest = known ?? (await this.#parse(id, size, read));
    const hit = resolveManifestPath(manifest, path);
    if (hit === undefined) throw manifestPathNotFound(id, path);
    return hit;
  }

  has(id: TxId): boolean {
    return this.#parsed.has(id);
  }

  async #parse(id: TxId, size: number | undefined, read: () => Promise<Buffer>): Promise<Manifest> {
    if (size !== undefined && size > this.#maxBytes) throw manifestError(id, 'The manifest is too large');
    const bytes = await read();
    if (bytes.length > this.#maxBytes) throw manifestError(id, 'The manifest is too large');
    const manifest = await readManifestInSteps([bytes]);
    if (manifest === undefined)
      throw manifestError(id, 'The content is no manifest although its type says so');
    this.#parsed.set(id, manifest, { size: bytes.length + 1_024 });
    return manifest;
  }
}
