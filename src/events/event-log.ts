/**
 * The durable outbox. Whoever changes something appends what happened in the same transaction; readers follow the log by
 * its numbers. A row gets its number after it was committed, so that no reader passes a row that is still to appear, and
 * of two changes of one thing the later one has the larger number (the second waited for the first one's row lock).
 */
import type { Sql, SqlExecutor } from '../storage/sql/sql.ts';

/** What happened, for the log. A row may stand for several events, such as a batch of items; its source expands it. */
export interface NewEvent {
  /** Which source expands it, for example `upload`. */
  readonly topic: string;
  /** The wallet whose event it is; empty where it is everybody's. */
  readonly subject: string;
  readonly body: Uint8Array;
}

export interface LoggedEvent extends NewEvent {
  readonly seq: number;
  readonly body: Buffer;
  /** Milliseconds. */
  readonly madeAt: number;
}

/** How many rows one pass numbers, and one read answers at most. */
const batch = 1_000;

export async function appendEvents(
  tx: SqlExecutor,
  events: readonly NewEvent[],
  nowMs: number,
): Promise<void> {
  for (const { topic, subject, body } of events) {
    await tx.run(
      'INSERT INTO event_log (topic, subject, body, made_at) VALUES (?, ?, ?, ?)',
      topic,
      subject,
      body,
      nowMs,
    );
  }
}

/** Drops everything, where what it tells of is gone. Numbers go on where they were, and nobody has missed anything. */
export async function forgetEvents(tx: SqlExecutor): Promise<void> {
  await tx.run('DELETE FROM event_log');
  await tx.run(
    `UPDATE event_state SET value = (SELECT s.value FROM event_state s WHERE s.name = 'numbered')
     WHERE name = 'pruned'`,
  );
}

interface LogRow {
  readonly seq: number;
  readonly topic: string;
  readonly subject: string;
  readonly body: Buffer;
  readonly made_at: number;
}

export class EventLog {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Gives committed rows their numbers; answers the newest number. Processes do it one after the other. */
  async number(): Promise<number> {
    // Most of the time there is nothing to do: no transaction for that.
    const unnumbered = await this.#sql.get('SELECT 1 AS one FROM event_log WHERE seq IS NULL LIMIT 1');
    if (unnumbered === undefined) return this.newest();
    for (;;) {
      const { newest, more } = await this.#sql.transaction((tx) => numberBatch(tx));
      if (!more) return newest;
    }
  }

  /** The newest number given. */
  async newest(): Promise<number> {
    return stateOf(this.#sql, 'numbered');
  }

  /** Rows up to this number are gone; a reader that stands below has missed something. */
  async pruned(): Promise<number> {
    return stateOf(this.#sql, 'pruned');
  }

  /** Rows behind a number in order; of one wallet where a subject is given. */
  async read(
    after: number,
    options: { readonly subject?: string; readonly limit?: number } = {},
  ): Promise<LoggedEvent[]> {
    const limit = Math.min(options.limit ?? batch, batch);
    const rows =
      options.subject === undefined
        ? await this.#sql.all<LogRow>(
            'SELECT seq, topic, subject, body, made_at FROM event_log WHERE seq > ? ORDER BY seq LIMIT ?',
            after,
            limit,
          )
        : await this.#sql.all<LogRow>(
            `SELECT seq, topic, subject, body, made_at FROM event_log
             WHERE subject = ? AND subject <> '' AND seq > ? ORDER BY seq LIMIT ?`,
            options.subject,
            after,
            limit,
          );
    return rows.map(({ made_at: madeAt, ...row }) => ({ ...row, madeAt }));
  }

  /**
   * Removes the oldest rows: those made before a time, and those beyond the newest `keep`. Answers how many; there may be
   * more to remove while it is not 0.
   */
  async prune(beforeMs: number, keep: number = Number.MAX_SAFE_INTEGER): Promise<number> {
    return this.#sql.transaction(async (tx) => {
      const oldest = await tx.all<{ seq: number; made_at: number }>(
        'SELECT seq, made_at FROM event_log WHERE seq IS NOT NULL ORDER BY seq LIMIT ?',
        batch,
      );
      const surplus = (await stateOf(tx, 'numbered')) - keep;
      // Made in about this order: what is in front of the first that stays is removed.
      const stays = oldest.findIndex(({ seq, made_at }) => made_at >= beforeMs && seq > surplus);
      const last = (stays === -1 ? oldest : oldest.slice(0, stays)).at(-1);
      if (last === undefined) return 0;
      await tx.run(
        "UPDATE event_state SET value = ? WHERE name = 'pruned' AND value < ?",
        last.seq,
        last.seq,
      );
      return tx.run('DELETE FROM event_log WHERE seq <= ?', last.seq);
    });
  }
}

async function numberBatch(tx: SqlExecutor): Promise<{ newest: number; more: boolean }> {
  const state = await tx.get<{ value: number }>(
    `SELECT value FROM event_state WHERE name = 'numbered' ${tx.forUpdate}`,
  );
  const newest = state?.value ?? 0;
  const numbered = await tx.run(
    `UPDATE event_log SET seq = n.seq FROM (
       SELECT entry, CAST(? AS BIGINT) + row_number() OVER (ORDER BY entry) AS seq FROM event_log
       WHERE seq IS NULL ORDER BY entry LIMIT ?) AS n
     WHERE event_log.entry = n.entry`,
    newest,
    batch,
  );
  if (numbered === 0) return { newest, more: false };
  await tx.run("UPDATE event_state SET value = ? WHERE name = 'numbered'", newest + numbered);
  return { newest: newest + numbered, more: numbered === batch };
}

async function stateOf(sql: SqlExecutor, name: 'numbered' | 'pruned'): Promise<number> {
  const row = await sql.get<{ value: number }>('SELECT value FROM event_state WHERE name = ?', name);
  return row?.value ?? 0;
}
