/**
 * Makes commits durable without blocking the event loop on the disk.
 *
 * The writer runs with `synchronous=NORMAL`: COMMIT writes its frames to the write-ahead log and returns
 * without a sync. A commit counts as done only after an `fdatasync` of the log, on a descriptor of our own,
 * that began after COMMIT returned. Why this is as durable as `synchronous=FULL`:
 *
 * - fdatasync flushes all dirty pages of the file and the size needed to read them, through whichever
 *   descriptor they were written. Once it returns, the commit's frames and all before them are on disk, and
 *   recovery replays the log from its header to the last commit whose checksums hold (sqlite.org/walformat).
 * - The log is overwritten from its start only after a checkpoint has copied every frame into the database.
 *   With NORMAL, SQLite syncs the log before a checkpoint reads it, syncs the database after, and syncs the
 *   log's new header before frames follow it. So frames that are overwritten before our sync came are
 *   durable already, in the database; the sync that then runs is superfluous, not wrong. The same holds when
 *   another process checkpoints.
 * - The log is removed only by the last connection that closes, and our writer is open; truncation keeps
 *   the file. A removed file is noticed all the same (link count) and the new one opened, its folder synced.
 * - SQLite's POSIX locks live on the database and its -shm file, never on the -wal file, so that closing our
 *   descriptor drops no lock of the engine.
 *
 * Commits are visible to other connections a moment before they are durable. `Sql` therefore lets no answer
 * out, neither of a transaction nor of a read, before everything it may have seen is durable.
 *
 * When a sync fails, the kernel may have dropped the pages it could not write: what is on disk is unknown,
 * and trying again would wrongly succeed. The database then refuses all work until the process restarts.
 */
import { close, closeSync, fdatasync, fstatSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncFolderBlocking } from '../../../kernel/files.ts';
import { DatabaseUnavailable } from '../sql.ts';

export type Datasync = (descriptor: number, done: (error: Error | null) => void) => void;

interface Waiter {
  readonly commit: number;
  resolve(): void;
  reject(error: Error): void;
}

export class WalSync {
  readonly #path: string;
  readonly #datasync: Datasync;
  #descriptor: number | undefined;
  #committed = 0;
  #durable = 0;
  #syncing = false;
  #failure: DatabaseUnavailable | undefined;
  #waiters: Waiter[] = [];

  /** `datasync` is fdatasync; tests watch it, hold it up or let it fail. */
  constructor(databasePath: string, datasync: Datasync = fdatasync) {
    this.#path = `${databasePath}-wal`;
    this.#datasync = datasync;
  }

  /** Called after each COMMIT that may have written, by us or by another process. */
  committed(): void {
    this.#committed += 1;
  }

  /** True when something visible may not be durable yet. */
  get pending(): boolean {
    return this.#durable < this.#committed || this.#failure !== undefined;
  }

  /** Throws when a sync has failed before. */
  assertSound(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Resolves when every commit so far is on disk. Syncs run one at a time and cover all that came before. */
  flushed(): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (this.#durable === this.#committed) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#waiters.push({ commit: this.#committed, resolve, reject });
      if (!this.#syncing) this.#sync();
    });
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  #sync(): void {
    const covered = this.#committed;
    this.#syncing = true;
    try {
      this.#datasync(this.#openLog(), (error) => this.#synced(covered, error));
    } catch (error) {
      this.#synced(covered, error instanceof Error ? error : new Error(String(error)));
    }
  }

  #synced(covered: number, error: Error | null): void {
    this.#syncing = false;
    const waiters = this.#waiters;
    if (error !== null) {
      this.#failure = new DatabaseUnavailable(`the log could not be synced: ${error.message}`, {
        cause: error,
      });
      this.#waiters = [];
      for (const waiter of waiters) waiter.reject(this.#failure);
      return;
    }
    this.#durable = covered;
    this.#waiters = waiters.filter((waiter) => waiter.commit > covered);
    for (const waiter of waiters) if (waiter.commit <= covered) waiter.resolve();
    if (this.#waiters.length > 0 && !this.#syncing) this.#sync();
  }

  #openLog(): number {
    if (this.#descriptor !== undefined) {
      if (fstatSync(this.#descriptor).nlink > 0) return this.#descriptor;
      close(this.#descriptor);
    }
    this.#descriptor = openSync(this.#path, 'r+');
    syncFolderBlocking(dirname(this.#path));
    return this.#descriptor;
  }
}
