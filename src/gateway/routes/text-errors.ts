/** Errors of the gateway's reading routes: the words as plain text, as nodes and gateways send them. */
import { HttpError } from '../../kernel/errors.ts';
import { createErrorMapper } from '../../kernel/http/error-mapper.ts';
import type { App, Reply } from '../../kernel/http/server.ts';
import { DatabaseUnavailable } from '../../storage/sql/sql.ts';
import { upstreamUnavailable } from '../errors.ts';

const mapOther = createErrorMapper((_status, message) => message);

export function answerErrorsAsText(app: App): void {
  app.setErrorHandler((error, request, reply) => {
    if (error instanceof HttpError && typeof error.body === 'string') {
      if (error.status >= 500 && error.cause !== undefined) {
        request.log.warn({ err: error, status: error.status }, 'request refused');
      }
      sendTextError(reply, error, error.body);
      return;
    }
    if (error instanceof DatabaseUnavailable) {
      request.log.warn({ err: error }, 'the database does not answer');
      sendTextError(reply, upstreamUnavailable(error), 'Temporarily unavailable');
      return;
    }
    reply.header('cache-control', 'no-store');
    mapOther(error, request, reply);
  });
}

/** What is refused before its route is known: only paths that cannot be read are. */
export function refuseAsText(error: { readonly code: string }, _request: unknown, reply: Reply): void {
  const [status, text] =
    error.code === 'FST_ERR_BAD_URL' ? [400, 'Bad Request: Invalid URL encoding'] : [414, 'Path is too long'];
  sendTextError(reply, new HttpError(status, text), text);
}

/** Every path may be content, which is read and nothing else (RFC 9110 §15.5.6). */
export function answerOtherMethods(app: App): void {
  app.route({
    method: ['POST', 'PUT', 'PATCH', 'DELETE'],
    url: '/*',
    schema: { hide: true },
    // Before a body is read.
    onRequest: async (request) => {
      const allowed = ['GET', 'HEAD', ...app.methods.allowed(request, { named: true })];
      throw app.methods.refusal(request, allowed);
    },
    handler: async () => undefined,
  });
}

export function sendTextError(reply: Reply, error: HttpError, text: string): void {
  if (error.retryAfter !== undefined) reply.header('retry-after', String(Math.ceil(error.retryAfter)));
  reply
    .code(error.status)
    .header('cache-control', 'no-store')
    .headers({ ...error.headers })
    .header('content-type', 'text/plain; charset=utf-8')
    .send(text);
}

/** Text without quotes or newline, as a node answers (interface §4.4). */
export function sendText(reply: Reply, text: string): Reply {
  return reply.header('content-type', 'text/plain; charset=utf-8').send(text);
}

/** JSON that is text already, passed on as it is. */
export function sendJsonText(reply: Reply, json: string | Buffer): Reply {
  return reply.header('content-type', 'application/json; charset=utf-8').send(json);
}
