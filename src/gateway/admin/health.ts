/** What a gateway cannot live without beside the chain: a database that takes writes, and room on its disk. */
import { statfs } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql } from '../../storage/sql/sql.ts';

export interface VitalsOptions {
  readonly sql: Sql;
  readonly dataDir: string;
  readonly minFreeBytes: number;
}

/** Probes may come many times a second; they are told what was found a moment ago. */
const freshMs = 2_000;
const writeTimeoutMs = 5_000;

export class Vitals {
  readonly #options: VitalsOptions;
  #found: Promise<readonly string[]> | undefined;
  #foundAt = 0;

  constructor(options: VitalsOptions) {
    this.#options = options;
  }

  /** What is wrong, in sentences for the health check and for `debug`. */
  reasons(): Promise<readonly string[]> {
    const now = performance.now();
    if (this.#found === undefined || now - this.#foundAt > freshMs) {
      this.#foundAt = now;
      this.#found = this.#look();
    }
    return this.#found;
  }

  async #look(): Promise<readonly string[]> {
    const [database, disk] = await Promise.all([this.#writes(), this.#room()]);
    return [database, disk].filter((reason) => reason !== undefined);
  }

  async #writes(): Promise<string | undefined> {
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
    const late = new AbortController();
    const timeout = sleep(writeTimeoutMs, false, { signal: late.signal, ref: false }).catch(() => false);
    const isWritten = await Promise.race([writing, timeout]);
    late.abort();
    return isWritten ? undefined : 'The database does not take writes.';
  }

  async #room(): Promise<string | undefined> {
    const { dataDir, minFreeBytes } = this.#options;
    const { bavail, bsize } = await statfs(dataDir).catch(() => ({ bavail: Number.NaN, bsize: 1 }));
    if (Number.isNaN(bavail)) return 'DATA_DIR cannot be read.';
    if (bavail * bsize >= minFreeBytes) return undefined;
    return `The disk of DATA_DIR has ${Math.floor((bavail * bsize) / 1024 / 1024)} MiB left.`;
  }
}
