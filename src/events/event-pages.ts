/** The log as events: rows are expanded, and what was expanded is kept for a while, since many readers read the same. */
import { LRUCache } from 'lru-cache';
import type { EventLog, LoggedEvent } from './event-log.ts';
import type { Cursor, EventSource, FeedEvent, FeedQuery, Gap, Told } from './feed.ts';

/** A row of the log with its events. */
export interface ExpandedRow<E extends FeedEvent> {
  readonly seq: number;
  readonly subject: string;
  /** Milliseconds. */
  readonly madeAt: number;
  readonly events: readonly Told<E>[];
}

export interface EventPage<E extends FeedEvent> {
  readonly events: readonly Told<E>[];
  /** Where the next page begins; it moves on when nothing matched, too. */
  readonly next: Cursor;
  /** What the reader missed before these events. */
  readonly gap?: Gap;
}

/** Rows read from the database at once. */
const rowsAtOnce = 50;
/** Events that one page looks at: a query that matches little gives others their turn. */
const scannedEvents = 5_000;
/** Events of expanded rows that are kept. */
const keptEvents = 5_000;

export class EventPages<E extends FeedEvent, Q extends FeedQuery> {
  readonly #log: EventLog;
  readonly #source: EventSource<E, Q>;
  readonly #rows = new LRUCache<number, ExpandedRow<E>>({
    maxSize: keptEvents,
    sizeCalculation: ({ events }) => Math.min(keptEvents, events.length + 1),
  });

  constructor(log: EventLog, source: EventSource<E, Q>) {
    this.#log = log;
    this.#source = source;
  }

  async expand(row: LoggedEvent): Promise<ExpandedRow<E>> {
    const { seq, subject, madeAt } = row;
    const kept = this.#rows.get(seq);
    if (kept !== undefined) return kept;
    const events = (await this.#source.expand(row)).map((event) => ({
      cursor: { seq, told: event.index + 1 },
      event,
    }));
    const expanded = { seq, subject, madeAt, events };
    this.#rows.set(seq, expanded);
    return expanded;
  }

  /** At most `limit` events behind a cursor that a query matches, of rows up to `upTo`. */
  async page(after: Cursor, query: Q, limit: number, upTo: number): Promise<EventPage<E>> {
    const events: Told<E>[] = [];
    let gap: Gap | undefined;
    let scanned = 0;
    // A row of which not everything was told is looked at again.
    let seq = after.told === undefined ? after.seq : after.seq - 1;
    while (seq < upTo && scanned < scannedEvents) {
      const read = await this.#after(seq, query.subject, upTo);
      if (read.pruned > seq) gap = { from: gap?.from ?? after, to: { seq: read.pruned } };
      for (const row of read.rows) {
        const expanded = 'events' in row ? row : await this.expand(row);
        scanned += expanded.events.length + 1;
        if (query.subject !== undefined && expanded.subject !== query.subject) continue;
        for (const told of expanded.events) {
          if (row.seq === after.seq && told.event.index < (after.told ?? 0)) continue;
          if (!this.#source.matches(told.event, query)) continue;
          events.push(told);
          if (events.length === limit) return { events, next: told.cursor, ...(gap && { gap }) };
        }
        if (scanned >= scannedEvents) return { events, next: { seq: row.seq }, ...(gap && { gap }) };
      }
      seq = read.end;
    }
    const next = { seq: Math.max(seq, after.seq) };
    return { events, next, ...(gap && { gap }) };
  }

  /** The rows behind a number, the number up to which they are all of them, and what is gone of them. */
  async #after(seq: number, subject: string | undefined, upTo: number) {
    const kept = this.#rows.get(seq + 1);
    if (kept !== undefined) return { rows: [kept], end: seq + 1, pruned: 0 };
    const found = await this.#log.read(seq, {
      limit: rowsAtOnce,
      ...(subject !== undefined && { subject }),
    });
    const rows = found.filter((row) => row.seq <= upTo);
    const end = found.length < rowsAtOnce || rows.length < found.length ? upTo : (rows.at(-1)?.seq ?? upTo);
    if (rows[0]?.seq === seq + 1) return { rows, end, pruned: 0 };
    // Asked after the rows were read: what went meanwhile is told as missing, not passed over.
    return { rows, end, pruned: Math.min(await this.#log.pruned(), end) };
  }
}
