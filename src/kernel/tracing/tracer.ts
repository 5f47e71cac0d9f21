/** Which work is recorded, and what runs inside what. Made only where traces are collected. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { type Attributes, now, Span, type SpanKind } from './span.ts';
import { isSampled, newTraceId, type TraceContext } from './trace-context.ts';

export interface TracerOptions {
  /** Share of the traces that begin here and are recorded. */
  readonly ratio: number;
  /** Takes spans that are over. */
  end(span: Span): void;
}

export class Tracer {
  readonly #options: TracerOptions;
  /** Null: work that must not be seen, such as the sending of spans. */
  readonly #storage = new AsyncLocalStorage<Span | null>();

  constructor(options: TracerOptions) {
    this.#options = options;
  }

  /** Null where work must not be seen; undefined where it begins a trace. */
  get current(): Span | null | undefined {
    return this.#storage.getStore();
  }

  /** A span inside `parent`; without one it begins a trace. Who begins it ends it. */
  begin(name: string, kind: SpanKind, parent?: TraceContext): Span {
    const traceId = parent?.traceId ?? newTraceId();
    const sampled = parent?.sampled ?? isSampled(traceId, this.#options.ratio);
    return new Span(name, kind, traceId, parent, sampled);
  }

  /** Once; what comes later is not heard. */
  end(span: Span): void {
    if (span.endedAt !== undefined) return;
    span.endedAt = now();
    if (span.sampled) this.#options.end(span);
  }

  /** Work that begins in `work` is inside the span, also when it goes on later. */
  inside<T>(span: Span, work: () => T): T {
    return this.#storage.run(span, work);
  }

  unobserved<T>(work: () => T): T {
    return this.#storage.run(null, work);
  }

  run<T>(name: string, attributes: Attributes, work: (span: Span | undefined) => T): T {
    const parent = this.current;
    if (parent === null) return work(undefined);
    const span = this.begin(name, 'internal', parent);
    span.set(attributes);
    const failed = (error: unknown): void => {
      span.fail(error);
      this.end(span);
    };
    try {
      const result = this.#storage.run(span, () => work(span));
      if (result instanceof Promise) result.then(() => this.end(span), failed);
      else this.end(span);
      return result;
    } catch (error) {
      failed(error);
      throw error;
    }
  }
}
