/** One gateway: how it is asked, and what came of it. Its origin is its name everywhere. */
import { isIP } from 'node:net';
import { type Dispatcher, errors, Pool } from 'undici';
import { joinPieces } from '../../delivery/streams.ts';
import { messageOf } from '../../kernel/errors.ts';
import { publicLookup } from '../../kernel/http/public-addresses.ts';
import { type AnswerHeaders, headerOf, lengthIn } from '../../outside/answer-head.ts';
import { onread } from '../../outside/read-buffers.ts';
import { AnswerBody, BodyRefused, readPieces } from './answer-body.ts';
import { Health, type HealthLimits, type Purpose } from './health.ts';
import { type Outcome, outcomeOfStatus, retryAfterMs } from './outcome.ts';

export interface GatewayLimits extends HealthLimits {
  readonly connections: number;
  readonly connectTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly streamTimeoutMs: number;
  /** For a gateway that a stranger named: it is only connected to where it is in the public internet. */
  readonly publicOnly?: boolean;
}

/** Why a gateway is asked, for telemetry. */
export type Role = 'content' | 'digest' | 'name' | 'proof' | 'chain' | 'ping';

function purposeOf(role: Role): Purpose {
  return role === 'content' || role === 'chain' ? 'read' : 'poll';
}

export interface Ask {
  readonly role: Role;
  readonly method?: 'GET' | 'HEAD' | 'POST';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  readonly timeoutMs?: number;
  /** Whoever asks finds out whether the bytes are right, and then tells what came of the attempt by `judge`. */
  readonly judged?: true;
}

export interface GatewayAnswer {
  readonly gateway: Gateway;
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly body: AnswerBody;
  readonly latencyMs: number;
  /** For a question that is `judged`: what came of it in the end. The first word counts. */
  readonly judge: (outcome: Outcome) => void;
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

/** A question that was not answered yet. */
export interface PendingAsk {
  /** It was given so long and did not begin to answer: the request went elsewhere. */
  stalled(): void;
}

/** Told once what came of a question. */
export interface AskListener {
  answered(answer: GatewayAnswer): void;
  failed(error: GatewayFailure): void;
}

/** The gateway could not be asked, or broke off. `outcome` says how. */
export class GatewayFailure extends Error {
  override readonly name = 'GatewayFailure';
  readonly outcome: Outcome;
  readonly origin: string;

  constructor(origin: string, outcome: Outcome, cause: unknown) {
    super(`${origin}: ${messageOf(cause)}`, { cause });
    this.origin = origin;
    this.outcome = outcome;
  }
}

const maxHeaderBytes = 32 * 1024;
/** Hashes are over the bytes as they are stored. */
const plainHeaders = { 'accept-encoding': 'identity' };

export class Gateway {
  readonly origin: string;
  readonly host: string;
  /** Whether hosts below its own lead to it: names cannot stand before an address. */
  readonly hasSubdomains: boolean;
  /** Named by others than the operator. */
  readonly isForeign: boolean;
  readonly health: Health;
  inFlight = 0;
  readonly #pool: Pool;
  readonly #onAttempt: AttemptListener;

  constructor(origin: string, limits: GatewayLimits, onAttempt: AttemptListener, health?: Health) {
    const url = new URL(origin);
    this.origin = url.origin;
    this.host = url.host;
    this.hasSubdomains = isIP(url.hostname.replace(/^\[|\]$/g, '')) === 0 && url.hostname !== 'localhost';
    this.isForeign = limits.publicOnly === true;
    this.#onAttempt = onAttempt;
    this.health = health ?? new Health(limits);
    this.#pool = new Pool(url.origin, {
      connections: limits.connections,
      pipelining: 1,
      connect: {
        timeout: limits.connectTimeoutMs,
        onread,
        ...(this.isForeign ? { lookup: publicLookup } : {}),
      },
      headersTimeout: limits.requestTimeoutMs,
      bodyTimeout: limits.streamTimeoutMs,
      maxHeaderSize: maxHeaderBytes,
      keepAliveTimeout: 30_000,
    });
  }

  /** Asks once. Answers of any status are answers; what cannot be asked rejects with `GatewayFailure`. */
  ask(ask: Ask): Promise<GatewayAnswer> {
    return new Promise((answered, failed) => {
      this.put(ask, { answered, failed });
    });
  }

  /** The same for those who are many: without a promise. */
  put(ask: Ask, listener: AskListener): PendingAsk {
    const exchange = new Exchange(this, ask, listener, this.#onAttempt);
    const { method = 'GET', path, headers, body, timeoutMs } = ask;
    this.#pool.dispatch(
      {
        method,
        path,
        headers: headers === undefined ? plainHeaders : { ...plainHeaders, ...headers },
        body: body ?? null,
        // Not to keep the connection after HEAD would be undici's precaution against servers that send a body with
        // it. Such a body is refused as an answer to nobody, or as no answer to the next question.
        reset: false,
        headersTimeout: timeoutMs ?? null,
        bodyTimeout: timeoutMs ?? null,
      },
      exchange,
    );
    return exchange;
  }

  /** Holds a failure against it, also one in the middle of a body. */
  failed(role: Role, cause: unknown): GatewayFailure {
    const outcome = failureOutcome(cause);
    this.health.observe(purposeOf(role), outcome, undefined, messageOf(cause));
    return new GatewayFailure(this.origin, outcome, cause);
  }

  /** Is asked nothing more, and closed when what it was asked is answered to the last byte. */
  async retire(): Promise<void> {
    await this.#pool.close();
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }
}

