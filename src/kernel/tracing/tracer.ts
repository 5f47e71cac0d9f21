/** The SDK as this program uses it, and which work runs inside which span. Loaded only where traces are collected. */
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Attributes,
  type Tracer as OpenTelemetryTracer,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  trace,
} from '@opentelemetry/api';
import { parseTraceParent } from '@opentelemetry/core';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { ParentBasedSampler, TraceIdRatioBasedSampler, TracerProvider } from '@opentelemetry/sdk-trace';
import { type ExportOptions, SpanExport } from './export.ts';
import { failSpanWith, maxTextLength } from './span.ts';

export interface TracerOptions extends ExportOptions {
  readonly serviceName: string;
  readonly serviceVersion: string;
  /** Share of the traces that begin here and are recorded. Those that come with a decision keep it. */
  readonly ratio: number;
}

const kinds = { internal: SpanKind.INTERNAL, server: SpanKind.SERVER, client: SpanKind.CLIENT };

export class Tracer {
  readonly #export: SpanExport;
  readonly #tracer: OpenTelemetryTracer;
  readonly #storage = new AsyncLocalStorage<Span>();

  constructor(options: TracerOptions) {
    this.#export = new SpanExport(options);
    const provider = new TracerProvider({
      resource: resourceFromAttributes({
        'service.name': options.serviceName,
        'service.version': options.serviceVersion,
        'process.pid': process.pid,
        'telemetry.sdk.name': 'opentelemetry',
        'telemetry.sdk.language': 'nodejs',
      }),
      sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(options.ratio) }),
      spanLimits: { attributeCountLimit: 32, attributeValueLengthLimit: maxTextLength },
      spanProcessors: [this.#export],
    });
    this.#tracer = provider.getTracer('turnpike', options.serviceVersion);
  }

  /** Undefined where work begins a trace. */
  get current(): Span | undefined {
    return this.#storage.getStore();
  }

  /** A span inside `parent`; without one it begins a trace. The caller ends it. */
  begin(name: string, kind: keyof typeof kinds, parent: SpanContext | undefined): Span {
    const context = parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent);
    return this.#tracer.startSpan(name, { kind: kinds[kind] }, context);
  }

  /** The span of a request that came with this `traceparent` header. */
  beginRequest(method: string, traceparent: unknown): Span {
    return this.begin(method, 'server', parseTraceparent(traceparent));
  }

  /** Work that begins in `work` is inside the span, also when it goes on later. */
  inside<T>(span: Span, work: () => T): T {
    return this.#storage.run(span, work);
  }

  run<T>(name: string, attributes: Attributes, work: (span: Span) => T): T {
    const span = this.begin(name, 'internal', this.current?.spanContext());
    span.setAttributes(attributes);
    const failed = (error: unknown): void => {
      failSpanWith(span, error);
      span.end();
    };
    try {
      const result = this.inside(span, () => work(span));
      if (result instanceof Promise) result.then(() => span.end(), failed);
      else span.end();
      return result;
    } catch (error) {
      failed(error);
      throw error;
    }
  }

  stop(): Promise<void> {
    return this.#export.shutdown();
  }
}

/** Undefined where the header is absent or breaks the format (W3C Trace Context): a new trace begins then. */
export function parseTraceparent(header: unknown): SpanContext | undefined {
  if (typeof header !== 'string' || header.length > 512) return undefined;
  const parent = parseTraceParent(header);
  return parent === null ? undefined : { ...parent, isRemote: true };
}
