/** Paths inside manifests. */
import { ManifestCache } from '../../delivery/manifests.ts';
import {
  type Manifest,
  type ManifestHit,
  maxManifestBytes,
  resolveManifestPath,
} from '../../formats/manifest/manifest.ts';
import { readManifestInSteps } from '../../formats/manifest/reader.ts';
import { upstreamUnavailable } from '../errors.ts';
import type { Content } from './content.ts';
import type { Described } from './opened.ts';

/** Larger ones are read a few at a time, since each may take some hundred megabytes meanwhile. */
const largeBytes = 1024 * 1024;
const maxLarge = 4;

export class Manifests {
  readonly #content: Content;
  readonly #parsed = new ManifestCache<Manifest | undefined>();
  #large = 0;

  constructor(content: Content) {
    this.#content = content;
  }

  /** `path` is decoded. undefined: nothing is there, or the document is no manifest. */
  async resolve({ id, size }: Described, path: string): Promise<ManifestHit | undefined> {
    if (size > maxManifestBytes) return undefined;
    const manifest = await this.#parsed.get(id, async () => ({ manifest: await this.#read(id, size), size }));
    return manifest === undefined ? undefined : resolveManifestPath(manifest, path);
  }

  async #read(id: string, size: number): Promise<Manifest | undefined> {
    const isLarge = size > largeBytes;
    if (isLarge && this.#large >= maxLarge) {
      throw upstreamUnavailable(new Error('many large manifests are being read'));
    }
    if (isLarge) this.#large += 1;
    try {
      const opened = await this.#content.stream(id);
      return await readManifestInSteps(opened.stream);
    } finally {
      if (isLarge) this.#large -= 1;
    }
  }
}
