/** Every refusal of the router, with its status and body. Content answers carry a code that programs can read. */
import { answerTo, type Unavailability } from '../delivery/availability.ts';
import { type AnswerOptions, HttpError } from '../kernel/errors.ts';

const noStore = { 'cache-control': 'no-store' };

export interface ErrorFields {
  readonly error: string;
  readonly message?: string;
  readonly [field: string]: unknown;
}

function answer(status: number, body: ErrorFields, options: AnswerOptions = {}): HttpError {
  return new HttpError(status, body, { ...options, headers: { ...noStore, ...options.headers } });
}

const coded = (
  status: number,
  error: string,
  message: string,
  more: Record<string, unknown> = {},
  options?: AnswerOptions,
): HttpError => answer(status, { error, message, ...more }, options);

/** A URL without its query. */
export const pathOf = (url: string): string => url.split('?', 1)[0] ?? url;

export const notFound = (path: string): HttpError =>
  answer(404, { error: 'Not Found', path: path.slice(0, 512) });

export const badRequest = (message: string): HttpError => coded(400, 'Bad Request', message);

/** What the framework refuses before a route is looked at. */
export function refusal(message: string, path: string | undefined): ErrorFields {
  if (message === 'Body must not be empty') return { error: 'Invalid JSON body' };
  if (message !== 'Invalid path') return { error: message };
  return /^\/[^/]+\/stats\/gateways\//.test(path ?? '')
    ? { error: 'Invalid gateway parameter encoding' }
    : malformedPath;
}

export const malformedPath: ErrorFields = {
  error: 'Bad Request',
  message: 'Malformed percent-encoding in path',
};

export const badId = (txId: string): HttpError =>
  coded(400, 'Bad Request', 'Not the canonical form of a transaction ID', { txId });

export const rootHostOnly = (): HttpError =>
  coded(404, 'Not Found', 'This router is configured to serve root domain content only.');

/** `allow`: what the path is asked with instead. */
export const methodNotAllowed = (allow: string): HttpError =>
  coded(405, 'METHOD_NOT_ALLOWED', 'Content is read with GET or HEAD', {}, { headers: { allow } });

/** Content that cannot be had, and why. */
export class ContentUnavailable extends HttpError {
  override readonly name = 'ContentUnavailable';
  readonly state: Unavailability;

  constructor(state: Unavailability, status: number, body: ErrorFields) {
    super(status, body, { headers: { 'cache-control': answerTo(state).cacheControl } });
    this.state = state;
  }
}

/** Of those that were asked, nobody has it; whether those were all, the state says. */
export const contentNotFound = (txId: string, state: 'absent' | 'not-asked'): ContentUnavailable => {
  const message = state === 'absent' ? 'No gateway has this content' : 'No gateway that was asked has it';
  return new ContentUnavailable(state, answerTo(state).status, { error: 'CONTENT_NOT_FOUND', message, txId });
};

/** A gateway has it, and nobody can prove it, or not yet. */
export const unproven = (txId: string, state: 'pending' | 'unreadable'): ContentUnavailable => {
  const hint = 'Neither a signature nor enough gateways could prove the content';
  const message = 'The content could not be verified';
  return new ContentUnavailable(state, 502, { error: 'VERIFICATION_FAILED', message, txId, hint });
};

export const gatewayError = (message: string, cause?: unknown): HttpError =>
  coded(502, 'GATEWAY_ERROR', message, {}, { cause, retryAfter: 5 });

export const gatewayTimeout = (cause?: unknown): HttpError =>
  coded(504, 'GATEWAY_TIMEOUT', 'No gateway answered in time', {}, { cause, retryAfter: 5 });

export const noHealthyGateways = (): HttpError => {
  const hint = 'All gateways are failing or in quarantine; they are probed again by themselves';
  return coded(503, 'NO_HEALTHY_GATEWAYS', 'No healthy gateways available', { hint }, { retryAfter: 10 });
};

export const verificationFailed = (txId: string, hint: string, cause?: unknown): HttpError =>
  coded(502, 'VERIFICATION_FAILED', 'The content could not be verified', { txId, hint }, { cause });

export const nameNotFound = (arnsName: string): HttpError => {
  const message = `Failed to resolve ArNS name: "${arnsName}" is not registered`;
  return coded(404, 'ARNS_RESOLUTION_FAILED', message, { arnsName });
};

export const nameConflict = (arnsName: string): HttpError => {
  const message = `ArNS resolution mismatch for "${arnsName}": gateways returned different transaction IDs`;
  const hint =
    'Too few verification gateways agree; records reach them at different times, try again shortly';
  return coded(502, 'ARNS_CONSENSUS_MISMATCH', message, { arnsName, hint });
};

export const nameUnavailable = (arnsName: string): HttpError => {
  const message = 'Too few verification gateways answered to resolve the name';
  return coded(503, 'ARNS_RESOLUTION_UNAVAILABLE', message, { arnsName }, { retryAfter: 5 });
};

export const nameUnsupported = (arnsName: string): HttpError =>
  coded(501, 'ARNS_TARGET_UNSUPPORTED', 'The name points at something that is no transaction ID', {
    arnsName,
  });

export const manifestPathNotFound = (txId: string, path: string): HttpError =>
  coded(404, 'MANIFEST_PATH_NOT_FOUND', `Path "${path.slice(0, 256)}" not found in manifest ${txId}`, {
    txId,
  });

export const manifestError = (txId: string, message: string): HttpError =>
  coded(502, 'MANIFEST_ERROR', message, { txId });

export const contentBlocked = (): HttpError =>
  coded(403, 'Forbidden', 'This content is not available', { code: 'CONTENT_BLOCKED' });

/** Its scripts would answer for other content from then on: those live on hosts of their own. */
export const serviceWorkerRefused = (): HttpError =>
  coded(403, 'SERVICE_WORKER_REFUSED', 'Service workers run only on hosts of names and sandboxes');

/** Gateways have it and will not serve it (RFC 7725); the router itself has nothing against it. */
export const contentRefused = (): HttpError =>
  coded(451, 'UNAVAILABLE_FOR_LEGAL_REASONS', 'The gateways that have this content refuse to serve it', {
    code: 'REFUSED_BY_GATEWAY',
  });

export const rateLimited = (retryAfter: number): HttpError =>
  coded(429, 'RATE_LIMITED', 'Too many requests', { retryAfter }, { retryAfter });

export const overloaded = (): HttpError =>
  coded(503, 'OVERLOADED', 'Too many requests in flight', {}, { retryAfter: 1 });

export const shuttingDown = (): HttpError => {
  const options = { retryAfter: 30, headers: { connection: 'close' } };
  return coded(503, 'Service Unavailable', 'Server is shutting down', {}, options);
};

export const payloadTooLarge = (): HttpError => coded(413, 'PAYLOAD_TOO_LARGE', 'Request body too large');

/** Of the management routes: their own words. */
export const managementError = (
  status: number,
  error: string,
  extra: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): HttpError => answer(status, { error, ...extra }, { headers });
