/**
 * What readers of events share, whichever way they are told: a place in the log (the cursor), a source that turns rows of
 * the log into events, and a query that says which of them a reader wants.
 */
import type { LoggedEvent } from './event-log.ts';

/** One event as a reader gets it. */
export interface FeedEvent {
  /** Its place among the events of its row, from 0: the same whenever the row is read. */
  readonly index: number;
  /** For example `item.mined`, `upload.permanent`. */
  readonly type: string;
  /** Milliseconds. */
  readonly time: number;
  /** As it goes out in JSON. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** How a surface turns its part of the log into events, and chooses among them. */
export interface EventSource<E extends FeedEvent, Q extends FeedQuery> {
  /** The events of a row, in order. One that can no longer be told (its record was pruned) is left out, its index too. */
  expand(row: LoggedEvent): Promise<readonly E[]>;
  matches(event: E, query: Q): boolean;
  /** Reads what a stranger asked for; throws `BadQuery` with a sentence for it. */
  parseQuery(json: unknown): Q;
}

export interface FeedQuery {
  /** Only rows of this wallet are looked at. */
  readonly subject?: string;
  /** Queries that say the same have the same key: an event is then matched once for all of their readers. */
  readonly key?: string;
}

/** A query that cannot be read, in words for who sent it. */
export class BadQuery extends Error {
  override readonly name = 'BadQuery';
}

/** Where a reader is: after all of a row, or after so many of its events. */
export interface Cursor {
  readonly seq: number;
  /** Events of row `seq` that were told; undefined: all of them. */
  readonly told?: number;
}

export function cursorText({ seq, told }: Cursor): string {
  return told === undefined ? String(seq) : `${seq}-${told}`;
}

/** undefined where it is none. */
export function parseCursor(text: string): Cursor | undefined {
  const match = /^(0|[1-9]\d{0,14})(?:-(0|[1-9]\d{0,8}))?$/.exec(text);
  if (match === null) return undefined;
  const seq = Number(match[1]);
  return match[2] === undefined ? { seq } : { seq, told: Number(match[2]) };
}

/** The order in which events are told. */
export function isAfter(a: Cursor, b: Cursor): boolean {
  if (a.seq !== b.seq) return a.seq > b.seq;
  return (a.told ?? Number.POSITIVE_INFINITY) > (b.told ?? Number.POSITIVE_INFINITY);
}

/** An event with its place: a reader that was told it goes on from there. */
export interface Told<E extends FeedEvent = FeedEvent> {
  readonly cursor: Cursor;
  readonly event: E;
}

/** Events between two places that are no longer in the log. */
export interface Gap {
  readonly from: Cursor;
  readonly to: Cursor;
}

/** An event as it goes out, whichever way. Its id is its place, and never changes. */
export function eventJson({ cursor, event: { type, time, data } }: Told) {
  return { id: cursorText(cursor), type, time, data };
}

export function gapJson({ from, to }: Gap) {
  return { from: cursorText(from), to: cursorText(to) };
}
