/** Manifests, resolved here from proven bytes: whoever serves the content has no say in which content it is. */
import { ManifestCache } from '../../delivery/manifests.ts';
import type { TxId } from '../../formats/base64url.ts';
import { type Manifest, type ManifestHit, resolveManifestPath } from '../../formats/manifest/manifest.ts';
import { readManifestInSteps } from '../../formats/manifest/reader.ts';
import { manifestError, manifestPathNotFound } from '../errors.ts';

export class Manifests {
  readonly #maxBytes: number;
  readonly #parsed = new ManifestCache<Manifest>();

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
    const manifest = await this.#parsed.get(id, async () => {
      this.#refuseLarge(id, size ?? 0);
      const bytes = await read();
      this.#refuseLarge(id, bytes.length);
      const parsed = await readManifestInSteps([bytes]);
      if (parsed === undefined)
        throw manifestError(id, 'The content is no manifest although its type says so');
      return { manifest: parsed, size: bytes.length };
    });
    const hit = resolveManifestPath(manifest, path);
    if (hit === undefined) throw manifestPathNotFound(id, path);
    return hit;
  }

  has(id: TxId): boolean {
    return this.#parsed.has(id);
  }

  #refuseLarge(id: TxId, size: number): void {
    if (size > this.#maxBytes) throw manifestError(id, 'The manifest is too large');
  }
}
