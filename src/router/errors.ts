/** Every refusal of the router, with its status and body. Content answers carry a code that programs can read. */
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

export const notFound = (path: string): HttpError =>
  answer(404, { error: 'Not Found', path: path.slice(0, 512) });

export const badRequest = (message: string): HttpError => answer(400, { error: 'Bad Request', message });

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

export const badId = (id: string): HttpError =>
  answer(400, { error: 'Bad Request', message: 'Not the canonical form of a transaction ID', txId: id });

export const rootHostOnly = (): HttpError =>
  answer(404, {
    error: 'Not Found',
    message: 'This router is configured to serve root domain content only.',
  });

export const methodNotAllowed = (): HttpError =>
  answer(
    405,
    { error: 'METHOD_NOT_ALLOWED', message: 'Content is read with GET or HEAD' },
    { headers: { allow: 'GET, HEAD, OPTIONS' } },
  );

export const contentNotFound = (txId: string): HttpError =>
  answer(
    404,
    { error: 'CONTENT_NOT_FOUND', message: 'No gateway has this content', txId },
    { headers: { 'cache-control': 'public, max-age=30' } },
  );

export const gatewayError = (message: string, cause?: unknown): HttpError =>
  answer(502, { error: 'GATEWAY_ERROR', message }, { cause, retryAfter: 5 });

export const gatewayTimeout = (cause?: unknown): HttpError =>
  answer(504, { error: 'GATEWAY_TIMEOUT', message: 'No gateway answered in time' }, { cause, retryAfter: 5 });

export const noHealthyGateways = (): HttpError =>
  answer(
    503,
    {
      error: 'NO_HEALTHY_GATEWAYS',
      message: 'No healthy gateways available',
      hint: 'All gateways are failing or in quarantine; they are probed again by themselves',
    },
    { retryAfter: 10 },
  );

export const verificationFailed = (txId: string, hint: string, cause?: unknown): HttpError =>
  answer(
    502,
    { error: 'VERIFICATION_FAILED', message: 'The content could not be verified', txId, hint },
    { cause },
  );

export const nameNotFound = (arnsName: string): HttpError =>
  answer(404, {
    error: 'ARNS_RESOLUTION_FAILED',
    message: `Failed to resolve ArNS name: "${arnsName}" is not registered`,
    arnsName,
  });

export const nameConflict = (arnsName: string): HttpError =>
  answer(502, {
    error: 'ARNS_CONSENSUS_MISMATCH',
    message: `ArNS resolution mismatch for "${arnsName}": gateways returned different transaction IDs`,
    arnsName,
    hint: 'Too few verification gateways agree; records reach them at different times, try again shortly',
  });

export const nameUnavailable = (arnsName: string): HttpError =>
  answer(
    503,
    {
      error: 'ARNS_RESOLUTION_UNAVAILABLE',
      message: 'Too few verification gateways answered to resolve the name',
      arnsName,
    },
    { retryAfter: 5 },
  );

export const nameUnsupported = (arnsName: string): HttpError =>
  answer(501, {
    error: 'ARNS_TARGET_UNSUPPORTED',
    message: 'The name points at something that is no transaction ID',
    arnsName,
  });

export const manifestPathNotFound = (txId: string, path: string): HttpError =>
  answer(404, {
    error: 'MANIFEST_PATH_NOT_FOUND',
    message: `Path "${path.slice(0, 256)}" not found in manifest ${txId}`,
    txId,
  });

export const manifestError = (txId: string, message: string): HttpError =>
  answer(502, { error: 'MANIFEST_ERROR', message, txId });

export const contentBlocked = (): HttpError =>
  answer(403, {
    error: 'Forbidden',
    message: 'This content is not available',
    code: 'CONTENT_BLOCKED',
  });

export const rateLimited = (retryAfter: number): HttpError =>
  answer(429, { error: 'RATE_LIMITED', message: 'Too many requests', retryAfter }, { retryAfter });

export const overloaded = (): HttpError =>
  answer(503, { error: 'OVERLOADED', message: 'Too many requests in flight' }, { retryAfter: 1 });

export const shuttingDown = (): HttpError =>
  answer(
    503,
    { error: 'Service Unavailable', message: 'Server is shutting down' },
    { retryAfter: 30, headers: { connection: 'close' } },
  );

export const payloadTooLarge = (): HttpError =>
  answer(413, { error: 'PAYLOAD_TOO_LARGE', message: 'Request body too large' });

/** Of the management routes: their own words. */
export const managementError = (
  status: number,
  error: string,
  extra: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): HttpError => answer(status, { error, ...extra }, { headers });
