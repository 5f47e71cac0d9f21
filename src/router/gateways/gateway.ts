/** One gateway: how it is asked, and what came of it. Its origin is its name everywhere. */
import { isIP } from 'node:net';
import { type Dispatcher, errors, Pool } from 'undici';
import { Health, type HealthLimits } from './health.ts';
import { type Outcome, outcomeOfStatus, retryAfterMs } from './outcome.ts';

export interface GatewayLimits extends HealthLimits {
  readonly connections: number;
  readonly connectTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly streamTimeoutMs: number;
}

/** Why a gateway is asked, for telemetry. */
export type Role = 'content' | 'digest' | 'name' | 'proof' | 'chain' | 'ping';

export interface Ask {
  readonly role: Role;
  readonly method?: 'GET' | 'HEAD' | 'POST';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

export interface GatewayAnswer {
  readonly gateway: Gateway;
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: Dispatcher.ResponseData['body'];
  readonly latencyMs: number;
}

/** One finished attempt; told to whoever keeps figures. */
export interface Attempt {
  readonly gateway: string;
  readonly role: Role;
  readonly outcome: Outcome;
  readonly status: number | undefined;
  readonly latencyMs: number;
}

export type AttemptListener = (attempt: Attempt) => void;

/** The gateway could not be asked, or broke off. `outcome` says how. */
export class GatewayFailure extends Error {
  override readonly name = 'GatewayFailure';
  readonly outcome: Outcome;
  readonly origin: string;

  constructor(origin: string, outcome: Outcome, cause: unknown) {
    super(`${origin}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.origin = origin;
    this.outcome = outcome;
  }
}

const maxHeaderBytes = 32 * 1024;

export class Gateway {
  readonly origin: string;
  readonly host: string;
  /** Whether hosts below its own lead to it: names cannot stand before an address. */
  readonly hasSubdomains: boolean;
  readonly health: Health;
  inFlight = 0;
  readonly #pool: Pool;
  readonly #limits: GatewayLimits;
  readonly #onAttempt: AttemptListener;

  constructor(origin: string, limits: GatewayLimits, onAttempt: AttemptListener) {
    const url = new URL(origin);
    this.origin = url.origin;
    this.host = url.host;
    this.hasSubdomains = isIP(url.hostname.replace(/^\[|\]$/g, '')) === 0 && url.hostname !== 'localhost';
    this.#limits = limits;
    this.#onAttempt = onAttempt;
    this.health = new Health(limits);
    this.#pool = new Pool(url.origin, {
      connections: limits.connections,
      pipelining: 1,
      connect: { timeout: limits.connectTimeoutMs },
      headersTimeout: limits.requestTimeoutMs,
      bodyTimeout: limits.streamTimeoutMs,
      maxHeaderSize: maxHeaderBytes,
      keepAliveTimeout: 30_000,
    });
  }

  /** Asks once. Answers of any status are answers; what cannot be asked throws `GatewayFailure`. */
  async ask(ask: Ask): Promise<GatewayAnswer> {
    const start = performance.now();
    const probe = this.health.begin();
    this.inFlight += 1;
    try {
      const { statusCode, headers, body } = await this.#pool.request({
        method: ask.method ?? 'GET',
        path: ask.path,
        headers: { 'accept-encoding': 'identity', ...ask.headers },
        ...(ask.body === undefined ? {} : { body: ask.body }),
        ...(ask.signal === undefined ? {} : { signal: ask.signal }),
        ...(ask.timeoutMs === undefined ? {} : { headersTimeout: ask.timeoutMs, bodyTimeout: ask.timeoutMs }),
      });
      const latencyMs = performance.now() - start;
      const retryAfter = headerOf(headers, 'retry-after');
      const outcome = outcomeOfStatus(statusCode, retryAfter);
      if (outcome === 'throttled') this.health.pause(retryAfterMs(retryAfter));
      this.health.observe(outcome, latencyMs, `answered ${statusCode}`);
      this.#onAttempt({ gateway: this.origin, role: ask.role, outcome, status: statusCode, latencyMs });
      return { gateway: this, status: statusCode, headers, body, latencyMs };
    } catch (error) {
      const latencyMs = performance.now() - start;
      // Given up by us, not failed by it; but it was no quicker than this.
      if (ask.signal?.aborted === true) {
        if (latencyMs > (this.health.latencyMs ?? 0)) this.health.observeLatency(latencyMs);
        throw new GatewayFailure(this.origin, 'timeout', error);
      }
      throw this.failed(ask.role, error, latencyMs);
    } finally {
      this.inFlight -= 1;
      this.health.end(probe);
    }
  }

  /** Notes a failure, also one in the middle of a body. */
  failed(role: Role, cause: unknown, latencyMs: number): GatewayFailure {
    const outcome = isTimeout(cause) ? 'timeout' : 'connection_error';
    this.health.observe(outcome, undefined, messageOf(cause));
    this.#onAttempt({ gateway: this.origin, role, outcome, status: undefined, latencyMs });
    return new GatewayFailure(this.origin, outcome, cause);
  }

  /** It was given so long and did not begin to answer: the request went elsewhere. */
  stalled(role: Role, latencyMs: number): void {
    this.health.observe('timeout', latencyMs, 'did not begin to answer');
    this.#onAttempt({ gateway: this.origin, role, outcome: 'timeout', status: undefined, latencyMs });
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  get requestTimeoutMs(): number {
    return this.#limits.requestTimeoutMs;
  }
}

export function headerOf(headers: GatewayAnswer['headers'], name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/** Lets go of a body nobody wants; a small one is read, so that its connection can be used again. */
export function discard(answer: GatewayAnswer): void {
  answer.body.on('error', () => {});
  const length = Number(headerOf(answer.headers, 'content-length') ?? 0);
  if (length <= 16 * 1024) answer.body.resume();
  else answer.body.destroy();
}

/** The body of a small answer; more than `limit` bytes is a failure of the gateway's. */
export function readBody({ body, gateway }: GatewayAnswer, limit: number): Promise<Buffer> {
  // Events rather than an iterator: for small bodies that is half of the cost.
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let size = 0;
    body.on('data', (piece: Buffer) => {
      size += piece.length;
      pieces.push(piece);
      if (size <= limit) return;
      reject(new GatewayFailure(gateway.origin, 'server_error', new Error('the answer is too long')));
      body.destroy();
    });
    body.on('end', () => {
      const [first] = pieces;
      resolve(pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces, size));
    });
    body.on('error', reject);
    body.on('close', () => reject(new Error('the body ended early')));
  });
}

function isTimeout(error: unknown): boolean {
  return (
    error instanceof errors.HeadersTimeoutError ||
    error instanceof errors.BodyTimeoutError ||
    error instanceof errors.ConnectTimeoutError
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
