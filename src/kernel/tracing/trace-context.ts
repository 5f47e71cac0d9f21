/** Ids of traces and spans, and the header that carries them (W3C Trace Context, level 1). */
import { randomFillSync } from 'node:crypto';

export interface TraceContext {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  readonly sampled: boolean;
}

const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const zeroTrace = '0'.repeat(32);
const zeroSpan = '0'.repeat(16);

/** Undefined where the header is absent or breaks the format: a new trace begins then. */
export function parseTraceparent(header: unknown): TraceContext | undefined {
  if (typeof header !== 'string' || header.length > 512) return undefined;
  const [, version = '', traceId = '', spanId = '', flags = '', rest] = form.exec(header) ?? [];
  if (version === '' || version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (traceId === zeroTrace || spanId === zeroSpan) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function formatTraceparent({ traceId, spanId, sampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
}

// Random bytes for a hundred ids at a time: one call into the system each would be most of a span's cost.
const pool = Buffer.alloc(2_048);
let used = pool.length;

function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const text = pool.toString('hex', used, used + bytes);
  used += bytes;
  return /^0+$/.test(text) ? randomHex(bytes) : text;
}

export const newTraceId = (): string => randomHex(16);
export const newSpanId = (): string => randomHex(8);

/** Whether a trace is among the recorded share: decided by its id, so that every service decides alike. */
export function isSampled(traceId: string, ratio: number): boolean {
  if (ratio >= 1) return true;
  // The last 52 bits, which are random in every generator, as a number below 1.
  return Number.parseInt(traceId.slice(-13), 16) / 2 ** 52 < ratio;
}
