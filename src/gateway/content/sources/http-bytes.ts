/** Fetching bytes from another HTTP server, with every way it can go wrong told apart. */
import { availabilityOf } from '../../../delivery/availability.ts';
import type { AnswerHeaders } from '../../../outside/answer-head.ts';
import { type HttpClient, type OpenAnswer, OutsideUnavailable } from '../../../outside/http.ts';
import {
  Unavailable,
  UpstreamRefusal,
  upstreamFailed,
  upstreamTimeout,
  upstreamUnavailable,
} from '../../errors.ts';

export interface FetchBytesOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly client: HttpClient;
  /** Until the response head. */
  readonly headTimeoutMs: number;
  /** Between two pieces of the body. */
  readonly stallTimeoutMs: number;
  /** Whether what it says it has not got may be somewhere it did not ask. */
  readonly asksOthers?: boolean;
}

export interface FetchedBytes {
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly body: AsyncIterable<Buffer>;
  /** Ends the exchange without reading the body. */
  discard(): void;
}

/**
 * undefined where the server knows that it does not have it. A 404 that is not to be kept is no such word of a gateway,
 * which is thrown; of the upload service, which knows what it has, it is.
 */
export async function fetchBytes(options: FetchBytesOptions): Promise<FetchedBytes | undefined> {
  const { status, headers, body, discard } = await open(options);
  if (status === 404 || status === 410) {
    discard();
    const state = availabilityOf(status, headers['cache-control']);
    if (state === 'not-asked' && options.asksOthers === true) throw new Unavailable(state);
    return undefined;
  }
  if (status === 416 && headers['content-range'] === 'bytes */0' && options.headers.range !== undefined) {
    // A range of no bytes cannot be had, and the refusal does not say what they are.
    discard();
    const { range: _range, ...whole } = options.headers;
    return await fetchBytes({ ...options, headers: whole });
  }
  if (status !== 200 && status !== 206) {
    discard();
    const error = new Error(`${options.url} answered ${status}`);
    if (status === 451) throw new UpstreamRefusal(error);
    throw status === 429 || status === 503 ? upstreamUnavailable(error) : upstreamFailed(error);
  }
  return { status, headers, body: withUpstreamErrors(body), discard };
}

async function open({ client, url, headers, signal, ...limits }: FetchBytesOptions): Promise<OpenAnswer> {
  try {
    return await client.open(url, {
      headers: { ...headers, 'accept-encoding': 'identity' },
      signal,
      timeoutMs: limits.headTimeoutMs,
      idleTimeoutMs: limits.stallTimeoutMs,
    });
  } catch (error) {
    throw failure(error);
  }
}

async function* withUpstreamErrors(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* body;
  } catch (error) {
    throw failure(error);
  }
}

function failure(error: unknown): Error {
  const cause = error instanceof OutsideUnavailable ? error.cause : error;
  // Of connecting, of the head and of the body.
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return code.includes('TIMEOUT') ? upstreamTimeout(error) : upstreamFailed(error);
}

/** Of a source that sends fewer bytes than it said. */
export const stoppedEarly = (missing: number): Error =>
  upstreamFailed(new Error(`a source stopped ${missing} bytes early`));
