/**
 * The way of spans to the collector: a bounded queue, sent in batches in the background. Whatever goes wrong there,
 * requests never wait for it; spans that find no room, or that the collector does not take, are counted and gone.
 */
import { request } from 'undici';
import type { PlainCounter } from '../metrics.ts';
import { encodeSpans, type Resource } from './otlp.ts';
import type { Span } from './span.ts';

export interface SpanExporterOptions extends Resource {
  readonly endpoint: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly log: { warn(details: object, message: string): void };
  readonly counters: { readonly exported: PlainCounter; readonly dropped: PlainCounter };
  readonly delayMs?: number;
}

/** Spans that may wait. */
export const maxQueued = 4_096;
const maxBatch = 512;
const timeoutMs = 10_000;
const maxAnswerBytes = 64 * 1024;
const attempts = 3;
/** A collector that says so is asked again (OTLP/HTTP, "Retryable response codes"). */
const retryable = new Set([429, 502, 503, 504]);
const maxRetryMs = 5_000;
/** The time that is given to the last spans of a process. */
const stopMs = 2_000;

export class SpanExporter {
  readonly #options: SpanExporterOptions;
  readonly #url: string;
  #queue: Span[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #unobserved: (work: () => Promise<void>) => Promise<void> = (work) => work();
  #stopping = new AbortController();
  #warned = false;

  constructor(options: SpanExporterOptions) {
    this.#options = options;
    this.#url = `${options.endpoint.replace(/\/+$/, '')}/v1/traces`;
  }

  /** `unobserved` runs the sending without spans of its own. */
  start(unobserved: (work: () => Promise<void>) => Promise<void>): void {
    this.#unobserved = unobserved;
    this.#timer = setInterval(() => this.#flush(), this.#options.delayMs ?? 5_000);
    this.#timer.unref();
  }

  add(span: Span): void {
    if (this.#queue.length >= maxQueued) {
      this.#options.counters.dropped.add();
      return;
    }
    this.#queue.push(span);
    if (this.#queue.length >= maxBatch) this.#flush();
  }

  /** Sends what is left, as far as there is time. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    const limit = setTimeout(() => this.#stopping.abort(), stopMs);
    while (this.#queue.length > 0 && !this.#stopping.signal.aborted) {
      this.#flush();
      await this.#sending;
    }
    await this.#sending;
    clearTimeout(limit);
    this.#options.counters.dropped.add(this.#queue.length);
    this.#queue = [];
  }

  #flush(): void {
    if (this.#queue.length === 0) return;
    this.#sending ??= this.#unobserved(() => this.#sendAll()).finally(() => {
      this.#sending = undefined;
    });
  }

  async #sendAll(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.slice(0, maxBatch);
      this.#queue = this.#queue.slice(maxBatch);
      await this.#send(batch);
      if (this.#queue.length < maxBatch) return;
    }
  }

  async #send(batch: readonly Span[]): Promise<void> {
    const { counters, log } = this.#options;
    const body = encodeSpans(batch, this.#options);
    for (let attempt = 1; ; attempt += 1) {
      const refusal = await this.#post(body).catch((error: unknown) => ({
        reason: String(error),
        retryMs: 0,
      }));
      if (refusal === undefined) {
        counters.exported.add(batch.length);
        this.#warned = false;
        return;
      }
      if (refusal.retryMs === undefined || attempt === attempts || this.#stopping.signal.aborted) {
        counters.dropped.add(batch.length);
        // Once, not every few seconds for as long as the collector is away.
        if (!this.#warned) log.warn({ url: this.#url, reason: refusal.reason }, 'traces could not be sent');
        this.#warned = true;
        return;
      }
      await this.#pause(Math.max(refusal.retryMs, 250 * 2 ** attempt));
    }
  }

  /** Undefined where the collector took it; else why not, and how long to wait where it may be sent again. */
  async #post(body: string): Promise<{ reason: string; retryMs: number | undefined } | undefined> {
    const answer = await request(this.#url, {
      method: 'POST',
      headers: { ...this.#options.headers, 'content-type': 'application/json' },
      body,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      signal: AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(2 * timeoutMs)]),
    });
    await answer.body.dump({ limit: maxAnswerBytes });
    const { statusCode } = answer;
    if (statusCode >= 200 && statusCode < 300) return undefined;
    const after = Number(answer.headers['retry-after'] ?? 0) * 1000;
    const retryMs = Number.isFinite(after) ? Math.min(after, maxRetryMs) : 0;
    return { reason: `answered ${statusCode}`, retryMs: retryable.has(statusCode) ? retryMs : undefined };
  }

  async #pause(milliseconds: number): Promise<void> {
    await new Promise<void>((done) => {
      const timer = setTimeout(done, milliseconds);
      this.#stopping.signal.addEventListener('abort', () => {
        clearTimeout(timer);
        done();
      });
    });
  }
}
