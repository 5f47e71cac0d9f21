/** One node: how to ask it, how much at a time, and what is known about its health. */
import { Agent, errors, request } from 'undici';
import { readLimited } from '../../outside/http.ts';
import { upstreamFailed, upstreamTimeout, upstreamUnavailable } from '../errors.ts';
import type { NodeAnswer, NodeStatus } from './nodes.ts';
import { type Lane, Pace, type PaceOptions } from './pace.ts';

export interface SendOptions {
  readonly method: 'GET' | 'POST';
  /** undefined: at once. Health checks must not wait for those whose node they look after. */
  readonly lane?: Lane;
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

  constructor(url: string, options: PaceOptions) {
    this.url = url;
    this.#agent = new Agent({
      // One more for health checks.
      connections: options.maxConcurrent + 1,
      pipelining: 1,
      connect: { timeout: 5_000 },
    });
    this.#pace = new Pace(options);
  }

  async send(path: string, options: SendOptions): Promise<NodeAnswer> {
    const release = options.lane === undefined ? undefined : await this.#enter(options.lane, options);
    const timeout = AbortSignal.timeout(options.timeoutMs);
    const signal = options.signal === undefined ? timeout : AbortSignal.any([timeout, options.signal]);
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
      const body = await readLimited(answer.body, options.maxBytes);
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
      release?.();
    }
  }

  /**
   * Waits for a place. Its time is not the node's: the importer waits for as long as it takes, since a large block at a
   * slow pace takes long; a reader is sent away after what a node would have been given.
   */
  async #enter(lane: Lane, { timeoutMs, signal }: SendOptions): Promise<() => void> {
    if (lane === 'import') return this.#pace.enter(lane, signal ?? new AbortController().signal);
    const tooLong = AbortSignal.timeout(timeoutMs);
    try {
      return await this.#pace.enter(
        lane,
        signal === undefined ? tooLong : AbortSignal.any([tooLong, signal]),
      );
    } catch (error) {
      signal?.throwIfAborted();
      throw tooLong.aborted ? upstreamUnavailable(error) : error;
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