/** A question and its answer, as the HTTP client hands it over, and what is learnt from how it ends. */
class Exchange implements Dispatcher.DispatchHandler, PendingAsk {
  readonly #gateway: Gateway;
  readonly #ask: Ask;
  readonly #listener: AskListener;
  readonly #onAttempt: AttemptListener;
  readonly #start = performance.now();
  readonly #probe: boolean;
  #body: AnswerBody | undefined;
  #isTold = false;

  constructor(gateway: Gateway, ask: Ask, listener: AskListener, onAttempt: AttemptListener) {
    this.#gateway = gateway;
    this.#ask = ask;
    this.#listener = listener;
    this.#onAttempt = onAttempt;
    this.#probe = gateway.health.begin();
    gateway.inFlight += 1;
  }

  /** Its being there is what tells undici that this is a handler of the present kind. */
  onRequestStart(): void {}

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: AnswerHeaders): void {
    // Something preliminary: the answer comes later (RFC 9110 §15.2).
    if (status < 200) return;
    const body = new AnswerBody(controller);
    this.#body = body;
    // However long it says that the content is.
    if (this.#ask.method === 'HEAD') body.end();
    const latencyMs = this.#over();
    const gateway = this.#gateway;
    const { health } = gateway;
    const retryAfter = headerOf(headers, 'retry-after');
    const outcome = outcomeOfStatus(status, retryAfter);
    if (outcome === 'throttled') health.pause(retryAfterMs(retryAfter), status === 429);
    const reason = outcome === 'success' ? undefined : `answered ${status}`;
    health.observe(purposeOf(this.#ask.role), outcome, latencyMs, reason);
    const judge = (inTheEnd: Outcome): void => this.#tell(inTheEnd, latencyMs, status);
    if (this.#ask.judged !== true || outcome !== 'success') judge(outcome);
    this.#listener.answered({ gateway, status, headers, body, latencyMs, judge });
  }

  onResponseData(_controller: Dispatcher.DispatchController, piece: Buffer): void {
    this.#body?.push(piece);
  }

  onResponseEnd(): void {
    this.#body?.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#body !== undefined) {
      this.#body.fail(error);
      return;
    }
    const latencyMs = this.#over();
    const failure = this.#gateway.failed(this.#ask.role, error);
    this.#tell(failure.outcome, latencyMs);
    this.#listener.failed(failure);
  }

  stalled(): void {
    const waited = performance.now() - this.#start;
    this.#gateway.health.observe(purposeOf(this.#ask.role), 'timeout', waited, 'did not begin to answer');
    this.#tell('timeout', waited);
  }

  /** Once, so that figures count questions and not what happened to them one after another. */
  #tell(outcome: Outcome, latencyMs: number, status?: number): void {
    if (this.#isTold) return;
    this.#isTold = true;
    this.#onAttempt({ gateway: this.#gateway.origin, role: this.#ask.role, outcome, status, latencyMs });
  }

  #over(): number {
    this.#gateway.inFlight -= 1;
    this.#gateway.health.end(this.#probe);
    return performance.now() - this.#start;
  }
}

/** Copies those of the headers that are there. */
export function copyHeaders(from: AnswerHeaders, names: readonly string[], to: Record<string, string>): void {
  for (const name of names) {
    const value = headerOf(from, name);
    if (value !== undefined) to[name] = value;
  }
}

/** Lets go of a body nobody wants: that is no fault of the gateway's. */
export function discard(answer: GatewayAnswer): void {
  answer.judge('success');
  answer.body.discard(lengthIn(answer.headers));
}

/** The body of a small answer; one that is longer than `limit` or comes too slowly is a failure of the gateway's. */
export async function readBody(
  { body, gateway, judge }: GatewayAnswer,
  limit: number,
  slowAfter?: number,
): Promise<Buffer> {
  try {
    const pieces = await readPieces(body, limit, slowAfter);
    judge('success');
    return joinPieces(pieces);
  } catch (error) {
    const refused = error instanceof BodyRefused;
    judge(refused ? 'server_error' : failureOutcome(error));
    throw refused ? new GatewayFailure(gateway.origin, 'server_error', error) : error;
  }
}

function failureOutcome(error: unknown): Outcome {
  const isTimeout =
    error instanceof errors.HeadersTimeoutError ||
    error instanceof errors.BodyTimeoutError ||
    error instanceof errors.ConnectTimeoutError;
  return isTimeout ? 'timeout' : 'connection_error';
}
