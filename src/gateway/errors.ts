/**
 * Every answer of the gateway that is not a success, with its exact text (interface §4.4). Absence is said
 * only when it is known: a source that could not be asked is 502, 503 or 504, never 404.
 */
import { answerTo, type Unavailability } from '../delivery/availability.ts';
import { type AnswerOptions, HttpError } from '../kernel/errors.ts';
import type { NodeFailure } from '../outside/arweave/node.ts';

const noStore = { 'cache-control': 'no-store' };
const shortLived = { 'cache-control': 'public, max-age=60, must-revalidate' };

/** A node or gateway that we depend on failed; `cause` says how. */
export class UpstreamError extends HttpError {
  override readonly name = 'UpstreamError';
}

/** It works and will not give us this (RFC 7725): no reason to leave it alone, and not the same as not having it. */
export class UpstreamRefusal extends UpstreamError {
  constructor(cause: unknown) {
    super(502, 'Upstream error', { cause, headers: noStore });
  }
}

export const upstreamFailed = (cause?: unknown) =>
  new UpstreamError(502, 'Upstream error', { cause, headers: noStore });

export const upstreamUnavailable = (cause?: unknown) =>
  new UpstreamError(503, 'Temporarily unavailable', { cause, retryAfter: 5, headers: noStore });

export const upstreamTimeout = (cause?: unknown) =>
  new UpstreamError(504, 'Upstream timeout', { cause, headers: noStore });

/** The network that is forked did not answer; `message` says which. */
export const forkUnavailable = (cause: Error) =>
  new UpstreamError(504, cause.message, { cause, headers: noStore });

/** A failure of Arweave nodes that remains after all of them were asked. */
export function upstreamErrorOf({ kind, cause }: NodeFailure): UpstreamError {
  if (kind === 'busy') return upstreamUnavailable(cause);
  return kind === 'timeout' ? upstreamTimeout(cause) : upstreamFailed(cause);
}

/** Content, or a name, that is not to be had, and why. */
export class Unavailable extends HttpError {
  override readonly name: string = 'Unavailable';
  readonly state: Unavailability;

  constructor(state: Unavailability) {
    const { status, cacheControl } = answerTo(state);
    super(status, status === 404 ? 'Not found' : 'Upstream error', {
      headers: { 'cache-control': cacheControl },
    });
    this.state = state;
  }
}

/** Nobody has the name. */
export class NameAbsent extends Unavailable {
  override readonly name = 'NameAbsent';

  constructor() {
    super('absent');
  }
}

/** A path that leads nowhere, for certain. */
export const notFound = () => new Unavailable('absent');

/** The operator does not serve it (RFC 7725). Short-lived, so that lifting the block reaches caches too. */
export const blocked = (what: string) =>
  new HttpError(451, `Requested content blocked by this node's content policy. Blocked ID: ${what}`, {
    headers: shortLived,
  });

export const invalidId = (id: string) => new HttpError(400, `Invalid ID: ${id}`, { headers: noStore });

/** Its scripts would answer for other content from then on: those live on hosts of their own. */
export const serviceWorkerRefused = () =>
  new HttpError(403, 'Service workers run only on hosts of names and sandboxes', { headers: noStore });

/** An error whose body is the node's own text or JSON. */
export const nodeError = (status: number, body: unknown, options: AnswerOptions = {}) =>
  new HttpError(status, body, { ...options, headers: { ...noStore, ...options.headers } });
