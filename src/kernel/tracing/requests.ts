/** The span of a request that came to us, in the words of the HTTP semantic conventions. */
import type { Span } from '@opentelemetry/api';
import type { App, Reply, Request } from '../http/app.ts';
import { failSpan } from './span.ts';
import type { Tracer } from './tracer.ts';

/** Continues the request inside a span of its own, which ends when the answer is out or the client gone. */
export type EnterSpan = (request: Request, reply: Reply, goOn: () => void) => void;

/** Called before any route is added. */
export function traceRequests(app: App, tracer: Tracer, surface: string): EnterSpan {
  const spans = new WeakMap<Request, Span>();
  // The end of a body is reported outside of the request's context: the handler goes back into it.
  app.addHook('preValidation', (request, _reply, done) => {
    const span = spans.get(request);
    if (span === undefined || tracer.current === span) done();
    else tracer.inside(span, done);
  });

  return (request, reply, goOn) => {
    const span = tracer.beginRequest(request.method, request.headers.traceparent);
    spans.set(request, span);
    reply.raw.on('close', () => {
      const route = request.timings?.route;
      const status = reply.raw.statusCode;
      if (route !== undefined) span.updateName(`${request.method} ${route}`);
      span.setAttributes({
        'http.request.method': request.method,
        'http.route': route,
        'http.response.status_code': status,
        'url.path': request.url.split('?', 1)[0],
        'url.scheme': request.protocol,
        'server.address': request.hostname,
        'network.protocol.version': request.raw.httpVersion,
        'user_agent.original': request.headers['user-agent'],
        'turnpike.surface': surface,
        'turnpike.request_id': request.id,
      });
      if (!reply.raw.writableFinished)
        failSpan(span, 'the client left before the answer was out', 'ClientGone');
      else if (status >= 500) failSpan(span, `answered ${status}`, String(status));
      span.end();
    });
    tracer.inside(span, goOn);
  };
}
