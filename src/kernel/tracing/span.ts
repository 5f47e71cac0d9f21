/** How a span says that its work failed. Loads nothing of the SDK: callers run while traces are off, too. */
import type { Span } from '@opentelemetry/api';

/** Longer texts are cut: a span must stay small. */
export const maxTextLength = 1_024;

/** `SpanStatusCode.ERROR`: the enumeration itself is a value, which would load the API. */
const statusError = 2;

export function failSpan(span: Span, message: string, type: string): void {
  span.setStatus({ code: statusError, message: message.slice(0, maxTextLength) });
  span.setAttribute('error.type', type);
}

export function failSpanWith(span: Span, error: unknown): void {
  if (error instanceof Error) failSpan(span, error.message, error.name);
  else failSpan(span, String(error), '_OTHER');
}
