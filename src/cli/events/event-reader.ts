/** Follows a stream of events over HTTP (`text/event-stream`), and goes on by itself where it broke off. */
import { setTimeout as pause } from 'node:timers/promises';
import { isRecord, memberOf, tryParseJson } from '../../formats/json.ts';
import { backoffMs } from '../../kernel/background/backoff.ts';
import { messageOf, StartupError } from '../../kernel/errors.ts';
import { HttpClient, OutsideUnavailable, readLimited } from '../../outside/http.ts';

export interface ReadEvent {
  readonly id: string;
  readonly type: string;
  /** Milliseconds. */
  readonly time: number;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface EventReaderOptions {
  readonly url: string;
  /** Path and query without the cursor; it has a query already, or none. */
  readonly path: string;
  /** The id of the last event that was seen; undefined: what comes from now on. */
  readonly after: string | undefined;
  /** Made anew for every connection. */
  readonly headers: (path: string) => Promise<Record<string, string>>;
  readonly signal: AbortSignal;
  /** The connection was lost, or nobody answers; it is tried again. */
  readonly onLost?: (why: string) => void;
  /** Events are gone that were not seen. */
  readonly onGap?: (from: string, to: string) => void;
}

const backoff = { firstMs: 500, longestMs: 15_000 };
/** A server says something every quarter of a minute. */
const idleTimeoutMs = 60_000;
const maxLine = 4 * 1024 * 1024;

export class EventReader {
  readonly #options: EventReaderOptions;
  readonly #http = new HttpClient({ timeoutMs: 30_000, maxBytes: maxLine });
  #cursor: string | undefined;

  constructor(options: EventReaderOptions) {
    this.#options = options;
    this.#cursor = options.after;
  }

  /** Where to go on from later. */
  get cursor(): string | undefined {
    return this.#cursor;
  }

  /** Until the signal. Throws `StartupError` with the server's words where it refuses. */
  async *events(): AsyncGenerator<ReadEvent, void> {
    const { signal, onLost } = this.#options;
    let failures = 0;
    try {
      while (!signal.aborted) {
        try {
          for await (const event of this.#connection()) {
            failures = 0;
            yield event;
          }
          failures += 1;
        } catch (error) {
          if (signal.aborted) return;
          if (!(error instanceof OutsideUnavailable)) throw error;
          failures += 1;
          onLost?.(messageOf(error));
        }
        await pause(backoffMs(backoff, failures), undefined, { signal }).catch(() => {});
      }
    } finally {
      await this.#http.close();
    }
  }

  async *#connection(): AsyncGenerator<ReadEvent, void> {
    const { url, path, headers, signal } = this.#options;
    const cursor = this.#cursor;
    const whole =
      cursor === undefined
        ? path
        : `${path}${path.includes('?') ? '&' : '?'}after=${encodeURIComponent(cursor)}`;
    const answer = await this.#http.open(`${url}${whole}`, {
      headers: { accept: 'text/event-stream', ...(await headers(whole)) },
      idleTimeoutMs,
      signal,
    });
    try {
      if (answer.status !== 200) {
        const text = String(await readLimited(answer.body, 64 * 1024));
        const words = refusalOf(text);
        // What is away or crowded now may not be later.
        if (answer.status >= 500 || answer.status === 429) {
          throw new OutsideUnavailable(`${answer.status}: ${words}`);
        }
        throw new StartupError(`${answer.status}: ${words}`);
      }
      for await (const block of blocks(answer.body)) {
        const event = this.#read(block);
        if (event !== undefined) yield event;
      }
    } finally {
      answer.discard();
    }
  }

  /** What a block says (HTML standard, "Interpreting an event stream"); undefined where it only moves the cursor. */
  #read(block: string): ReadEvent | undefined {
    const fields = new Map<string, string>();
    for (const line of block.split(/\r\n|\n|\r/)) {
      const [, name = '', value = ''] = /^([a-z]+): ?(.*)$/s.exec(line) ?? [];
      if (name !== '')
        fields.set(name, name === 'data' && fields.has(name) ? `${fields.get(name)}\n${value}` : value);
    }
    const json = tryParseJson(fields.get('data') ?? '');
    const id = fields.get('id');
    if (id !== undefined) this.#cursor = id;
    if (fields.get('event') === 'gap') {
      this.#options.onGap?.(String(memberOf(json, 'from')), String(memberOf(json, 'to')));
      return undefined;
    }
    const data = memberOf(json, 'data');
    if (id === undefined || !isRecord(data)) return undefined;
    return { id, type: String(memberOf(json, 'type')), time: Number(memberOf(json, 'time')), data };
  }
}

async function* blocks(body: AsyncIterable<Buffer>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const piece of body) {
    text += decoder.decode(piece, { stream: true });
    if (text.length > maxLine) throw new StartupError('the stream has an event that is too long');
    const parts = text.split('\n\n');
    text = parts.pop() ?? '';
    yield* parts;
  }
}

function refusalOf(text: string): string {
  const parsed = tryParseJson(text);
  return String(typeof parsed === 'string' ? parsed : (memberOf(parsed, 'error') ?? text)).slice(0, 500);
}
