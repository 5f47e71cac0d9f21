/** What a gateway needs beside the chain: a database that takes writes, and free space on its disk. */
import { statfs } from 'node:fs/promises';
import { within } from '../../kernel/background/within.ts';
import type { Sql } from '../../storage/sql/sql.ts';

export interface StorageHealthOptions {
  readonly sql: Sql;
  readonly dataDir: string;
  readonly minFreeBytes: number;
}

/** Health checks may come many times a second; they are answered with what was found a moment ago. */
const freshMs = 2_000;
const writeTimeoutMs = 5_000;

export class StorageHealth {
  readonly #options: StorageHealthOptions;
  #found: Promise<readonly string[]> | undefined;
  #foundAt = 0;

  constructor(options: StorageHealthOptions) {
    this.#options = options;
  }

  /** What is wrong, in sentences for the health check and for `debug`. */
  problems(): Promise<readonly string[]> {
    const now = performance.now();
    if (this.#found === undefined || now - this.#foundAt > freshMs) {
      this.#foundAt = now;
      this.#found = this.#check();
    }
    return this.#found;
  }

  async #check(): Promise<readonly string[]> {
    const [database, disk] = await Promise.all([this.#databaseProblem(), this.#diskProblem()]);
    return [database, disk].filter((problem) => problem !== undefined);
  }

  async #databaseProblem(): Promise<string | undefined> {
    const writing = this.#options.sql
      .run(
        `INSERT INTO operator_jobs (name, holder, running, status, told_at) VALUES ('probe', '', 0, '{}', ?)
         ON CONFLICT (name) DO UPDATE SET told_at = excluded.told_at`,
        Date.now(),
      )
      .then(
        () => true,
        () => false,
      );
    return (await within(writeTimeoutMs, writing)) ? undefined : 'The database does not take writes.';
  }

  async #diskProblem(): Promise<string | undefined> {
    const { dataDir, minFreeBytes } = this.#options;
    const { bavail, bsize } = await statfs(dataDir).catch(() => ({ bavail: Number.NaN, bsize: 1 }));
    if (Number.isNaN(bavail)) return 'DATA_DIR cannot be read.';
    if (bavail * bsize >= minFreeBytes) return undefined;
    return `The disk of DATA_DIR has ${Math.floor((bavail * bsize) / 1024 / 1024)} MiB left.`;
  }
}
