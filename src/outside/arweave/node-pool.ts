/**
 * Arweave nodes whose health is watched: by `/info`, with the height that at least two nodes agree on. A request goes
 * to the preferred healthy node first and to the next when it fails; a failure that remains is thrown, so that "could
 * not ask" is never mistaken for "does not exist".
 */
import { isCount, isRecord, tryParseJson } from '../../formats/json.ts';
import type { Logger } from '../../kernel/log.ts';
import { ArweaveNode, type NodeAnswer, NodeFailure, type NodeStatus } from './node.ts';
import type { Lane } from './request-pacer.ts';

export interface NodePoolOptions {
  /** In order of preference. */
  readonly urls: readonly string[];
  readonly log: Logger;
  readonly healthIntervalMs?: number;
  readonly timeoutMs?: number;
  /** To one node that is not on loopback. */
  readonly requestsPerSecond?: number;
  /** What is thrown for a failure that remains; the failure itself by default. */
  readonly toError?: (failure: NodeFailure) => Error;
}

export interface AskOptions {
  readonly signal?: AbortSignal | undefined;
  /** Larger bodies are a failure of the node. Default 32 MiB. */
  readonly maxBytes?: number;
  readonly timeoutMs?: number;
  /** Statuses worth asking the next node for (another may have it); 5xx and 429 always are. Default [404]. */
  readonly retryOn?: readonly number[];
  /** Default: `lookup`. */
  readonly lane?: Lane;
}

/** A node this far from the height that the others agree on is not believed. */
const maxHeightDistance = 5;
/** Nodes asked for one answer at most. */
const maxTries = 5;
const defaultMaxBytes = 32 * 1024 * 1024;

export class NodePool {
  readonly #nodes: readonly ArweaveNode[];
  readonly #log: Logger;
  readonly #toError: (failure: NodeFailure) => Error;
  readonly #healthIntervalMs: number;
  readonly #healthTimeoutMs: number;
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #height = -1;

