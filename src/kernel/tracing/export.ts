/**
 * The way of spans to the collector: the SDK's batches over OTLP/HTTP, with a bound on all that waits and a count of
 * what is lost, which the SDK does not tell. Requests never wait for it.
 */
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { BatchSpanProcessor, type ReadableSpan, type SpanProcessor } from '@opentelemetry/sdk-trace';
import { within } from '../background/within.ts';
import type { PlainCounter } from '../metrics.ts';

export interface ExportOptions {
  /** Base URL of an OTLP/HTTP collector; spans go to `/v1/traces` below it. */
  readonly endpoint: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly log: { warn(details: object, message: string): void };
  readonly counters: { readonly exported: PlainCounter; readonly dropped: PlainCounter };
  /** How long spans wait to be sent together. */
  readonly delayMs?: number;
}

/** Spans that may wait, those that are being sent included. */
export const maxWaiting = 4_096;
/** For one batch, with the times that it is sent again. */
const timeoutMs = 10_000;
/** The time that is given to the last spans of a process. */
const stopMs = 2_000;

export class SpanExport implements SpanProcessor {
  readonly #options: ExportOptions;
  readonly #url: string;
  readonly #batches: BatchSpanProcessor;
  /** Spans that have ended, and are neither taken nor lost. */
  #waiting = 0;
  #stopped: Promise<void> | undefined;
  #warned = false;

  constructor(options: ExportOptions) {
    this.#options = options;
    this.#url = `${options.endpoint.replace(/\/+$/, '')}/v1/traces`;
    const exporter = new OTLPTraceExporter({
      url: this.#url,
      headers: { ...options.headers },
      timeoutMillis: timeoutMs,
    });
    this.#batches = new BatchSpanProcessor({
      exporter: {
        export: (spans, done) =>
          exporter.export(spans, (result) => {
            this.#count(spans.length, result.error);
            done(result);
          }),
        shutdown: () => exporter.shutdown(),
      },
      maxQueueSize: maxWaiting,
      scheduledDelayMillis: options.delayMs ?? 5_000,
    });
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    if (this.#waiting >= maxWaiting || this.#stopped !== undefined) {
      this.#options.counters.dropped.add();
      return;
    }
    this.#waiting += 1;
    this.#batches.onEnd(span);
  }

  forceFlush(): Promise<void> {
    return this.#batches.forceFlush();
  }

  /** Sends what is left, as far as there is time. */
  shutdown(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    // What cannot be sent is counted with its batch.
    await within(
      stopMs,
      this.#batches.shutdown().catch(() => {}),
    );
    if (this.#waiting > 0) this.#count(this.#waiting, new Error('stopped before they were sent'));
  }

  #count(spans: number, error: Error | undefined): void {
    const { counters, log } = this.#options;
    // A batch that ends after the time to stop was over has been counted already.
    const counted = Math.min(spans, this.#waiting);
    this.#waiting -= counted;
    if (error === undefined) {
      counters.exported.add(counted);
      this.#warned = false;
      return;
    }
    counters.dropped.add(counted);
    // Once, not every few seconds for as long as the collector is away.
    if (!this.#warned) log.warn({ url: this.#url, reason: String(error) }, 'traces could not be sent');
    this.#warned = true;
  }
}
