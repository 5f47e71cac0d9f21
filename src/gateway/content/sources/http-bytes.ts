/** Fetching bytes from another HTTP server, with every way it can go wrong told apart. */
import { availabilityOf } from '../../../delivery/availability.ts';
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
  header(name: string): string | undefined;
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
  return {
    status,
    header: (name) => single(headers[name]),
    body: withUpstreamErrors(body),
    discard,
  };
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

/** Where the body begins in the whole, and how large the whole is; undefined where the head does not say. */
export function placeOf({ status, header }: FetchedBytes): { start: number; size: number } | undefined {
  if (status === 200) {
    const size = sizeOf(header('content-length'));
    return size === undefined ? undefined : { start: 0, size };
  }
  const match = /^bytes (?:([0-9]{1,16})-[0-9]{1,16}|\*)\/([0-9]{1,16})$/.exec(header('content-range') ?? '');
  const size = sizeOf(match?.[2]);
  return size === undefined ? undefined : { start: sizeOf(match?.[1]) ?? 0, size };
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

/** A decimal size in a header, or undefined. */
export function sizeOf(text: string | undefined): number | undefined {
  if (text === undefined || !/^[0-9]{1,16}$/.test(text)) return undefined;
  const size = Number(text);
  return Number.isSafeInteger(size) ? size : undefined;
}

/** Of a source that sends fewer bytes than it said. */
export const stoppedEarly = (missing: number): Error =>
  upstreamFailed(new Error(`a source stopped ${missing} bytes early`));
