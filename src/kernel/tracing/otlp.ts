/**
 * Spans as OTLP/HTTP JSON (opentelemetry-proto, `ExportTraceServiceRequest`): ids in hex, 64-bit integers as decimal
 * strings, enumerations as numbers.
 */
import type { AttributeValue, Span, SpanKind } from './span.ts';

export interface Resource {
  readonly serviceName: string;
  readonly serviceVersion: string;
}

const kinds: Readonly<Record<SpanKind, number>> = { internal: 1, server: 2, client: 3 };
const statusError = 2;
/** The lower byte is the W3C flags; 0x100 says that it is known whether the parent is remote. */
const sampledFlag = 1;

export function encodeSpans(spans: readonly Span[], resource: Resource): string {
  const { serviceName, serviceVersion } = resource;
  return JSON.stringify({
    resourceSpans: [
      {
        resource: {
          attributes: [
            attribute('service.name', serviceName),
            attribute('service.version', serviceVersion),
            attribute('process.pid', process.pid),
            attribute('telemetry.sdk.name', 'turnpike'),
            attribute('telemetry.sdk.language', 'nodejs'),
          ],
        },
        scopeSpans: [{ scope: { name: 'turnpike', version: serviceVersion }, spans: spans.map(encodeSpan) }],
      },
    ],
  });
}

function encodeSpan(span: Span): object {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    ...(span.parentId !== undefined && { parentSpanId: span.parentId }),
    flags: sampledFlag,
    name: span.name,
    kind: kinds[span.kind],
    startTimeUnixNano: nanoseconds(span.startedAt),
    endTimeUnixNano: nanoseconds(span.endedAt ?? span.startedAt),
    attributes: [...span.attributes].map(([key, value]) => attribute(key, value)),
    status: span.error === undefined ? {} : { code: statusError, message: span.error },
  };
}

function attribute(key: string, value: AttributeValue): object {
  if (typeof value === 'string') return { key, value: { stringValue: value } };
  if (typeof value === 'boolean') return { key, value: { boolValue: value } };
  return { key, value: Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value } };
}

function nanoseconds(milliseconds: number): string {
  const whole = Math.floor(milliseconds);
  return String(BigInt(whole) * 1_000_000n + BigInt(Math.floor((milliseconds - whole) * 1_000_000)));
}
