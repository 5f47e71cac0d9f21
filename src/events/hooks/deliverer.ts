/**
 * Sends events to webhooks: in order, one message of a hook at a time. What a message holds is written down before it is
 * sent, and that it was taken afterwards: a crash in between sends the same message again, under the same id. Processes
 * share the hooks by leases; the hooks of one that died are another's when its lease is over.
 */
import { randomUUID } from 'node:crypto';
import { AtOnce } from '../../kernel/background/at-once.ts';
import { backoffMs } from '../../kernel/background/backoff.ts';
import { WakeableTask } from '../../kernel/background/wakeable-task.ts';
import type { Logger } from '../../kernel/log.ts';
import {
  type Cursor,
  cursorText,
  eventJson,
  type FeedEvent,
  type FeedQuery,
  type Gap,
  gapJson,
  isAfter,
  parseCursor,
  type Told,
} from '../feed.ts';
import type { LiveFeed } from '../live-feed.ts';
import type { HookMetrics } from './metrics.ts';
import type { Message } from './signature.ts';
import { type Hook, type HookFields, type HookStore, newMessageId, secretsOf } from './store.ts';
import type { Outcome, Targets } from './target.ts';

export interface DelivererOptions<E extends FeedEvent, Q extends FeedQuery> {
  readonly store: HookStore;
  readonly feed: Pick<LiveFeed<E, Q>, 'page' | 'tail' | 'onMove'>;
  readonly targets: Pick<Targets, 'send'>;
  /** The query of a hook; throws where it cannot be read. */
  readonly queryOf: (hook: Hook) => Q;
  readonly log: Logger;
  readonly metrics: HookMetrics;
  readonly now: () => number;
  /** A message that is not taken for so long becomes a dead letter. */
  readonly giveUpMs: number;
  /** A hook that takes nothing for so long ends. */
  readonly endAfterMs: number;
  readonly maxDeadLetters: number;
  readonly leaseMs?: number;
  /** How often changes of other processes are looked for. */
  readonly pollMs?: number;
}

/** Of one message. */
const maxEvents = 100;
const maxBytes = 256 * 1024;
/** Messages on their way at the same time, of all hooks. */
const sendsAtOnce = 32;
const backoff = { firstMs: 1_000, longestMs: 3_600_000 };
/** Events that come one after the other share a message. */
const gatherMs = 20;
const defaultPollMs = 1_000;
const defaultLeaseMs = 30_000;
/** A place that moved without a message is written down this often. */
const keepPlaceMs = 60_000;
const gone = 410;

/** A hook that this process holds. */
interface Held<Q> {
  hook: Hook;
  query: Q;
  /** As far as it was looked: ahead of the stored place where nothing matched. */
  cursor: Cursor;
  keptAt: number;
  isBusy: boolean;
  /** Its owner changed it while a message was on its way. */
  isOutdated: boolean;
}

/** A message that is to be sent. */
interface Outgoing extends Message {
  readonly to: Cursor;
  readonly events: number;
  readonly madeAt: number;
  readonly isPing: boolean;
}

export class Deliverer<E extends FeedEvent, Q extends FeedQuery> {
  readonly #options: DelivererOptions<E, Q>;
  readonly #holder = randomUUID();
  readonly #held = new Map<string, Held<Q>>();
  readonly #sending = new AtOnce(sendsAtOnce);
  readonly #working = new Set<Promise<void>>();
  readonly #leaseMs: number;
  #stopListening: (() => void) | undefined;
  #changes = -1;
  #heldAt = Number.NEGATIVE_INFINITY;
  readonly task = new WakeableTask({
    name: 'send events to webhooks',
    run: () => this.#pass(),
    failed: (error, failures) => {
      const delay = backoffMs({ firstMs: 1_000, longestMs: 30_000 }, failures);
      this.#options.log.warn({ err: error, delay }, 'webhooks could not be looked after');
      return delay;
    },
  });

  constructor(options: DelivererOptions<E, Q>) {
    this.#options = options;
    this.#leaseMs = options.leaseMs ?? defaultLeaseMs;
  }

