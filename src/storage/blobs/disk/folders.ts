/**
 * The folders of a disk store, made when first used, and their syncs.
 *
 * A file's name is durable when its folder is synced after the rename, and the folder's own name when its
 * parent is. Writers that wait for the same folder share one sync.
 */
import { dirname } from 'node:path';
import type { Files } from './files.ts';

interface PendingSync {
  running: Promise<void>;
  /** For those who came after `running` had begun: it may not cover them. */
  next: Promise<void> | undefined;
}

export class Folders {
  readonly #root: string;
  readonly #files: Files;
  readonly #durable: boolean;
  /** At most 65,536 keys, two levels of 256. */
  readonly #made = new Map<string, Promise<void>>();
  readonly #syncs = new Map<string, PendingSync>();

  constructor(root: string, files: Files, durable: boolean) {
    this.#root = root;
    this.#files = files;
    this.#durable = durable;
  }

  /** Resolves when the folder is there for good. */
  make(folder: string): Promise<void> {
    const known = this.#made.get(folder);
    if (known !== undefined) return known;
    const made = this.#make(folder);
    this.#made.set(folder, made);
    made.catch(() => this.#made.delete(folder));
    return made;
  }

  /** Resolves when every name put into the folder before the call is on disk. */
  sync(folder: string): Promise<void> {
    if (!this.#durable) return Promise.resolve();
    const pending = this.#syncs.get(folder);
    if (pending !== undefined) {
      pending.next ??= pending.running.catch(() => {}).then(() => this.#startSync(folder));
      return pending.next;
    }
    return this.#startSync(folder);
  }

  async #make(folder: string): Promise<void> {
    await this.#files.mkdir(folder, { recursive: true });
    // Another process may have made the folder and not synced it yet, so that EEXIST proves nothing.
    for (let path = folder; path.length > this.#root.length; path = dirname(path))
      await this.sync(dirname(path));
  }

  #startSync(folder: string): Promise<void> {
    const running = this.#syncNow(folder);
    const entry: PendingSync = { running, next: undefined };
    this.#syncs.set(folder, entry);
    const settled = (): void => {
      if (this.#syncs.get(folder) === entry && entry.next === undefined) this.#syncs.delete(folder);
    };
    running.then(settled, settled);
    return running;
  }

  async #syncNow(folder: string): Promise<void> {
    const descriptor = await this.#files.open(folder, 'r');
    try {
      await this.#files.fsync(descriptor);
    } finally {
      await this.#files.close(descriptor);
    }
  }
}
