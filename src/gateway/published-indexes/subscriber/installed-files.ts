/**
 * The files of installed bands, looked at as a scrub does. The name of a band's folder follows from the digests of its
 * files, so that a band can be judged while its publisher is away. A damaged one stays in use, because what it says of
 * an item is checked against the item, and is had again the next time that its publisher is asked.
 */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../../../kernel/errors.ts';
import type { Steps } from '../../../storage/pace.ts';
import type { Scrubbable } from '../../../storage/scrub.ts';
import { rootIndex } from '../bands/build.ts';
import { manifestName } from '../bands/manifest.ts';
import { folderNames } from '../bands/stored.ts';
import { digestFile } from '../files.ts';
import type { BandFile } from '../publication/document.ts';
import { generationOf } from './incoming.ts';

export class InstalledFiles implements Scrubbable {
  readonly #folder: string;
  readonly #onDamaged: (band: string) => void;

  /** `onDamaged` is told of the folder of each damaged band. */
  constructor(folder: string, onDamaged: (band: string) => void) {
    this.#folder = folder;
    this.#onDamaged = onDamaged;
  }

  /** Bands as `publisher/index/band`. */
  async *namesAfter(after: string, steps: Steps): AsyncGenerator<string> {
    for (const publisher of (await folderNames(this.#folder)).sort()) {
      const bands = await steps(() => folderNames(join(this.#folder, publisher, rootIndex.name)));
      const names = bands.map((band) => `${publisher}/${rootIndex.name}/${band}`);
      yield* names.filter((name) => name > after).sort();
    }
  }

  async inspect(name: string, steps: Steps): Promise<{ size: number; isSound: boolean } | undefined> {
    const folder = join(this.#folder, name);
    const files: BandFile[] = [];
    try {
      for (const file of await readdir(folder)) {
        files.push({ name: file, ...(await digestFile(join(folder, file), steps)) });
      }
    } catch (error) {
      if (!hasCode(error, 'ENOENT')) throw error;
    }
    const size = files.reduce((sum, file) => sum + file.size, 0);
    const isSound = name.endsWith(`~${generationOf(files)}`);
    // One that is being removed has lost its manifest first.
    const isThere = await stat(join(folder, manifestName)).catch(() => undefined);
    if (isThere === undefined) return undefined;
    if (!isSound) this.#onDamaged(folder);
    return { size, isSound };
  }
}