  start(): void {
    this.#stopListening = this.#options.feed.onMove(() => {
      if (this.#held.size > 0) this.wake();
    });
    this.task.start();
  }

  wake(): void {
    this.task.wake(gatherMs);
  }

  /** Hooks were changed in this process. */
  changed(): void {
    this.#changes = -1;
    this.task.wake();
  }

  /** Hooks that this process sends to, those of them that fail, and how many rows of the log the last one is behind. */
  get figures(): { readonly held: number; readonly failing: number; readonly behind: number } {
    const all = [...this.#held.values()];
    const { tail } = this.#options.feed;
    return {
      held: all.length,
      failing: all.filter(({ hook }) => hook.failures > 0).length,
      behind: Math.max(0, ...all.map(({ cursor }) => tail - cursor.seq)),
    };
  }

  /** Messages that are on their way are waited for. */
  async stop(): Promise<void> {
    this.#stopListening?.();
    await this.task.stop();
    await Promise.all(this.#working);
    try {
      await this.#keepPlaces(0);
      await this.#options.store.release(this.#holder);
    } catch (error) {
      // A database that is away keeps nobody from stopping: leases end by themselves.
      this.#options.log.warn({ err: error }, 'webhooks are not handed over before their leases end');
    }
    this.#held.clear();
  }

  /** Looks after all hooks that are held; answers when to do it again. */
  async #pass(): Promise<number> {
    await this.#hold();
    const now = this.#options.now();
    let next = this.#options.pollMs ?? defaultPollMs;
    for (const held of this.#held.values()) {
      if (held.isBusy) continue;
      const waitMs = held.hook.nextTryAt - now;
      if (waitMs > 0) next = Math.min(next, waitMs);
      else if (this.#mayHaveNews(held)) this.#begin(held);
    }
    return next;
  }

  #mayHaveNews({ hook, cursor }: Held<Q>): boolean {
    const { tail } = this.#options.feed;
    return hook.ping === 1 || hook.message !== undefined || cursor.seq !== tail || cursor.told !== undefined;
  }

  #begin(held: Held<Q>): void {
    held.isBusy = true;
    const work = this.#work(held)
      .catch((error: unknown) => {
        this.#options.log.warn({ err: error, hook: held.hook.id }, 'a webhook could not be looked after');
        held.hook = { ...held.hook, nextTryAt: this.#options.now() + backoff.firstMs };
      })
      .finally(() => {
        held.isBusy = false;
        this.#working.delete(work);
        if (!held.isOutdated) return;
        this.#held.delete(held.hook.id);
        this.changed();
      });
    this.#working.add(work);
  }

  /** Everything that is due for a hook. */
  async #work(held: Held<Q>): Promise<void> {
    const { now } = this.#options;
    while (!this.task.isStopped && !held.isOutdated && held.hook.nextTryAt <= now()) {
      const outgoing = await this.#next(held);
      if (outgoing === undefined) return;
      const { hook } = held;
      const outcome = await this.#sending.run(() =>
        this.#options.targets.send(hook.url, outgoing, secretsOf(hook, now())),
      );
      await this.#record(held, outgoing, outcome);
    }
  }

  /** The message that is on its way, or the next one; undefined where there is nothing to tell. */
  async #next(held: Held<Q>): Promise<Outgoing | undefined> {
    const { now } = this.#options;
    if (held.hook.ping === 1) return this.#ping(held);
    for (;;) {
      const { hook } = held;
      const until = hook.messageTo === undefined ? undefined : parseCursor(hook.messageTo);
      // Another process made it, of rows that have not been seen here yet.
      if (until !== undefined && until.seq > this.#options.feed.tail) return undefined;
      const { events, to, gap } = await this.#gather(held, until);
      if (events.length === 0 && gap === undefined) {
        if (until === undefined || hook.message === undefined) return undefined;
        // Nothing of the message is left to be told.
        const over = {
          cursor: cursorText(to),
          message: undefined,
          messageTo: undefined,
          messageAt: undefined,
        };
        if (!(await this.#write(held, over))) return undefined;
        held.cursor = to;
        continue;
      }
      const id = hook.message ?? newMessageId();
      const madeAt = hook.messageAt ?? now();
      if (hook.message === undefined) {
        const cursor = cursorText(held.cursor);
        const fields = { cursor, message: id, messageTo: cursorText(to), messageAt: madeAt };
        if (!(await this.#write(held, fields, true))) return undefined;
      }
      const body = JSON.stringify({
        hook: hook.id,
        cursor: cursorText(to),
        ...(gap && { gap: gapJson(gap) }),
        events: events.map(eventJson),
      });
      return { id, body, to, events: events.length, madeAt, isPing: false };
    }
  }

  async #ping(held: Held<Q>): Promise<Outgoing | undefined> {
    const { hook } = held;
    const madeAt = hook.messageAt ?? this.#options.now();
    const id = hook.message ?? newMessageId();
    if (hook.message === undefined) {
      const fields = { message: id, messageTo: cursorText(held.cursor), messageAt: madeAt };
      if (!(await this.#write(held, fields, true))) return undefined;
    }
    const cursor = held.hook.messageTo ?? cursorText(held.cursor);
    const ping = { id: cursor, type: 'ping', time: madeAt, data: { hook: hook.id } };
    const body = JSON.stringify({ hook: hook.id, cursor, events: [ping] });
    return { id, body, to: held.cursor, events: 0, madeAt, isPing: true };
  }

  /** Events for one message: up to a place where it was made before, else as many as it holds. */
  async #gather(
    held: Held<Q>,
    until: Cursor | undefined,
  ): Promise<{ events: Told<E>[]; to: Cursor; gap: Gap | undefined }> {
    const { feed } = this.#options;
    const events: Told<E>[] = [];
    let to = held.cursor;
    let gap = undefined as Gap | undefined;
    let bytes = 0;
    while (!this.task.isStopped) {
      const page = await feed.page(to, held.query, maxEvents - events.length);
      if (page.gap !== undefined) gap = { from: gap?.from ?? page.gap.from, to: page.gap.to };
      for (const told of page.events) {
        if (until !== undefined && isAfter(told.cursor, until)) return { events, to: until, gap };
        bytes += Buffer.byteLength(JSON.stringify(eventJson(told)));
        if (until === undefined && events.length > 0 && bytes > maxBytes) return { events, to, gap };
        events.push(told);
        to = told.cursor;
      }
      const isPast = until !== undefined && !isAfter(until, page.next);
      if (isPast) return { events, to: until, gap };
      if (events.length >= maxEvents) return { events, to, gap };
      const isAtEnd = page.next === to || page.next.seq >= feed.tail;
      to = page.next;
      if (events.length === 0 && gap === undefined) held.cursor = to;
      if (isAtEnd) break;
    }
    return { events, to, gap };
  }

  async #record(held: Held<Q>, outgoing: Outgoing, outcome: Outcome): Promise<void> {
    const { metrics, now, giveUpMs, endAfterMs, log } = this.#options;
    const { hook } = held;
    const at = now();
    const tried = { lastTryAt: at, lastStatus: outcome.status ?? undefined };
    const done = { message: undefined, messageTo: undefined, messageAt: undefined };
    const place = outgoing.isPing ? { ping: 0 } : { cursor: cursorText(outgoing.to) };
    if (outcome.taken) {
      metrics.delivered.inc(outgoing.events);
      const fields = {
        ...{ ...tried, ...done, ...place, failures: 0, failingSince: undefined, nextTryAt: 0 },
        ...{ lastError: undefined, lastTakenAt: at, delivered: hook.delivered + outgoing.events },
      };
      await this.#write(held, fields);
      held.cursor = outgoing.to;
      return;
    }
    metrics.failed.inc();
    const failures = hook.failures + 1;
    const failingSince = hook.failingSince ?? at;
    const error = outcome.error ?? '';
    const isOver = outcome.status === gone || at - failingSince >= endAfterMs;
    const failed = { ...tried, failures, failingSince, lastError: error };
    if (isOver) {
      log.info({ hook: hook.id, status: outcome.status }, 'a webhook ended');
      await this.#write(held, { ...failed, state: 'ended', endedAt: at });
      held.isOutdated = true;
      return;
    }
    if (outgoing.isPing) {
      // It was only to be seen whether somebody listens.
      await this.#write(held, { ...tried, ...done, ...place, lastError: error });
      return;
    }
    if (at - outgoing.madeAt >= giveUpMs) {
      await this.#bury(held, outgoing, outcome, { ...failed, ...done, ...place, nextTryAt: 0 });
      return;
    }
    const pauseMs = Math.max(backoffMs(backoff, failures), outcome.retryAfterMs ?? 0);
    // Receivers that failed together are not tried again together.
    const nextTryAt = at + Math.round(pauseMs * (0.75 + Math.random() / 4));
    await this.#write(held, { ...failed, nextTryAt });
  }

  async #bury(held: Held<Q>, outgoing: Outgoing, outcome: Outcome, fields: HookFields): Promise<void> {
    const { store, metrics, now, maxDeadLetters } = this.#options;
    const { id, body, events, madeAt, to } = outgoing;
    const why = { status: outcome.status ?? undefined, error: outcome.error ?? '' };
    const letter = { id, hook: held.hook.id, body, events, ...why, madeAt, deadAt: now() };
    if (!(await store.bury(this.#holder, letter, fields, maxDeadLetters))) return this.#lose(held);
    metrics.dead.inc();
    held.hook = { ...held.hook, ...fields };
    held.cursor = to;
  }

  /** False where the hook is no longer this process's, or, with `ifUnchanged`, its owner changed it. */
  async #write(held: Held<Q>, fields: HookFields, ifUnchanged = false): Promise<boolean> {
    const { store } = this.#options;
    const { hook } = held;
    const isWritten = ifUnchanged
      ? await store.writeUnchanged(this.#holder, hook, fields)
      : await store.write(this.#holder, hook.id, fields);
    if (isWritten) held.hook = { ...hook, ...fields };
    else this.#lose(held);
    return isWritten;
  }

  /** What is known of the hook is not what is stored: it is read again. While it is busy nobody else begins with it. */
  #lose(held: Held<Q>): void {
    held.isOutdated = true;
    if (!held.isBusy) this.#held.delete(held.hook.id);
  }

  /** Takes hooks, keeps those that are held, and learns what their owners changed. */
  async #hold(): Promise<void> {
    const { store } = this.#options;
    const now = performance.now();
    const changes = await store.changes();
    if (changes === this.#changes && now - this.#heldAt < this.#leaseMs / 3) return;
    this.#changes = changes;
    await this.#keepPlaces(keepPlaceMs);
    const hooks = await store.hold(this.#holder, this.#leaseMs);
    this.#heldAt = now;
    const ids = new Set(hooks.map(({ id }) => id));
    for (const [id, held] of this.#held) if (!ids.has(id)) this.#lose(held);
    for (const hook of hooks) this.#take(hook);
  }

  #take(hook: Hook): void {
    const held = this.#held.get(hook.id);
    if (held?.hook.version === hook.version) return;
    // What a message in flight writes down must not be overwritten by what was read before.
    if (held?.isBusy === true) {
      held.isOutdated = true;
      return;
    }
    const stored = parseCursor(hook.cursor) ?? { seq: 0 };
    const cursor = held !== undefined && isAfter(held.cursor, stored) ? held.cursor : stored;
    try {
      const query = this.#options.queryOf(hook);
      const fresh = { isBusy: false, isOutdated: false, keptAt: performance.now() };
      this.#held.set(hook.id, { hook, query, cursor, ...fresh });
    } catch (error) {
      this.#held.delete(hook.id);
      this.#options.log.warn({ err: error, hook: hook.id }, 'the query of a webhook cannot be read');
    }
  }

  /** A hook whose query matches nothing moves on as well; it would look at all of it again after a restart. */
  async #keepPlaces(olderThanMs: number): Promise<void> {
    const now = performance.now();
    for (const held of this.#held.values()) {
      const cursor = cursorText(held.cursor);
      const isKept = held.isBusy || held.hook.message !== undefined || held.hook.cursor === cursor;
      if (isKept || now - held.keptAt < olderThanMs) continue;
      held.keptAt = now;
      await this.#write(held, { cursor });
    }
  }
}
