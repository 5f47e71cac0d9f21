/**
 * Names that were changed through this operator's own name service: what is remembered of them is dropped at once, by
 * every process that shares the database.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { createJob, type Job } from '../kernel/background/job.ts';
import type { Logger } from '../kernel/log.ts';
import type { Sql } from '../storage/sql/sql.ts';

/** What somebody changed on the chain: where a name or one of its undernames (`@` is the name's own) points. */
export interface NameChange {
  readonly name: string;
  /** Undefined: all of them. */
  readonly undername?: string | undefined;
}

/** The table that processes pass changes on by. */
export const nameChangesTable = `
CREATE TABLE name_changes (
  change_id SERIAL_KEY,
  name TEXT NOT NULL,
  undername TEXT,
  changed_at BIGINT NOT NULL
);
CREATE INDEX name_changes_at ON name_changes (changed_at);`;

/** How often the other processes look. */
const everyMs = 500;
/** Rows are read for so long: clocks differ, and a transaction may end late. */
const readMs = 60_000;
const maxRead = 10_000;

interface NameChangesOptions {
  readonly sql: Sql;
  readonly log: Logger;
  readonly names: { forget(change: NameChange): void };
  /** Other processes have the same database. */
  readonly isShared: boolean;
  readonly now?: () => number;
}

interface ChangeRow {
  readonly change_id: number;
  readonly name: string;
  readonly undername: string | null;
}

export class NameChanges {
  readonly #options: NameChangesOptions;
  readonly #now: () => number;
  readonly #heard = new LRUCache<number, true>({ max: maxRead });
  /** Hears what the other processes were told; none where there are no others. */
  readonly jobs: readonly Job[];

  constructor(options: NameChangesOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    const { log } = options;
    this.jobs = options.isShared
      ? [createJob({ name: 'hear of changed names', everyMs, log, run: () => this.hear() })]
      : [];
  }

  /** Resolves when every process has dropped them, or had the time to. */
  async tell(changes: readonly NameChange[]): Promise<void> {
    const { sql, names, isShared } = this.#options;
    for (const change of changes) names.forget(change);
    if (!isShared || changes.length === 0) return;
    const at = this.#now();
    await sql.transaction(async (tx) => {
      await tx.run('DELETE FROM name_changes WHERE changed_at < ?', at - 2 * readMs);
      for (const { name, undername } of changes) {
        await tx.run(
          'INSERT INTO name_changes (name, undername, changed_at) VALUES (?, ?, ?)',
          name,
          undername ?? null,
          at,
        );
      }
    });
    await pause(everyMs);
  }

  async hear(): Promise<void> {
    const { sql, names } = this.#options;
    const rows = await sql.all<ChangeRow>(
      'SELECT change_id, name, undername FROM name_changes WHERE changed_at > ? ORDER BY changed_at DESC LIMIT ?',
      this.#now() - readMs,
      maxRead,
    );
    for (const { change_id: id, name, undername } of rows) {
      if (this.#heard.has(id)) continue;
      this.#heard.set(id, true);
      names.forget({ name, undername: undername ?? undefined });
    }
  }
}
