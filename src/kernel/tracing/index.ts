/**
 * Traces for OpenTelemetry, off unless an operator names a collector. While off there is no context to carry, no span
 * and no hook: `traced` is a call of its work, and servers are built without any of this.
 *
 * - `trace-context.ts`  ids and the W3C `traceparent` header
 * - `span.ts`           one piece of work
 * - `tracer.ts`         which work is recorded, and what runs inside what
 * - `requests.ts`       the span of an HTTP request
 * - `outgoing.ts`       the span of a request that we send
 * - `otlp.ts`           spans as OTLP/HTTP JSON
 * - `exporter.ts`       the bounded way to the collector
 */
import type { PlainCounter } from '../metrics.ts';
import { SpanExporter } from './exporter.ts';
import { traceOutgoing } from './outgoing.ts';
import type { Attributes, Span } from './span.ts';
import { Tracer } from './tracer.ts';

export type { Attributes, Span } from './span.ts';
export type { Tracer } from './tracer.ts';

export interface TracingOptions {
  /** Base URL of an OTLP/HTTP collector; spans go to `/v1/traces` below it. */
  readonly endpoint: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly serviceName: string;
  readonly serviceVersion: string;
  /** Share of the traces that begin here and are recorded. Those that come with a decision keep it. */
  readonly ratio: number;
  readonly log: { warn(details: object, message: string): void };
  readonly counters: { readonly exported: PlainCounter; readonly dropped: PlainCounter };
  /** How long spans wait to be sent together. */
  readonly delayMs?: number;
}

let active: Tracer | undefined;

/** Undefined while nobody collects. Servers ask once, when they are made. */
export const activeTracer = (): Tracer | undefined => active;

/** From here on, everything in this process is traced; the answer ends that and sends what is left. */
export function startTracing(options: TracingOptions): { stop(): Promise<void> } {
  const exporter = new SpanExporter(options);
  const tracer = new Tracer({ ratio: options.ratio, end: (span) => exporter.add(span) });
  const untrace = traceOutgoing(tracer);
  exporter.start((send) => tracer.unobserved(send));
  active = tracer;
  return {
    async stop() {
      if (active === tracer) active = undefined;
      untrace();
      await exporter.stop();
    },
  };
}

/** Runs work as a span inside the one at hand; the span ends with the promise where there is one. */
export function traced<T>(
  name: string,
  attributes: () => Attributes,
  work: (span: Span | undefined) => T,
): T {
  return active === undefined ? work(undefined) : active.run(name, attributes(), work);
}
