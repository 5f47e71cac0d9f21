/** Files that a model may have sent: those in one folder, whatever way a path or a link tries to lead out of it. */
import { realpath, stat } from 'node:fs/promises';
import { basename, isAbsolute, relative, resolve, sep } from 'node:path';
import { StartupError } from '../../kernel/errors.ts';

export class AllowedFiles {
  readonly #folder: string | undefined;
  readonly #secrets: readonly string[];

  /** `secrets`: files that are never sent, wherever they lie: the keys. */
  constructor(folder: string | undefined, secrets: readonly string[]) {
    this.#folder = folder;
    this.#secrets = secrets;
  }

  /** The file's own path, without links. Throws where it may not be sent, or is larger than `maxBytes`. */
  async find(path: string, maxBytes: number): Promise<string> {
    if (this.#folder === undefined) {
      throw new StartupError('no files may be sent: the program was started without --folder');
    }
    const folder = await realpath(this.#folder);
    const refused = new StartupError(`only files in ${folder} may be sent`);
    if (path.includes('\0')) throw refused;
    const real = await realpath(resolve(folder, path)).catch(() => undefined);
    if (real === undefined) throw new StartupError('there is no such file in the folder');
    const inside = relative(folder, real);
    if (inside === '' || inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside))
      throw refused;
    const found = await stat(real);
    if (!found.isFile()) throw new StartupError(`${basename(real)} is no file`);
    if (found.size > maxBytes) throw new StartupError(`${basename(real)} has more than ${maxBytes} bytes`);
    for (const secret of this.#secrets) {
      if ((await realpath(secret).catch(() => undefined)) === real) throw refused;
    }
    if (inside.split(sep).some((part) => part.startsWith('.'))) {
      throw new StartupError('files and folders whose name begins with a dot are not sent');
    }
    return real;
  }
}
