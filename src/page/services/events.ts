/** Follows the events of the gateway; a connection that broke off comes back by itself, and goes on where it was. */
import { isRecord, memberOf, tryParseJson } from '../../formats/json.ts';
import { serviceUrl } from './settings.ts';

export interface ChainEvent {
  readonly id: string;
  readonly type: string;
  /** Unix milliseconds. */
  readonly time: number;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface EventQuery {
  /** Those that are asked for; undefined: all. */
  readonly types?: readonly string[] | undefined;
  /** In the filter language of the gateway. */
  readonly filter?: object | undefined;
}

export interface Listener {
  onEvent(event: ChainEvent): void;
  /** Events are gone that were not seen. */
  onGap(): void;
  onState(isConnected: boolean): void;
}

/** The address that everybody can follow; undefined where this console has no gateway. */
export function eventsUrl({ types, filter }: EventQuery): string | undefined {
  const base = serviceUrl('gateway');
  if (base === undefined) return undefined;
  const query = new URLSearchParams({
    ...(types !== undefined && { types: types.join(',') }),
    ...(filter !== undefined && { filter: JSON.stringify(filter) }),
  });
  return `${base}/gw/events${query.size === 0 ? '' : `?${query}`}`;
}

export interface Following extends EventQuery {
  /** Every type that may come. */
  readonly listen: readonly string[];
  /** Begins behind this event; undefined: so many rows of the log ago. */
  readonly after: string | undefined;
  readonly last: number;
}

/** Until what is answered is called. */
export function followEvents(query: Following, { onEvent, onGap, onState }: Listener): () => void {
  const url = eventsUrl(query);
  if (url === undefined) return () => {};
  const start = query.after === undefined ? `last=${query.last}` : `after=${encodeURIComponent(query.after)}`;
  const stream = new EventSource(`${url}${url.includes('?') ? '&' : '?'}${start}`);
  stream.onopen = () => onState(true);
  stream.onerror = () => onState(false);
  stream.addEventListener('gap', onGap);
  for (const type of query.listen) {
    stream.addEventListener(type, (message) => {
      const event = tryParseJson(String(message.data));
      const data = memberOf(event, 'data');
      if (!isRecord(data)) return;
      onEvent({ id: message.lastEventId, type, time: Number(memberOf(event, 'time')), data });
    });
  }
  return () => stream.close();
}
