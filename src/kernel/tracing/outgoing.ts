/**
 * Requests that we send, wherever in the program: the HTTP client reports each as it is made, answered and done.
 * Each becomes a span inside the work that sends it, and carries the trace on to the server it asks.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Span, SpanContext } from '@opentelemetry/api';
import { failSpan, failSpanWith } from './span.ts';
import type { Tracer } from './tracer.ts';

interface OutgoingRequest {
  readonly method: string;
  readonly origin: string | URL;
  readonly path: string;
  addHeader(name: string, value: string): unknown;
}

/** Answers how to stop it. */
export function traceOutgoing(tracer: Tracer): () => void {
  const spans = new WeakMap<object, Span>();

  const listeners: Readonly<Record<string, (message: unknown) => void>> = {
    'undici:request:create': (message) => {
      const request = requestOf(message);
      if (request === undefined) return;
      const span = tracer.begin(request.method, 'client', tracer.current?.spanContext());
      const { hostname, port, protocol } = new URL(request.origin);
      span.setAttributes({
        'http.request.method': request.method,
        'server.address': hostname,
        'server.port': Number(port === '' ? (protocol === 'https:' ? 443 : 80) : port),
        // Without its query, which may hold secrets.
        'url.full': `${protocol}//${hostname}${port === '' ? '' : `:${port}`}${request.path.split('?', 1)[0]}`,
      });
      spans.set(request, span);
      // A caller that sets the header itself is not contradicted.
      if (!hasTraceparent(request)) request.addHeader('traceparent', formatTraceparent(span.spanContext()));
    },
    'undici:request:headers': (message) => {
      const status: unknown = fieldOf(fieldOf(message, 'response'), 'statusCode');
      const span = spanOf(message);
      if (span === undefined || typeof status !== 'number' || status < 200) return;
      span.setAttributes({ 'http.response.status_code': status });
      if (status >= 400) failSpan(span, `answered ${status}`, String(status));
    },
    'undici:request:trailers': (message) => {
      spanOf(message)?.end();
    },
    'undici:request:error': (message) => {
      const span = spanOf(message);
      if (span === undefined) return;
      failSpanWith(span, fieldOf(message, 'error'));
      span.end();
    },
  };
  function spanOf(message: unknown): Span | undefined {
    const request = requestOf(message);
    return request === undefined ? undefined : spans.get(request);
  }

  for (const [name, listener] of Object.entries(listeners)) subscribe(name, listener);
  return () => {
    for (const [name, listener] of Object.entries(listeners)) unsubscribe(name, listener);
  };
}

export function formatTraceparent({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-0${traceFlags & 1}`;
}

/** The client keeps headers as a list of names and values in turn. */
function hasTraceparent(request: object): boolean {
  const headers = fieldOf(request, 'headers');
  return (
    Array.isArray(headers) && headers.some((name, at) => at % 2 === 0 && /^traceparent$/i.test(String(name)))
  );
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

function requestOf(message: unknown): OutgoingRequest | undefined {
  const request = fieldOf(message, 'request');
  return isOutgoing(request) ? request : undefined;
}

function isOutgoing(value: unknown): value is OutgoingRequest {
  return (
    typeof fieldOf(value, 'method') === 'string' &&
    typeof fieldOf(value, 'path') === 'string' &&
    URL.canParse(String(fieldOf(value, 'origin'))) &&
    typeof fieldOf(value, 'addHeader') === 'function'
  );
}
