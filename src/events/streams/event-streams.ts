/**
 * Events over HTTP as `text/event-stream` (HTML standard, "Server-sent events"): each with its cursor as the id, so that a
 * reader that lost its connection goes on where it was. Beats say the cursor too: one that nothing was told for days
 * does not have to look through all of them.
 */
import type { ServerResponse } from 'node:http';
import { HttpError } from '../../kernel/errors.ts';
import type { Reply, Request } from '../../kernel/http/app.ts';
import { takeOver } from '../../kernel/http/send-bytes.ts';
import type { Part } from '../../kernel/part.ts';
import {
  type Cursor,
  cursorText,
  eventJson,
  type FeedEvent,
  type FeedQuery,
  type Gap,
  gapJson,
  parseCursor,
  type Told,
} from '../feed.ts';
import type { FeedReader, LiveFeed, Subscription } from '../live-feed.ts';
import type { ReaderLimits } from './reader-limits.ts';

/** Each reader has a beat every so many seconds; one timer beats for all, a part of them each second. */
const beatSeconds = 15;
/** When a reader that lost its connection should come back. */
const retryMs = 2_000;
/** What may wait for a reader in our memory; the rest waits in the log. */
const maxUntaken = 64 * 1024;
/** A reader that takes nothing for so many beats is cut off. */
const stallBeats = 8;

export interface EventStreamsOptions<E extends FeedEvent, Q extends FeedQuery> {
  readonly feed: LiveFeed<E, Q>;
  readonly limits: ReaderLimits;
}

export interface StreamRequest<Q extends FeedQuery> {
  /** As the client wrote it; `Last-Event-ID` wins over it. Without either what comes from now on. */
  readonly after: string | undefined;
  /** Without a cursor: begin so many rows of the log ago. */
  readonly last?: number | undefined;
  readonly query: Q;
  /** Called once when the reader is gone. */
  readonly onEnd?: () => void;
}

export class EventStreams<E extends FeedEvent, Q extends FeedQuery> {
  readonly #options: EventStreamsOptions<E, Q>;
  readonly #slots = Array.from({ length: beatSeconds }, () => new Set<EventStream<E>>());
  #nextSlot = 0;
  #beating: NodeJS.Timeout | undefined;
  /** All readers are told the same event one after the other: it is written once. */
  #written: { readonly told: Told<E>; readonly text: string } | undefined;
  readonly part: Part = {
    name: 'event streams',
    stop: async () => clearInterval(this.#beating),
  };

  constructor(options: EventStreamsOptions<E, Q>) {
    this.#options = options;
  }

  /** Answers with events until the reader leaves or the surface stops. */
  async send(
    request: Request,
    reply: Reply,
    { after, last = 0, query, onEnd }: StreamRequest<Q>,
  ): Promise<void> {
    const { feed, limits } = this.#options;
    const start = readStart(request, after) ?? (await (last === 0 ? feed.newest() : feed.rowsAgo(last)));
    const release = limits.enter(request);
    const raw = takeOver(reply, 200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    const slot = this.#slot();
    const stream = new EventStream<E>(raw, (told) => this.#textOf(told));
    let left = false;
    const leave = (): void => {
      if (left) return;
      left = true;
      slot.delete(stream);
      stream.leave();
      release();
      onEnd?.();
    };
    // Who left before the answer began says so no more.
    if (raw.destroyed) return leave();
    raw.on('close', leave);
    if (request.method === 'HEAD') return void raw.end();
    raw.write(`retry: ${retryMs}\nid: ${cursorText(start)}\n\n`);
    slot.add(stream);
    stream.subscription = feed.subscribe(start, query, stream);
  }

  #textOf(told: Told<E>): string {
    if (this.#written?.told !== told) {
      const text = `id: ${cursorText(told.cursor)}\nevent: ${told.event.type}\ndata: ${JSON.stringify(eventJson(told))}\n\n`;
      this.#written = { told, text };
    }
    return this.#written.text;
  }

  #slot(): Set<EventStream<E>> {
    this.#beating ??= setInterval(() => this.#beat(), 1_000).unref();
    this.#nextSlot = (this.#nextSlot + 1) % beatSeconds;
    return this.#slots[this.#nextSlot] ?? new Set();
  }

  #beatSlot = 0;

  #beat(): void {
    this.#beatSlot = (this.#beatSlot + 1) % beatSeconds;
    for (const stream of this.#slots[this.#beatSlot] ?? []) stream.beat();
  }
}

class EventStream<E extends FeedEvent> implements FeedReader<E> {
  readonly #raw: ServerResponse;
  readonly #textOf: (told: Told<E>) => string;
  subscription: Subscription | undefined;
  /** Beats since the reader last took something, and what waited for it at the last one. */
  #stalled = 0;
  #waited = 0;

  constructor(raw: ServerResponse, textOf: (told: Told<E>) => string) {
    this.#raw = raw;
    this.#textOf = textOf;
  }

  take(told: Told<E>): boolean {
    return this.#write(this.#textOf(told));
  }

  gap(gap: Gap): void {
    this.#write(`id: ${cursorText(gap.to)}\nevent: gap\ndata: ${JSON.stringify(gapJson(gap))}\n\n`);
  }

  end(): void {
    this.#raw.end();
  }

  leave(): void {
    this.subscription?.end();
  }

  beat(): void {
    const raw = this.#raw;
    const waits = raw.writableLength;
    this.#stalled = waits > 0 && waits >= this.#waited ? this.#stalled + 1 : 0;
    this.#waited = waits;
    if (this.#stalled > stallBeats) raw.destroy();
    else if (waits === 0 && this.subscription !== undefined) {
      raw.write(`:\nid: ${cursorText(this.subscription.cursor)}\n\n`);
    }
  }

  /** False once more waits for the reader than may. */
  #write(text: string): boolean {
    const raw = this.#raw;
    if (raw.destroyed || raw.writableEnded) return false;
    const wasTaken = raw.write(text);
    if (wasTaken || raw.writableLength < maxUntaken) return true;
    raw.once('drain', () => this.subscription?.resume());
    return false;
  }
}

function readStart(request: Request, after: string | undefined): Cursor | undefined {
  const header = request.headers['last-event-id'];
  const text = typeof header === 'string' && header !== '' ? header : after;
  if (text === undefined) return undefined;
  const cursor = parseCursor(text);
  if (cursor === undefined) throw new HttpError(400, 'Invalid cursor - must be the id of an event');
  return cursor;
}
