/**
 * The one place where a failure becomes an answer. An `HttpError` says its own status and body; what the
 * framework refuses (malformed JSON, too large, wrong type) gets a plain sentence; everything else is our fault,
 * answers 500 "Internal Server Error", is logged with the request id, and leaks nothing.
 */
import { STATUS_CODES } from 'node:http';
import type { FastifyError } from 'fastify';
import { HttpError } from '../errors.ts';
import { prefersType } from './accept.ts';
import type { Reply, Request, RequestPart } from './app.ts';

/**
 * How a surface writes a refusal that has no body of its own: a JSON string unless it says otherwise. There is no
 * request where what came could not be parsed as one.
 */
export type ErrorBody = (status: number, message: string, request?: Request) => unknown;

const sentences: Record<string, string> = {
  FST_ERR_CTP_INVALID_JSON_BODY: 'Invalid JSON body',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'Body must not be empty',
  FST_ERR_CTP_BODY_TOO_LARGE: 'Request body is too large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'Unsupported media type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'Request body size did not match Content-Length',
  FST_ERR_BAD_URL: 'Invalid path',
  FST_ERR_MAX_PARAM_LENGTH: 'Path is too long',
};

export function createErrorMapper(errorBody: ErrorBody) {
  return (error: unknown, request: Request, reply: Reply): void => {
    const answer = toHttpError(error, request, errorBody);
    if (answer === undefined) {
      const what = { err: error, method: request.method, route: request.routeOptions.url };
      // A client that leaves while it sends its body breaks the read; that is not our failure.
      if (request.raw.destroyed && !request.raw.complete) request.log.debug(what, 'the client left');
      else request.log.error(what, 'request failed');
      sendError(reply, new HttpError(500, errorBody(500, 'Internal Server Error')));
      return;
    }
    if (answer.status >= 500 && answer.cause !== undefined)
      request.log.warn({ err: error, status: answer.status }, 'request refused');
    sendError(reply, answer);
  };
}

/** The answer that a failure stands for, or undefined for a failure of ours. */
function toHttpError(error: unknown, request: Request, errorBody: ErrorBody): HttpError | undefined {
  if (error instanceof HttpError) return error;
  if (!isFastifyError(error)) return undefined;
  if (error.validation !== undefined) return schemaFailure(error, request, errorBody);
  const status = error.statusCode ?? 500;
  if (status < 400 || status >= 500 || !error.code.startsWith('FST_')) return undefined;
  return new HttpError(
    status,
    errorBody(status, sentences[error.code] ?? STATUS_CODES[status] ?? 'Bad Request', request),
  );
}

function schemaFailure(error: FastifyError, request: Request, errorBody: ErrorBody): HttpError {
  const part = requestPart(error.validationContext);
  const first = error.validation?.[0];
  const missing = first?.params?.missingProperty;
  const field = `${first?.instancePath ?? ''}${typeof missing === 'string' ? `/${missing}` : ''}`.slice(1);
  const { invalid } = request.routeOptions.config;
  const body = typeof invalid === 'function' ? invalid(part, field) : invalid;
  if (body !== undefined) return new HttpError(400, body, { cause: error });
  const place = field === '' ? (part === 'querystring' ? 'query' : part) : field;
  const rule = typeof missing === 'string' ? 'is required' : (first?.message ?? 'is invalid');
  return new HttpError(400, errorBody(400, `Invalid request: ${place} ${rule}`), { cause: error });
}

function requestPart(context: string | undefined): RequestPart {
  return context === 'params' || context === 'querystring' || context === 'headers' ? context : 'body';
}

function isFastifyError(error: unknown): error is FastifyError {
  return error instanceof Error && 'code' in error && typeof error.code === 'string';
}

export function sendError(reply: Reply, error: HttpError): void {
  if (error.retryAfter !== undefined) reply.header('retry-after', String(Math.ceil(error.retryAfter)));
  reply.code(error.status).headers({ ...error.headers });
  const { body } = error;
  // The contract's strings are JSON (interface §7.1); a client that would rather have text says so.
  if (
    typeof body === 'string' &&
    prefersType(reply.request.headers.accept, 'text/plain', 'application/json')
  ) {
    reply.header('content-type', 'text/plain; charset=utf-8').header('vary', 'Accept').send(body);
    return;
  }
  sendJson(reply, body);
}

/** Sends any value as JSON. Fastify would send a bare string as text; the contract's strings are JSON. */
export function sendJson(reply: Reply, value: unknown): void {
  reply.header('content-type', 'application/json; charset=utf-8').send(JSON.stringify(value));
}
