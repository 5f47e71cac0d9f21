/**
 * The one way to ask the outside over HTTP: a connection pool, a limit on time (in all, not per byte) and on the
 * bytes of an answer. An answer is whatever the other side said, with any status; no answer is `OutsideUnavailable`.
 */

import type { LookupFunction } from 'node:net';
import type { Readable } from 'node:stream';
import { Agent, errors, request } from 'undici';

/** There was no answer within the limits of time and size. What was asked for may have been done all the same. */
export class OutsideUnavailable extends Error {
  override readonly name = 'OutsideUnavailable';

  /** The other side was too slow, as opposed to away, broken or too large in its answer. */
  get isTimeout(): boolean {
    const { cause } = this;
    return (
      cause instanceof errors.HeadersTimeoutError ||
      cause instanceof errors.BodyTimeoutError ||
      (cause instanceof DOMException && cause.name === 'TimeoutError')
    );
  }
}

export interface HttpClientOptions {
  /** For one call in all: connecting, waiting and reading. */
  readonly timeoutMs: number;
  /** Bytes of one answer's body. */
  readonly maxBytes: number;
  /** Connections to one origin. Default 32. */
  readonly connections?: number;
  /** Instead of the system's; where strangers write the addresses, one that finds public ones only. */
  readonly lookup?: LookupFunction;
}

export interface HttpCall {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'HEAD';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | Readable;
  /** Instead of the client's own. */
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
  /** Aborts when the caller gives up. */
  readonly signal?: AbortSignal;
}

/** How an answer is asked for whose body is read piece by piece, however long that takes. */
export interface OpenCall extends Omit<HttpCall, 'maxBytes'> {
  /** Between two pieces of the body; `timeoutMs` is until the head. */
  readonly idleTimeoutMs: number;
}

export interface OpenAnswer {
  readonly status: number;
  readonly headers: HttpAnswer['headers'];
  /** Throws `OutsideUnavailable` where it breaks off. */
  readonly body: AsyncIterable<Buffer>;
  /** Ends the exchange; the rest of the body is not read. */
  discard(): void;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

export class HttpClient {
  readonly #options: HttpClientOptions;
  readonly #agent: Agent;

  constructor(options: HttpClientOptions) {
    this.#options = options;
    this.#agent = new Agent({
      connections: options.connections ?? 32,
      connect: {
        timeout: Math.min(5_000, options.timeoutMs),
        ...(options.lookup && { lookup: options.lookup }),
      },
      keepAliveTimeout: 10_000,
    });
  }

  async call(url: string, call: HttpCall = {}): Promise<HttpAnswer> {
    const timeoutMs = call.timeoutMs ?? this.#options.timeoutMs;
    const timeout = AbortSignal.timeout(timeoutMs);
    try {
      const answer = await request(url, {
        method: call.method ?? (call.body === undefined ? 'GET' : 'POST'),
        dispatcher: this.#agent,
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
        signal: call.signal === undefined ? timeout : AbortSignal.any([timeout, call.signal]),
        ...(call.headers && { headers: call.headers }),
        ...(call.body !== undefined && { body: call.body }),
      });
      const body = await readLimited(answer.body, call.maxBytes ?? this.#options.maxBytes);
      return { status: answer.statusCode, headers: answer.headers, body };
    } catch (cause) {
      call.signal?.throwIfAborted();
      throw new OutsideUnavailable(`${originOf(url)} did not answer`, { cause });
    }
  }

  /** The head of an answer, and its body as it comes. A caller that does not read it to its end discards it. */
  async open(url: string, call: OpenCall): Promise<OpenAnswer> {
    try {
      const { statusCode, headers, body } = await request(url, {
        method: call.method ?? (call.body === undefined ? 'GET' : 'POST'),
        dispatcher: this.#agent,
        headersTimeout: call.timeoutMs ?? this.#options.timeoutMs,
        bodyTimeout: call.idleTimeoutMs,
        ...(call.signal && { signal: call.signal }),
        ...(call.headers && { headers: call.headers }),
        ...(call.body !== undefined && { body: call.body }),
      });
      return {
        status: statusCode,
        headers,
        body: unbroken(body, url, call.signal),
        discard: () => void body.on('error', () => {}).destroy(),
      };
    } catch (cause) {
      call.signal?.throwIfAborted();
      throw new OutsideUnavailable(`${originOf(url)} did not answer`, { cause });
    }
  }

  /** A JSON body posted, with the content type that goes with it. */
  postJson(url: string, value: unknown, call: HttpCall = {}): Promise<HttpAnswer> {
    const headers = { 'content-type': 'application/json', ...call.headers };
    return this.call(url, { ...call, headers, body: JSON.stringify(value) });
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }
}

async function* unbroken(
  body: AsyncIterable<Buffer>,
  url: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer> {
  try {
    yield* body;
  } catch (cause) {
    signal?.throwIfAborted();
    throw new OutsideUnavailable(`${originOf(url)} broke off`, { cause });
  }
}

/** The whole body; throws as soon as it is larger than `maxBytes`. */
export async function readLimited(body: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of body) {
    size += piece.length;
    if (size > maxBytes) throw new RangeError(`the answer is larger than ${maxBytes} bytes`);
    pieces.push(piece);
  }
  const [only] = pieces;
  return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces, size);
}

/** Addresses carry keys in their path and query; errors are logged. */
function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : 'an address that is none';
}