  constructor(options: NodePoolOptions) {
    this.#log = options.log;
    this.#toError = options.toError ?? ((failure) => failure);
    const { timeoutMs = 15_000, requestsPerSecond = 50 } = options;
    this.#healthIntervalMs = options.healthIntervalMs ?? 30_000;
    this.#healthTimeoutMs = Math.min(5_000, timeoutMs);
    this.#nodes = options.urls.map((url) => {
      const pace = isLoopback(url)
        ? { maxConcurrent: 64, requestsPerSecond: Number.POSITIVE_INFINITY }
        : { maxConcurrent: 24, requestsPerSecond };
      // One connection more for health checks.
      const connections = pace.maxConcurrent + 1;
      return new ArweaveNode(url, { timeoutMs, maxBytes: defaultMaxBytes, connections, pace });
    });
  }

  /** The height that healthy nodes agree on; -1 until one answered. */
  get height(): number {
    return this.#height;
  }

  /** The newest block of the chain that the nodes agree on; undefined while none answers or they differ. */
  get head(): { readonly height: number; readonly id: string } | undefined {
    const node = this.#nodes.find((one) => one.healthy && one.height === this.#height && one.current !== '');
    return node && { height: node.height, id: node.current };
  }

  /** For everybody to see: what an address says beside where the node is, is the operator's. */
  get status(): readonly NodeStatus[] {
    return this.#nodes.map(({ url, healthy, height, blocks, lastSeen }) => ({
      url: withoutSecrets(url),
      healthy,
      height,
      blocks,
      lastSeen,
    }));
  }

  async start(): Promise<void> {
    await this.check();
    this.#timer = setInterval(() => void this.check(), this.#healthIntervalMs);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopping.abort(new Error('the gateway is stopping'));
    await Promise.all(this.#nodes.map((node) => node.close()));
  }

  /** Asks every node for its height and decides which to believe. Never throws: an outage is a state. */
  async check(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => this.#checkNode(node)));
    const heights = this.#nodes.filter((node) => node.healthy && node.height >= 0).map((node) => node.height);
    this.#height = agreedHeight(heights);
    for (const node of this.#nodes) {
      if (node.healthy && Math.abs(node.height - this.#height) > maxHeightDistance) {
        node.healthy = false;
        this.#log.warn(
          { node: node.url, height: node.height, agreed: this.#height },
          'a node is off the chain',
        );
      }
    }
  }

  async #checkNode(node: ArweaveNode): Promise<void> {
    try {
      const answer = await node.send('/info', {
        timeoutMs: this.#healthTimeoutMs,
        maxBytes: 1024 * 1024,
        signal: this.#stopping.signal,
      });
      const info = answer.status === 200 ? parseInfo(answer.body) : undefined;
      node.healthy = info !== undefined;
      if (info !== undefined) Object.assign(node, info);
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      if (node.healthy) this.#log.warn({ node: node.url, err: error }, 'a node does not answer');
      node.healthy = false;
    }
  }

  /** Asks node after node until one gives an answer below 500; "not found" counts when everyone who could know said so. */
  async get(path: string, options: AskOptions = {}): Promise<NodeAnswer> {
    const { retryOn = [404] } = options;
    let refused: NodeAnswer | undefined;
    for await (const answer of this.each(path, options)) {
      if (!retryOn.includes(answer.status)) return answer;
      refused = answer;
    }
    if (refused !== undefined) return refused;
    throw this.#toError(noNode());
  }

  /** Sent to one node at a time, the next only when the first cannot be reached or answers 5xx. */
  async post(path: string, body: Buffer, contentType: string, options: AskOptions = {}): Promise<NodeAnswer> {
    for await (const answer of this.#answers(path, options, { body, contentType })) return answer;
    throw this.#toError(noNode());
  }

  /** Asks nodes one after the other for the same thing: for answers that are checked. */
  async *each(path: string, options: AskOptions = {}): AsyncGenerator<NodeAnswer & { distrust(): void }> {
    yield* this.#answers(path, options, {});
  }

  /** The answers that count, one per node. Where a node gave none, its failure comes last. */
  async *#answers(
    path: string,
    { lane = 'lookup', signal, timeoutMs, maxBytes }: AskOptions,
    sent: { readonly body?: Buffer; readonly contentType?: string },
  ): AsyncGenerator<NodeAnswer & { distrust(): void }> {
    const { signal: stopping } = this.#stopping;
    let failure: NodeFailure | undefined = this.#nodes.length === 0 ? noNode() : undefined;
    for (const node of this.#candidates()) {
      const answer = await node
        .send(path, {
          lane,
          signal: signal === undefined ? stopping : AbortSignal.any([stopping, signal]),
          ...(timeoutMs !== undefined && { timeoutMs }),
          ...(maxBytes !== undefined && { maxBytes }),
          ...sent,
        })
        .catch((error: unknown) => {
          if (error instanceof NodeFailure) return error;
          throw error;
        });
      if (answer instanceof NodeFailure) failure = answer;
      else if (answer.status >= 500 || answer.status === 429) failure = failureOf(answer);
      else yield { ...answer, distrust: () => node.distrust() };
    }
    if (failure !== undefined) throw this.#toError(failure);
  }

  /** Healthy nodes in order of preference, then the others: a sick node is better than none. */
  #candidates(): ArweaveNode[] {
    const healthy = this.#nodes.filter((node) => node.healthy);
    return [...healthy, ...this.#nodes.filter((node) => !node.healthy)].slice(0, maxTries);
  }
}

function withoutSecrets(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname === '/' ? '' : pathname}`;
}

const noNode = () => new NodeFailure('busy', new Error('no node is configured'));

function failureOf({ url, status }: NodeAnswer): NodeFailure {
  const cause = new Error(`${url} answered ${status}`);
  return new NodeFailure(status === 503 || status === 429 ? 'busy' : 'failed', cause);
}

/** The highest height that two nodes have reached; that of the only node where there is one. */
export function agreedHeight(heights: readonly number[]): number {
  const sorted = heights.toSorted((a, b) => b - a);
  return sorted[Math.min(1, sorted.length - 1)] ?? -1;
}

function parseInfo(body: Buffer): { height: number; blocks: number; current: string } | undefined {
  const info = tryParseJson(body.toString('utf8'));
  if (!isRecord(info)) return undefined;
  const blocks = isCount(info.blocks) ? info.blocks : undefined;
  // A node that has not joined says -1; one that says nothing is read by its number of blocks.
  const height = isCount(info.height) ? info.height : blocks === undefined ? undefined : blocks - 1;
  if (height === undefined) return undefined;
  const current = typeof info.current === 'string' ? info.current : '';
  return { height, blocks: blocks ?? height + 1, current };
}

function isLoopback(url: string): boolean {
  const { hostname } = new URL(url);
  return hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.');
}
