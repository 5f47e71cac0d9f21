/** One node: how to ask it, how much at a time, and what is known about its health. */
import { Agent, errors, request } from 'undici';
import { upstreamFailed, upstreamTimeout } from '../errors.ts';
import type { NodeAnswer, NodeStatus } from './nodes.ts';

export interface ConnectionOptions {
  /** Requests in flight to one node at most; the others wait. */
  readonly maxConcurrent: number;
  /** Requests begun per second at most; Infinity for a node of our own. */
  readonly requestsPerSecond: number;
}

export interface SendOptions {
  readonly method: 'GET' | 'POST';
  readonly body?: Buffer;
  readonly contentType?: string;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly signal?: AbortSignal | undefined;
}

/** Failures in a row after which a node is asked last until it answers a health check. */
const failuresToDistrust = 3;

export class NodeConnection implements NodeStatus {
  readonly url: string;
  healthy = true;
  height = -1;
  blocks = -1;
  lastSeen = 0;
  /** Hash of the newest block it told of. */
  current = '';
  #failures = 0;
  readonly #agent: Agent;
  readonly #pace: Pace;

  constructor(url: string, options: ConnectionOptions) {
    this.url = url;
    this.#agent = new Agent({
      connections: options.maxConcurrent,
      pipelining: 1,
      connect: { timeout: 5_000 },
    });
    this.#pace = new Pace(options.maxConcurrent, options.requestsPerSecond);
  }

  async send(path: string, options: SendOptions): Promise<NodeAnswer> {
    const timeout = AbortSignal.timeout(options.timeoutMs);
    const signal = options.signal === undefined ? timeout : AbortSignal.any([timeout, options.signal]);
    const release = await this.#pace.enter(signal);
    try {
      const answer = await request(`${this.url}${path}`, {
        method: options.method,
        dispatcher: this.#agent,
        headersTimeout: options.timeoutMs,
        bodyTimeout: options.timeoutMs,
        signal,
        ...(options.body !== undefined && { body: options.body }),
        ...(options.contentType !== undefined && { headers: { 'content-type': options.contentType } }),
      });
      const body = await readBody(answer.body, options.maxBytes);
      this.#failures = 0;
      this.lastSeen = Date.now();
      const contentType = answer.headers['content-type'];
      return {
        status: answer.statusCode,
        contentType: typeof contentType === 'string' ? contentType : '',
        body,
        url: this.url,
      };
    } catch (error) {
      options.signal?.throwIfAborted();
      this.#failures += 1;
      if (this.#failures >= failuresToDistrust) this.healthy = false;
      throw timeout.aborted ||
        error instanceof errors.HeadersTimeoutError ||
        error instanceof errors.BodyTimeoutError
        ? upstreamTimeout(error)
        : upstreamFailed(error);
    } finally {
      release();
    }
  }

  /** The node answered wrongly (a false proof, nonsense): it is asked last until the next health check. */
  distrust(): void {
    this.healthy = false;
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }
}

async function readBody(body: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of body) {
    size += piece.length;
    if (size > maxBytes) throw new RangeError(`the answer is larger than ${maxBytes} bytes`);
    pieces.push(piece);
  }
  return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces, size);
}

/** Lets a bounded number in at once, and no more per second than agreed; waiters keep their order. */
class Pace {
  readonly #maxConcurrent: number;
  readonly #perSecond: number;
  #inside = 0;
  #waiting: (() => void)[] = [];
  #allowance: number;
  #counted = performance.now();

  constructor(maxConcurrent: number, perSecond: number) {
    this.#maxConcurrent = maxConcurrent;
    this.#perSecond = perSecond;
    this.#allowance = perSecond;
  }

  async enter(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#inside >= this.#maxConcurrent) {
      await new Promise<void>((resolve, reject) => {
        const admit = (): void => {
          signal.removeEventListener('abort', leave);
          resolve();
        };
        const leave = (): void => {
          this.#waiting = this.#waiting.filter((other) => other !== admit);
          reject(signal.reason);
        };
        signal.addEventListener('abort', leave, { once: true });
        this.#waiting.push(admit);
      });
    } else {
      this.#inside += 1;
    }
    const release = (): void => {
      const next = this.#waiting.shift();
      if (next === undefined) this.#inside -= 1;
      else next();
    };
    try {
      await this.#turn(signal);
    } catch (error) {
      release();
      throw error;
    }
    return release;
  }

  /** A token bucket of one second's size. */
  async #turn(signal: AbortSignal): Promise<void> {
    if (this.#perSecond === Number.POSITIVE_INFINITY) return;
    const now = performance.now();
    this.#allowance = Math.min(
      this.#perSecond,
      this.#allowance + ((now - this.#counted) / 1_000) * this.#perSecond,
    );
    this.#counted = now;
    this.#allowance -= 1;
    if (this.#allowance >= 0) return;
    const waitMs = (-this.#allowance / this.#perSecond) * 1_000;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        signal.removeEventListener('abort', leave);
        resolve();
      }, waitMs);
      const leave = (): void => {
        clearTimeout(timer);
        reject(signal.reason);
      };
      signal.addEventListener('abort', leave, { once: true });
    });
  }
}
