/**
 * The published files as they lie under their digests. A file is hashed before it is first served, and again whenever
 * the file system says that it was changed; one that is wrong loses its name, so that the next publication pins the right
 * one in its place.
 */
import { type FileHandle, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../../../kernel/errors.ts';
import { BlobDamaged } from '../../../storage/blobs/blobs.ts';
import { files } from '../../../storage/blobs/disk/files.ts';
import { Proofs } from '../../../storage/blobs/disk/proofs.ts';
import { isSameStamp } from '../../../storage/blobs/disk/stamp.ts';
import type { Steps } from '../../../storage/pace.ts';
import type { Scrubbable } from '../../../storage/scrub.ts';
import { beingUpdated, notAvailable } from '../errors.ts';
import { isSha256 } from '../names.ts';
import type { BandFile } from './document.ts';

export interface PinnedFile {
  readonly fd: number;
  /** Before the last bytes are sent: throws where the file was changed and what was read may be wrong. */
  check(): void | Promise<void>;
  close(): Promise<void>;
}

/** Of all publications of a gateway; what is beyond is hashed again. */
const maxFiles = 100_000;

export class PinnedFiles implements Scrubbable {
  readonly #folder: string;
  readonly #onDamaged: (sha256: string) => void;
  readonly #proofs = new Proofs({ files, trustsUnseen: false, maxEntries: maxFiles });

  /** `onDamaged` is told of each file that lost its name. */
  constructor(folder: string, onDamaged: (sha256: string) => void) {
    this.#folder = folder;
    this.#onDamaged = onDamaged;
  }

  /** A file with the bytes that were signed; the answer is 503 where there is none at the moment. */
  async open({ sha256 }: BandFile): Promise<PinnedFile> {
    const handle = await this.#handle(sha256);
    if (handle === undefined) throw notAvailable();
    try {
      const stamp = await this.#proofs.check(sha256, handle.fd);
      return {
        fd: handle.fd,
        check: () =>
          isSameStamp(stamp, files.fstatNow(handle.fd)) ? undefined : this.#checkAgain(sha256, handle),
        close: () => handle.close(),
      };
    } catch (error) {
      await handle.close();
      if (!(error instanceof BlobDamaged)) throw error;
      await this.#remove(sha256);
      throw beingUpdated();
    }
  }

  async *namesAfter(after: string, steps: Steps): AsyncGenerator<string> {
    const names = await steps(() => readdir(this.#folder).catch(() => []));
    yield* names.filter((name) => isSha256(name) && name > after).sort();
  }

  async inspect(sha256: string, steps: Steps): Promise<{ size: number; isSound: boolean } | undefined> {
    const handle = await this.#handle(sha256);
    if (handle === undefined) return undefined;
    try {
      const { stamp, isSound } = await this.#proofs.inspect(sha256, handle.fd, steps);
      if (!isSound) await this.#remove(sha256);
      return { size: stamp.size, isSound };
    } finally {
      await handle.close();
    }
  }

  async #checkAgain(sha256: string, handle: FileHandle): Promise<void> {
    try {
      await this.#proofs.check(sha256, handle.fd, true);
    } catch (error) {
      if (error instanceof BlobDamaged) await this.#remove(sha256);
      throw error;
    }
  }

  #handle(sha256: string): Promise<FileHandle | undefined> {
    return open(join(this.#folder, sha256), 'r').catch((error: unknown) => {
      if (hasCode(error, 'ENOENT')) return undefined;
      throw error;
    });
  }

  /** Unless it was replaced since. */
  async #remove(sha256: string): Promise<void> {
    const path = join(this.#folder, sha256);
    const found = await stat(path).catch(() => undefined);
    if (found === undefined || !this.#proofs.isDoubtful(sha256, found)) return;
    await rm(path, { force: true });
    this.#proofs.forget(sha256);
    this.#onDamaged(sha256);
  }
}
