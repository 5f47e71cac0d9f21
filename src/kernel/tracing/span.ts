/** One piece of work: when, what, inside of what. */
import { newSpanId, type TraceContext } from './trace-context.ts';

export type AttributeValue = string | number | boolean;
export type Attributes = Readonly<Record<string, AttributeValue | undefined>>;
export type SpanKind = 'internal' | 'server' | 'client';

/** Longer texts are cut: a span must stay small. */
const maxText = 1_024;
const maxAttributes = 32;

export class Span implements TraceContext {
  readonly traceId: string;
  readonly spanId: string = newSpanId();
  readonly parentId: string | undefined;
  readonly sampled: boolean;
  readonly kind: SpanKind;
  name: string;
  /** Milliseconds since 1970, with their fractions. */
  readonly startedAt: number = now();
  endedAt: number | undefined;
  readonly attributes = new Map<string, AttributeValue>();
  /** Why it failed. */
  error: string | undefined;

  constructor(
    name: string,
    kind: SpanKind,
    traceId: string,
    parent: TraceContext | undefined,
    sampled: boolean,
  ) {
    this.name = name;
    this.kind = kind;
    this.traceId = traceId;
    this.parentId = parent?.spanId;
    this.sampled = sampled;
  }

  set(attributes: Attributes): void {
    if (!this.sampled) return;
    for (const [key, value] of Object.entries(attributes)) {
      if (value === undefined) continue;
      if (this.attributes.size >= maxAttributes && !this.attributes.has(key)) return;
      this.attributes.set(key, typeof value === 'string' ? value.slice(0, maxText) : value);
    }
  }

  fail(error: unknown): void {
    const { name, message } = error instanceof Error ? error : { name: '_OTHER', message: String(error) };
    this.error = message.slice(0, maxText);
    this.set({ 'error.type': name });
  }
}

export function now(): number {
  return performance.timeOrigin + performance.now();
}
