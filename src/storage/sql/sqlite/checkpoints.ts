/**
 * Copies the write-ahead log into the database on a thread of its own, so that the two syncs and the
 * scattered writes of a checkpoint never block the event loop.
 *
 * When the log has grown by some thousand frames, a first checkpoint runs beside the writers. What was written
 * meanwhile is then copied by a second, short one, for which writers wait: the next batch here, and those of other
 * processes, because it holds SQLite's write lock. The log is empty after it, and whoever writes next overwrites it from
 * its start. Without that pause the log of busy writers would grow for ever. A reader of an old snapshot, in whichever
 * process, delays this until it ends: the log grows meanwhile, which is told (`database_log_bytes`, and a line in the
 * log each time that it has doubled). The new header of a log that starts over is synced by SQLite inside COMMIT:
 * that one sync blocks, so that logs are not kept too short.
 *
 * How long the log is, is asked with the checkpoint mode NOOP, which SQLite has since 3.51; with an older one
 * SQLite's own checkpoints stay on, inside COMMIT.
 */
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { StorageLog } from '../sql.ts';
import type { CheckpointReply, CheckpointRequest } from './checkpoint-thread.ts';
import type { SqliteConnection } from './connection.ts';
import type { GroupCommit } from './group-commit.ts';

const batchesBetweenLooks = 32;
/** A log that was to be copied so many times over is long. */
const longLog = 16;
const pageBytes = 4_096;

export class Checkpoints {
  readonly #path: string;
  readonly #writer: SqliteConnection;
  readonly #commits: GroupCommit;
  readonly #enabled: boolean;
  #batches = 0;
  readonly #framesBetween: number;
  readonly #log: StorageLog | undefined;
  #due: number;
  /** Frames at which a long log is told of next. */
  #toldAt: number;
  #running: Promise<void> | undefined;
  #used = false;

  constructor(
    path: string,
    writer: SqliteConnection,
    commits: GroupCommit,
    { framesBetween, log }: { readonly framesBetween: number; readonly log: StorageLog | undefined },
  ) {
    this.#framesBetween = framesBetween;
    this.#log = log;
    this.#due = framesBetween;
    this.#toldAt = longLog * framesBetween;
    this.#path = path;
    this.#writer = writer;
    this.#commits = commits;
    this.#enabled = hasNoop(writer);
    if (this.#enabled) writer.execute('PRAGMA wal_autocheckpoint = 0');
  }

  /** Called after each batch that wrote. */
  batchCommitted(): void {
    this.#batches += 1;
    if (!this.#enabled || this.#running !== undefined || this.#batches % batchesBetweenLooks !== 0) return;
    const frames = this.#frames();
    if (frames < this.#due) {
      // The log was restarted by another process.
      if (frames < this.#framesBetween) this.#due = this.#framesBetween;
      return;
    }
    this.#used = true;
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  /** A look that fails, for example because another process recovers the log, is a look later. */
  #frames(): number {
    try {
      return this.#writer.get<{ log: number }>('PRAGMA wal_checkpoint(NOOP)', [])?.log ?? 0;
    } catch {
      return 0;
    }
  }

  /** The thread's connection must be gone before the last one closes, which then empties the log. */
  async close(): Promise<void> {
    await this.#running;
    if (this.#used) await ask(this.#path, 'close');
  }

  async #run(): Promise<void> {
    await ask(this.#path, 'copy');
    const rest = ask(this.#path, 'restart');
    this.#commits.hold(rest);
    const { frames, copied, blocked, error } = await rest;
    const isEmpty = error === undefined && !blocked && frames === copied;
    // A failed checkpoint loses nothing: the log keeps what it has, and the next one tries again.
    this.#due = isEmpty ? this.#framesBetween : frames + this.#framesBetween;
    this.#tell(isEmpty ? 0 : frames);
  }

  #tell(frames: number): void {
    if (frames < this.#toldAt) {
      if (frames === 0) this.#toldAt = longLog * this.#framesBetween;
      return;
    }
    this.#toldAt = 2 * frames;
    this.#log?.warn(
      { database: this.#path, logBytes: frames * pageBytes },
      'the write-ahead log grows: some process has been reading one moment of the database for long, or stands still',
    );
  }
}

function hasNoop(connection: SqliteConnection): boolean {
  const version = connection.get<{ v: string }>('SELECT sqlite_version() AS v', [])?.v ?? '';
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 3 || (major === 3 && minor >= 51);
}

let thread: Worker | undefined;
let requests = 0;
const waiting = new Map<number, (reply: CheckpointReply) => void>();

/** One thread serves all databases of the process. It keeps the process alive only while it is at work. */
function ask(path: string, what: CheckpointRequest['what']): Promise<CheckpointReply> {
  thread ??= startThread();
  const request: CheckpointRequest = { number: ++requests, path, what };
  return new Promise((resolve) => {
    waiting.set(request.number, resolve);
    thread?.ref();
    thread?.postMessage(request);
  });
}

function startThread(): Worker {
  const module = new URL(`./checkpoint-thread${extname(import.meta.filename)}`, import.meta.url);
  const started = new Worker(module, { name: 'checkpoints' });
  started.unref();
  started.on('message', (reply: CheckpointReply) => {
    waiting.get(reply.number)?.(reply);
    waiting.delete(reply.number);
    if (waiting.size === 0) started.unref();
  });
  // A thread that dies is replaced by the next request; what waited for it goes on without a checkpoint.
  const ended = (reason: string): void => {
    if (thread === started) thread = undefined;
    for (const [number, resolve] of waiting) {
      resolve({ number, frames: 0, copied: 0, blocked: false, error: reason });
    }
    waiting.clear();
  };
  started.on('error', (error) => ended(error.message));
  started.on('exit', () => ended('the thread ended'));
  return started;
}
