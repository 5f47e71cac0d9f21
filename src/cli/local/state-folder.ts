/**
 * The state of a local installation as files below DATA_DIR, replaced as a whole and by renames: whatever fails or is
 * cut off half-way, the next start has the state from before.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { privateFolderMode } from '../../kernel/private-files.ts';

/**
 * Everything that the program keeps in DATA_DIR and that belongs to the state: chains, databases, blobs, caches. Not
 * the keys, and nothing that another program put there.
 */
const stateEntries: readonly RegExp[] = [
  /^localnet$/,
  /^(?:ledger|gateway|telemetry)\.db(?:-wal|-shm)?$/,
  /^(?:blobs|gateway-cache|content-cache|indexes|parquet)$/,
  /^(?:blocklist|followed-blocklist-[a-z-]+)\.json$/,
  /^[a-z-]+-audit\.jsonl$/,
];

/** Of them, what fills again by itself. */
const cacheEntries: readonly string[] = ['gateway-cache', 'content-cache'];

export const isStateEntry = (name: string): boolean => stateEntries.some((entry) => entry.test(name));

/** Where the state from before waits until the new one has started. */
const replacedName = 'replaced';
/** In it: all of the state from before is here, and what is in its place is the new one. */
const wholeName = '.whole';
const discardedName = 'discarded';
/** For files that are being saved or loaded. */
const scratchName = 'scratch';

export interface Replacement {
  /** The state from before is removed. */
  keep(): Promise<void>;
  /** The state from before is put back. */
  undo(): void;
}

export class StateFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** Names of the files and folders that the state is made of now. */
  entries(folder = this.path): string[] {
    return readdirSync(folder).filter(isStateEntry);
  }

  /** Those of them that a copy of the state is made of. */
  lasting(): string[] {
    return this.entries().filter((name) => !cacheEntries.includes(name));
  }

  /** A folder for files on their way, emptied at every start. */
  scratch(): string {
    const path = join(this.path, scratchName);
    mkdirSync(path, { recursive: true, mode: privateFolderMode });
    return path;
  }

  /** Undoes a change that was cut off. Before anything of the state is opened. */
  recover(): void {
    for (const name of [discardedName, scratchName]) {
      rmSync(join(this.path, name), { recursive: true, force: true });
    }
    if (existsSync(join(this.path, replacedName))) this.#putBack();
  }

  /** Puts the state aside, with what `also` is to be replaced, and lets `fill` make another; nothing of it is open. */
  async replace(fill: (folder: string) => Promise<void>, also: readonly string[] = []): Promise<Replacement> {
    const aside = join(this.path, replacedName);
    mkdirSync(aside, { mode: privateFolderMode });
    try {
      const others = also.filter((name) => existsSync(join(this.path, name)));
      for (const name of [...this.entries(), ...others]) {
        renameSync(join(this.path, name), join(aside, name));
      }
      writeFileSync(join(aside, wholeName), '');
      await fill(this.path);
    } catch (error) {
      this.#putBack();
      throw error;
    }
    return { keep: () => this.#discard(), undo: () => this.#putBack() };
  }

  /** Each step can be cut off: what is removed is never the only copy. */
  #putBack(): void {
    const aside = join(this.path, replacedName);
    const whole = join(aside, wholeName);
    const before = readdirSync(aside).filter((name) => name !== wholeName);
    if (existsSync(whole)) {
      for (const name of new Set([...this.entries(), ...before])) {
        rmSync(join(this.path, name), { recursive: true, force: true });
      }
      rmSync(whole);
    }
    for (const name of before) renameSync(join(aside, name), join(this.path, name));
    rmSync(aside, { recursive: true });
  }

  async #discard(): Promise<void> {
    const discarded = join(this.path, discardedName);
    await rm(discarded, { recursive: true, force: true });
    renameSync(join(this.path, replacedName), discarded);
    await rm(discarded, { recursive: true, force: true });
  }
}
