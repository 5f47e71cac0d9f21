/**
 * The log as it grows, for any number of readers in this process. One task numbers new rows, expands each once and hands
 * its events to those who are up to date. Whoever is behind or slow reads pages of the log at its own pace, and joins
 * the others when it has caught up. A reader that waits for news costs an object and an entry in a set: no timer, no promise.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { AtOnce } from '../kernel/background/at-once.ts';
import { backoffMs } from '../kernel/background/backoff.ts';
import { createJob } from '../kernel/background/job.ts';
import { WakeableTask } from '../kernel/background/wakeable-task.ts';
import type { Logger } from '../kernel/log.ts';
import type { Part } from '../kernel/part.ts';
import { DatabaseUnavailable, type Sql } from '../storage/sql/sql.ts';
import { EventLog } from './event-log.ts';
import { type EventPage, EventPages, type ExpandedRow } from './event-pages.ts';
import {
  type Cursor,
  type EventSource,
  type FeedEvent,
  type FeedQuery,
  type Gap,
  isAfter,
  type Told,
} from './feed.ts';

export interface LiveFeedOptions<E extends FeedEvent, Q extends FeedQuery> {
  readonly sql: Sql;
  readonly source: EventSource<E, Q>;
  readonly log: Logger;
  readonly now?: () => number;
  /** Rows are kept so long, */
  readonly retentionMs: number;
  /** and at most so many of them. */
  readonly maxRows?: number;
  /** How often rows of other processes are looked for. */
  readonly pollMs?: number;
  /** Told how long after it was made a row was handed to live readers. */
  readonly onTold?: (events: number, delayMs: number) => void;
}

/** Who takes events. Nothing here may throw or wait. */
export interface FeedReader<E extends FeedEvent> {
  /** Takes an event; false: it was taken, and no other until `resume`. */
  take(told: Told<E>): boolean;
  /** Events are gone that the reader has not seen. */
  gap(gap: Gap): void;
  /** The feed ends; what is not told yet is told to a reader that comes back with its cursor. */
  end(): void;
}

export interface Subscription {
  /** Everything up to here that its query matches was told. */
  readonly cursor: Cursor;
  /** The reader can take more. */
  resume(): void;
  /** Nothing more is told. */
  end(): void;
}

/** What appended rows wake the task for is done together. */
const gatherMs = 20;
const defaultPollMs = 1_000;
const backoff = { firstMs: 1_000, longestMs: 30_000 };
/** A run only has to number and hand out; one that takes so long hangs. */
const stuckAfterMs = 60_000;
const pruneEveryMs = 10 * 60_000;
/** Events of a page that a reader gets which is behind. */
const pageSize = 100;
/** Pages that are read at the same time for all readers that are behind. */
const pagesAtOnce = 4;
/** Others have their turn after so long. */
const turnMs = 10;
/** Events that wait for the consumer of `follow`. */
const followAhead = 100;

