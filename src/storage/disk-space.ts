/**
 * Keeps a minimum of free disk space whatever strangers write. Bytes that were announced and are not written yet count
 * as used, so that many large bodies at once cannot go below the minimum together. The file system is asked once a
 * second at most; what is written in between is counted here.
 */
import { statfs } from 'node:fs/promises';
import type { Logger } from '../kernel/log.ts';

export interface DiskSpaceOptions {
  /** Where the databases are: only the minimum is kept. */
  readonly dataFolder: string;
  /** Where bodies are written; undefined where they do not come to a disk of ours. */
  readonly bodyFolder: string | undefined;
  /** 0 = no minimum. */
  readonly minFreeBytes: number;
  readonly log: Logger;
  /** Free bytes of the file system that a folder is on, for programs without privileges. */
  readonly freeBytes?: FreeBytes | undefined;
}

export type FreeBytes = (folder: string) => Promise<number>;

/** These bytes would leave less than the minimum free. Nothing was written. */
export class DiskNearlyFull extends Error {
  override readonly name = 'DiskNearlyFull';
}

const freshMs = 1_000;
/** How often the file system is asked when nobody reserves, for the log and the metrics. */
const refreshMs = 10_000;
const unlimited = Number.POSITIVE_INFINITY;

export class DiskSpace {
  readonly #options: DiskSpaceOptions;
  readonly #freeBytes: FreeBytes;
  #timer: NodeJS.Timeout | undefined;
  #refreshing: Promise<void> | undefined;
  #refreshedAt = Number.NEGATIVE_INFINITY;
  #dataFree = unlimited;
  #bodyFree = unlimited;
  /** All that was written through reservations, and how much of it when the file system was asked. */
  #written = 0;
  #writtenBefore = 0;
  #reserved = 0;
  #isLow = false;
  #isKnown = true;

  constructor(options: DiskSpaceOptions) {
    this.#options = options;
    this.#freeBytes = options.freeBytes ?? askFileSystem;
  }

  /** What was free when last asked, on the disk that has less of it; infinite where that is not known. */
  get freeBytes(): number {
    return Math.min(this.#dataFree, this.#bodyFree);
  }

  /** Announced, and not written yet. */
  get reservedBytes(): number {
    return this.#reserved;
  }

  get isLow(): boolean {
    return this.#isLow;
  }

  async start(): Promise<void> {
    this.#timer = setInterval(() => void this.#refresh(), refreshMs).unref();
    await this.#refresh();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#refreshing;
  }

  /** Reserves space for a body of so many bytes, 0 where that is not known. Throws `DiskNearlyFull`. */
  async reserve(bytes: number): Promise<SpaceReservation> {
    if (performance.now() - this.#refreshedAt >= freshMs) await this.#refresh();
    this.#take(bytes);
    return new SpaceReservation(bytes, {
      more: (missing) => {
        if (performance.now() - this.#refreshedAt >= freshMs) void this.#refresh();
        this.#take(missing);
      },
      wrote: (written) => {
        this.#written += written;
        this.#reserved -= written;
      },
      release: (left) => {
        this.#reserved -= left;
      },
    });
  }

  #take(bytes: number): void {
    const { minFreeBytes, bodyFolder } = this.#options;
    const unseen = this.#written - this.#writtenBefore;
    const bodySpace = bodyFolder === undefined ? unlimited : this.#bodyFree - unseen - this.#reserved - bytes;
    const isFull = Math.min(this.#dataFree, bodySpace) < minFreeBytes;
    if (minFreeBytes > 0 && isFull) throw new DiskNearlyFull(`less than ${minFreeBytes} bytes would be free`);
    this.#reserved += bytes;
  }

  /** Callers at the same time share one request. */
  #refresh(): Promise<void> {
    this.#refreshing ??= this.#ask().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #ask(): Promise<void> {
    const { dataFolder, bodyFolder, log, minFreeBytes } = this.#options;
    // What is written while the file system answers may or may not be in its answer: it is counted here too.
    const written = this.#written;
    try {
      [this.#dataFree, this.#bodyFree] = await Promise.all([
        this.#freeBytes(dataFolder),
        bodyFolder === undefined ? unlimited : this.#freeBytes(bodyFolder),
      ]);
      this.#writtenBefore = written;
      this.#isKnown = true;
    } catch (error) {
      if (this.#isKnown)
        log.warn({ err: error }, 'the free space of the disk is not known: no floor is kept');
      this.#isKnown = false;
      [this.#dataFree, this.#bodyFree] = [unlimited, unlimited];
    }
    this.#refreshedAt = performance.now();
    const isLow = this.freeBytes < minFreeBytes;
    if (isLow === this.#isLow) return;
    this.#isLow = isLow;
    const state = { freeBytes: this.freeBytes, minFreeBytes };
    if (isLow) log.error(state, 'the disk is nearly full: uploads are refused');
    else log.warn(state, 'the disk has room again: uploads are taken');
  }
}

interface ReservationSteps {
  more(bytes: number): void;
  wrote(bytes: number): void;
  release(left: number): void;
}

/** Space for one body, from before it is read until it is written or given up. */
export class SpaceReservation {
  readonly #steps: ReservationSteps;
  #left: number;

  constructor(bytes: number, steps: ReservationSteps) {
    this.#left = bytes;
    this.#steps = steps;
  }

  /** These bytes are written next. Beyond what was announced it reserves more, or throws `DiskNearlyFull`. */
  use(bytes: number): void {
    if (bytes > this.#left) {
      this.#steps.more(bytes - this.#left);
      this.#left = bytes;
    }
    this.#left -= bytes;
    this.#steps.wrote(bytes);
  }

  /** Nothing more is written. May be called again. */
  release(): void {
    this.#steps.release(this.#left);
    this.#left = 0;
  }
}

async function askFileSystem(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
