/**
 * Streams of events from the console's server. The browser's own `EventSource` cannot send the header that proves that the
 * page asks.
 */
import { messageIn, ServiceError } from './console.ts';

export interface ServerEvent {
  readonly event: string;
  readonly data: string;
}

/** An event that is longer is not one of ours. */
const longestEvent = 4 * 1024 * 1024;

/** Reads the format of server-sent events (HTML Standard §9.2) piece by piece. */
export class EventParser {
  #rest = '';
  #event = '';
  #data: string[] = [];
  #size = 0;

  push(text: string): ServerEvent[] {
    this.#size += text.length;
    if (this.#size > longestEvent) throw new Error('an event is too long');
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? '';
    return lines.flatMap((line) => this.#take(line));
  }

  #take(line: string): ServerEvent[] {
    if (line === '') {
      const isEvent = this.#data.length > 0;
      const done = { event: this.#event === '' ? 'message' : this.#event, data: this.#data.join('\n') };
      this.#event = '';
      this.#data = [];
      this.#size = 0;
      return isEvent ? [done] : [];
    }
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') this.#event = value;
    else if (field === 'data') this.#data.push(value);
    return [];
  }
}

/** Until the stream ends or `signal` ends it; throws where there is none. */
export async function followEvents(
  path: string,
  onEvent: (event: ServerEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  const answer = await fetch(path, {
    headers: { accept: 'text/event-stream', 'x-turnpike-console': '1' },
    signal,
  }).catch((error: unknown) => {
    throw new ServiceError(0, error instanceof Error ? error.message : String(error));
  });
  if (!answer.ok || answer.body === null)
    throw new ServiceError(answer.status, messageIn(await answer.text()));
  if (answer.headers.get('content-type')?.startsWith('text/event-stream') !== true) {
    await answer.body.cancel();
    throw new ServiceError(answer.status, 'this is no stream of events');
  }
  const parser = new EventParser();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    for (const event of parser.push(value)) onEvent(event);
  }
}