export class LiveFeed<E extends FeedEvent, Q extends FeedQuery> {
  readonly #options: LiveFeedOptions<E, Q>;
  readonly #log: EventLog;
  readonly #pages: EventPages<E, Q>;
  readonly #reading = new AtOnce(pagesAtOnce);
  readonly #followers = new Set<Follower<E, Q>>();
  /** Those that are up to date, by wallet; under '' who follows everybody's events. */
  readonly #live = new Map<string, Groups<E, Q>>();
  readonly #listeners = new Set<() => void>();
  /** Everything up to this row was handed to those that are up to date. */
  #tail = 0;
  /** A row is being handed out: nobody can join in the middle of it. */
  #isTelling = false;
  #moved = Promise.withResolvers<void>();
  #ended = false;
  readonly #task = new WakeableTask({
    name: 'tell events',
    stuckAfterMs,
    run: () => this.#advance(),
    failed: (error, failures) => {
      const delay = backoffMs(backoff, failures);
      this.#options.log.warn({ err: error, delay }, 'events could not be told');
      return delay;
    },
  });
  readonly part: Part;

  constructor(options: LiveFeedOptions<E, Q>) {
    this.#options = options;
    this.#log = new EventLog(options.sql);
    this.#pages = new EventPages(this.#log, options.source);
    const prune = createJob({
      name: 'forget old events',
      everyMs: pruneEveryMs,
      log: options.log,
      run: () => this.prune(),
    });
    this.part = {
      name: 'events',
      jobs: [this.#task, prune],
      start: async () => {
        this.#tail = await this.#log.number().catch((error: unknown) => {
          if (!(error instanceof DatabaseUnavailable)) throw error;
          // Nothing can be written: what has a number is told, and the rest later.
          return this.#log.newest();
        });
      },
      drain: async () => {
        this.#end();
        return true;
      },
      stop: async () => this.#end(),
    };
  }

  /** How many follow it. */
  get readers(): number {
    return this.#followers.size;
  }

  /** The number of the newest row that was told. */
  get tail(): number {
    return this.#tail;
  }

  /** Something was appended in this process. */
  wake(): void {
    this.#task.wake(gatherMs);
  }

  /** Called whenever there may be something new; answers how to end that. */
  onMove(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Where a reader begins that wants what comes from now on. */
  async newest(): Promise<Cursor> {
    return { seq: this.#tail };
  }

  /** Where a reader begins that also wants what the last so many rows tell, as far as they are kept. */
  async rowsAgo(rows: number): Promise<Cursor> {
    return { seq: Math.min(this.#tail, Math.max(await this.#log.pruned(), this.#tail - rows)) };
  }

  /** One page behind a cursor. A cursor that is none of this log begins at the oldest that there is, with a gap. */
  async page(after: Cursor, query: Q, limit: number): Promise<EventPage<E>> {
    if (after.seq > this.#tail) {
      const gap = await this.#foreign(after);
      return gap === undefined ? { events: [], next: after } : { events: [], next: gap.to, gap };
    }
    return this.#reading.run(() => this.#pages.page(after, query, limit, this.#tail));
  }

  /** Events behind a cursor, in order, until `end`: first what is in the log, then what comes. */
  subscribe(after: Cursor, query: Q, reader: FeedReader<E>): Subscription {
    const follower = new Follower(this.#control, after, query, reader);
    if (this.#ended) {
      reader.end();
      return follower;
    }
    this.#followers.add(follower);
    void this.#catchUp(follower);
    return follower;
  }

  /** The same to iterate over, until the signal. Returns when the feed ends. */
  async *follow(
    after: Cursor,
    query: Q,
    signal: AbortSignal,
  ): AsyncGenerator<Told<E> | { readonly gap: Gap }, void> {
    let waiting: (Told<E> | { readonly gap: Gap })[] = [];
    let isOver = signal.aborted;
    let news = Promise.withResolvers<void>();
    const end = () => {
      isOver = true;
      news.resolve();
    };
    const subscription = this.subscribe(after, query, {
      take(told) {
        waiting.push(told);
        news.resolve();
        return waiting.length < followAhead;
      },
      gap(gap) {
        waiting.push({ gap });
        news.resolve();
      },
      end,
    });
    signal.addEventListener('abort', end);
    try {
      while (!isOver) {
        const taken = waiting;
        waiting = [];
        news = Promise.withResolvers<void>();
        for (const told of taken) {
          if (signal.aborted) return;
          yield told;
        }
        subscription.resume();
        if (waiting.length === 0) await news.promise;
      }
    } finally {
      signal.removeEventListener('abort', end);
      subscription.end();
    }
  }

  /** Removes what is older than is kept; answers how many rows. */
  async prune(): Promise<number> {
    const { now = Date.now, retentionMs, maxRows } = this.#options;
    let removed = 0;
    for (;;) {
      const count = await this.#log.prune(now() - retentionMs, maxRows);
      removed += count;
      if (count === 0) return removed;
      await nextTurn();
    }
  }

  readonly #control: FeedControl<E, Q> = {
    tail: () => this.#tail,
    catchUp: (follower) => void this.#catchUp(follower),
    leave: (follower) => this.#leave(follower),
    forget: (follower) => this.#followers.delete(follower),
  };

  async #advance(): Promise<number> {
    const newest = await this.#log.number();
    // Whoever is told of something and asks for it finds it.
    if (this.#tail < newest && this.#live.size > 0) await this.#options.sql.visible();
    while (this.#tail < newest && !this.#task.isStopped) {
      // Where nobody listens nothing is read; pages are, when somebody comes back for them.
      if (this.#live.size === 0) {
        this.#tail = newest;
        break;
      }
      const rows = await this.#log.read(this.#tail, { limit: Math.min(100, newest - this.#tail) });
      if (rows[0]?.seq !== this.#tail + 1) this.#tellGap(rows[0]?.seq ?? newest + 1);
      for (const row of rows) {
        if (this.#listensTo(row.subject)) await this.#tell(await this.#pages.expand(row));
        else this.#tail = row.seq;
        this.#announce();
      }
    }
    this.#announce();
    return this.#options.pollMs ?? defaultPollMs;
  }

  #announce(): void {
    this.#moved.resolve();
    this.#moved = Promise.withResolvers<void>();
    for (const listener of this.#listeners) listener();
  }

  #listensTo(subject: string): boolean {
    return this.#live.has('') || this.#live.has(subject);
  }

  /** Rows in front of this one are gone, and were not told here: this process slept for longer than they are kept. */
  #tellGap(first: number): void {
    const gap = { from: { seq: this.#tail }, to: { seq: first - 1 } };
    for (const groups of this.#live.values()) {
      for (const { followers } of groups.values()) for (const { reader } of followers) reader.gap(gap);
    }
    this.#tail = first - 1;
  }

  async #tell(row: ExpandedRow<E>): Promise<void> {
    const { source, onTold, now = Date.now } = this.#options;
    const groups = [...(this.#live.get('')?.values() ?? [])];
    if (row.subject !== '') groups.push(...(this.#live.get(row.subject)?.values() ?? []));
    let until = performance.now() + turnMs;
    this.#isTelling = true;
    try {
      for (const told of row.events) {
        for (const { query, followers } of groups) {
          if (!source.matches(told.event, query)) continue;
          for (const follower of followers) follower.tell(told);
          if (performance.now() < until) continue;
          await nextTurn();
          until = performance.now() + turnMs;
        }
      }
      // In the same step as the end of the telling: whoever joins in between would miss the row.
      this.#tail = row.seq;
    } finally {
      this.#isTelling = false;
    }
    onTold?.(row.events.length, Math.max(0, now() - row.madeAt));
  }

  /** Pages of the log until nothing is missing, or the reader has enough for now. */
  async #catchUp(follower: Follower<E, Q>): Promise<void> {
    while (follower.state === 'behind') {
      try {
        const { cursor, query } = follower;
        const isUpToDate = cursor.seq === this.#tail && cursor.told === undefined;
        if (isUpToDate && !this.#isTelling) return this.#join(follower);
        const page = isUpToDate ? undefined : await this.page(cursor, query, pageSize);
        if (page !== undefined) follower.takePage(page);
        // Told by another process, and not seen here yet; or a row is just being handed out.
        if (page === undefined || page.next === cursor) await this.#moved.promise;
      } catch (error) {
        this.#options.log.debug({ err: error }, 'events could not be read, and are read again');
        await this.#moved.promise;
      }
    }
  }

  #join(follower: Follower<E, Q>): void {
    const { query } = follower;
    const subject = query.subject ?? '';
    const groups: Groups<E, Q> = this.#live.get(subject) ?? new Map();
    this.#live.set(subject, groups);
    const key = query.key ?? follower;
    const group = groups.get(key) ?? { query, followers: new Set() };
    groups.set(key, group);
    group.followers.add(follower);
    follower.state = 'live';
  }

  #leave(follower: Follower<E, Q>): void {
    const { query } = follower;
    const subject = query.subject ?? '';
    const groups = this.#live.get(subject);
    const key = query.key ?? follower;
    const group = groups?.get(key);
    if (groups === undefined || group === undefined) return;
    group.followers.delete(follower);
    if (group.followers.size === 0) groups.delete(key);
    if (groups.size === 0) this.#live.delete(subject);
  }

  /** The gap where a cursor lies beyond the log's end: it is of another log, such as one before a reset. */
  async #foreign(after: Cursor): Promise<Gap | undefined> {
    if (after.seq <= (await this.#log.newest())) return undefined;
    return { from: after, to: { seq: Math.min(await this.#log.pruned(), this.#tail) } };
  }

  #end(): void {
    this.#ended = true;
    for (const follower of [...this.#followers]) {
      follower.end();
      follower.reader.end();
    }
    this.#moved.resolve();
  }
}

/** Readers that ask for the same. */
interface Group<E extends FeedEvent, Q extends FeedQuery> {
  readonly query: Q;
  readonly followers: Set<Follower<E, Q>>;
}

/** By the key of their query; of one that has none its only reader is the key. */
type Groups<E extends FeedEvent, Q extends FeedQuery> = Map<string | Follower<E, Q>, Group<E, Q>>;

/** What a follower may ask of its feed. */
interface FeedControl<E extends FeedEvent, Q extends FeedQuery> {
  tail(): number;
  catchUp(follower: Follower<E, Q>): void;
  leave(follower: Follower<E, Q>): void;
  forget(follower: Follower<E, Q>): void;
}

class Follower<E extends FeedEvent, Q extends FeedQuery> implements Subscription {
  readonly #feed: FeedControl<E, Q>;
  readonly query: Q;
  readonly reader: FeedReader<E>;
  /** `paused`: the reader has enough for now. */
  state: 'behind' | 'live' | 'paused' | 'ended' = 'behind';
  #cursor: Cursor;

  constructor(feed: FeedControl<E, Q>, after: Cursor, query: Q, reader: FeedReader<E>) {
    this.#feed = feed;
    this.#cursor = after;
    this.query = query;
    this.reader = reader;
  }

  get cursor(): Cursor {
    const tail = { seq: this.#feed.tail() };
    return this.state === 'live' && isAfter(tail, this.#cursor) ? tail : this.#cursor;
  }

  tell(told: Told<E>): void {
    // A row whose telling failed half-way is told again.
    if (this.state !== 'live' || !isAfter(told.cursor, this.#cursor)) return;
    this.#cursor = told.cursor;
    if (!this.reader.take(told)) this.#pause();
  }

  takePage({ events, next, gap }: EventPage<E>): void {
    if (gap !== undefined && this.state === 'behind') this.reader.gap(gap);
    for (const told of events) {
      if (this.state !== 'behind') return;
      this.#cursor = told.cursor;
      if (!this.reader.take(told)) this.state = 'paused';
    }
    if (this.state === 'behind') this.#cursor = next;
  }

  resume(): void {
    if (this.state !== 'paused') return;
    this.state = 'behind';
    this.#feed.catchUp(this);
  }

  end(): void {
    if (this.state === 'live') this.#feed.leave(this);
    this.state = 'ended';
    this.#feed.forget(this);
  }

  #pause(): void {
    this.#feed.leave(this);
    this.state = 'paused';
  }
}
