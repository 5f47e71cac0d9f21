/**
 * The folders of a disk store, made when first used, and their syncs.
 *
 * A file's name is durable when its folder is synced after the rename, and the folder's own name when its
 * parent is. Writers that wait for the same folder share one sync.
 */
import { dirname } from 'node:path';
import { privateFolderMode } from '../../../kernel/private-files.ts';
import type { Files } from './files.ts';

interface RunningSync {
  readonly done: Promise<void>;
  /** For those who came after this sync had begun, which may not cover them. */
  next: Promise<void> | undefined;
}

export class Folders {
  readonly #root: string;
  readonly #files: Files;
  readonly #durable: boolean;
  /** At most 65,793 keys: two levels of 256, and the folder of temporary files. */
  readonly #made = new Map<string, Promise<unknown>>();
  /** Folders whose own name is known to be on disk. */
  readonly #anchored: Set<string>;
  readonly #running = new Map<string, RunningSync>();

  constructor(root: string, files: Files, durable: boolean) {
    this.#root = root;
    this.#files = files;
    this.#durable = durable;
    this.#anchored = new Set([root]);
  }

  async make(folder: string): Promise<void> {
    let made = this.#made.get(folder);
    if (made === undefined) {
      made = this.#files.mkdir(folder, { recursive: true, mode: privateFolderMode });
      this.#made.set(folder, made);
      made.catch(() => this.#made.delete(folder));
    }
    await made;
  }

  /** Resolves when every name put into the folder before the call is on disk, and the folder's own too. */
  async sync(folder: string): Promise<void> {
    if (!this.#durable) return;
    const syncs = [this.#shared(folder)];
    const chain: string[] = [];
    // Another process may have made a folder and not synced it yet, so that finding it proves nothing.
    for (
      let path = folder;
      !this.#anchored.has(path) && path.length > this.#root.length;
      path = dirname(path)
    ) {
      chain.push(path);
      syncs.push(this.#shared(dirname(path)));
    }
    await Promise.all(syncs);
    for (const path of chain) this.#anchored.add(path);
  }

  #shared(folder: string): Promise<void> {
    const running = this.#running.get(folder);
    if (running === undefined) return this.#start(folder);
    running.next ??= running.done.then(
      () => this.#start(folder),
      () => this.#start(folder),
    );
    return running.next;
  }

  #start(folder: string): Promise<void> {
    const running: RunningSync = { done: this.#syncNow(folder), next: undefined };
    this.#running.set(folder, running);
    const forget = (): void => {
      if (running.next === undefined) this.#running.delete(folder);
    };
    running.done.then(forget, forget);
    return running.done;
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
