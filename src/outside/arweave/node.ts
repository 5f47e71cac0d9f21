/** One Arweave node: how to ask it, how much at a time, and what is known about its health. */
import { messageOf } from '../../kernel/errors.ts';
import { ownAnswerOnly } from '../fork-header.ts';
import { HttpClient, OutsideUnavailable } from '../http.ts';
import { type Lane, type PacerOptions, RequestPacer } from './request-pacer.ts';

/** A node gave no answer that counts: it failed, it is (or we are) too busy, or it was too slow. */
export class NodeFailure extends Error {
  override readonly name = 'NodeFailure';
  readonly kind: 'failed' | 'busy' | 'timeout';

  constructor(kind: NodeFailure['kind'], cause: unknown) {
    super(messageOf(cause), { cause });
    this.kind = kind;
  }
}

export interface NodeStatus {
  readonly url: string;
  readonly healthy: boolean;
  /** -1 until the node answered. */
  readonly height: number;
  readonly blocks: number;
  /** Epoch milliseconds of the last good answer; 0 before the first. */
  readonly lastSeen: number;
}

export interface NodeAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
  /** The node that answered. */
  readonly url: string;
}

export interface NodeOptions {
  readonly timeoutMs: number;
  /** Larger bodies are a failure of the node. */
  readonly maxBytes: number;
  /** Connections to it. */
  readonly connections: number;
  /** undefined: whoever asks, asks at once. */
  readonly pace?: PacerOptions;
}

export interface SendOptions {
  /** undefined: at once. Health checks must not wait for those whose node they look after. */
  readonly lane?: Lane;
  /** Posted where there is one. */
  readonly body?: Buffer;
  readonly contentType?: string;
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
  readonly signal?: AbortSignal | undefined;
}

/** Failures in a row after which a node is asked last until it answers a health check. */
const failuresToDistrust = 3;

export class ArweaveNode implements NodeStatus {
  readonly url: string;
  healthy = true;
  height = -1;
  blocks = -1;
  lastSeen = 0;
  /** Hash of its newest block. */
  current = '';
  #failures = 0;
  readonly #timeoutMs: number;
  readonly #http: HttpClient;
  readonly #pacer: RequestPacer | undefined;

  constructor(url: string, { pace, ...options }: NodeOptions) {
    this.url = url;
    this.#timeoutMs = options.timeoutMs;
    this.#http = new HttpClient(options);
    this.#pacer = pace && new RequestPacer(pace);
  }

  /** Whatever the node said, with any status. Throws `NodeFailure`, or the reason of the signal. */
  async send(path: string, options: SendOptions = {}): Promise<NodeAnswer> {
    const { lane, contentType, signal, ...call } = options;
    const release = lane === undefined ? undefined : await this.#enter(lane, options);
    try {
      const { status, headers, body } = await this.#http.call(`${this.url}${path}`, {
        ...call,
        ...(signal !== undefined && { signal }),
        // What is mined, paid and confirmed is a matter of the node's own chain.
        headers: { ...ownAnswerOnly, ...(contentType !== undefined && { 'content-type': contentType }) },
      });
      this.#failures = 0;
      this.lastSeen = Date.now();
      const type = headers['content-type'];
      return { status, contentType: typeof type === 'string' ? type : '', body, url: this.url };
    } catch (error) {
      signal?.throwIfAborted();
      this.#failures += 1;
      if (this.#failures >= failuresToDistrust) this.healthy = false;
      const isTimeout = error instanceof OutsideUnavailable && error.isTimeout;
      throw new NodeFailure(isTimeout ? 'timeout' : 'failed', error);
    } finally {
      release?.();
    }
  }

  /**
   * Waits for a place. Its time is not the node's: the importer waits for as long as it takes, since a large block at a
   * slow pace takes long; a reader is sent away after what a node would have been given.
   */
  async #enter(lane: Lane, { timeoutMs, signal }: SendOptions): Promise<(() => void) | undefined> {
    const tooLong =
      lane === 'import' ? new AbortController().signal : AbortSignal.timeout(timeoutMs ?? this.#timeoutMs);
    try {
      return await this.#pacer?.enter(
        lane,
        signal === undefined ? tooLong : AbortSignal.any([tooLong, signal]),
      );
    } catch (error) {
      signal?.throwIfAborted();
      throw new NodeFailure('busy', error);
    }
  }

  /** The node answered wrongly (a false proof, nonsense): it is asked last until the next health check. */
  distrust(): void {
    this.healthy = false;
  }

  close(): Promise<void> {
    return this.#http.close();
  }
}
