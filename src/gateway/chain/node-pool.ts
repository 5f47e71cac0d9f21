/**
 * The `Nodes` over HTTP: health by `/info`, the height that at least two nodes agree on, and requests that go
 * to the preferred healthy node first and to the next when it fails.
 */
import type { Logger } from '../../kernel/log.ts';
import { UpstreamError, upstreamFailed, upstreamUnavailable } from '../errors.ts';
import { NodeConnection } from './node-connection.ts';
import type { AskOptions, NodeAnswer, NodeStatus, Nodes } from './nodes.ts';

export interface NodePoolOptions {
  /** In order of preference. */
  readonly urls: readonly string[];
  readonly log: Logger;
  readonly healthIntervalMs?: number;
  readonly timeoutMs?: number;
  /** To one node that is not on loopback. */
  readonly requestsPerSecond?: number;
}

/** A node this far from the height that the others agree on is not believed. */
const maxHeightDistance = 5;
/** Nodes asked for one answer at most. */
const maxTries = 5;
const defaultMaxBytes = 32 * 1024 * 1024;

export class NodePool implements Nodes {
  readonly #nodes: readonly NodeConnection[];
  readonly #log: Logger;
  readonly #timeoutMs: number;
  readonly #healthIntervalMs: number;
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #height = -1;

  constructor(options: NodePoolOptions) {
    this.#log = options.log;
    this.#timeoutMs = options.timeoutMs ?? 15_000;
    this.#healthIntervalMs = options.healthIntervalMs ?? 30_000;
    this.#nodes = options.urls.map((url) => {
      const ownNode = isLoopback(url);
      return new NodeConnection(url, {
        maxConcurrent: ownNode ? 64 : 24,
        requestsPerSecond: ownNode ? Number.POSITIVE_INFINITY : (options.requestsPerSecond ?? 50),
      });
    });
  }

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

  async #checkNode(node: NodeConnection): Promise<void> {
    try {
      const answer = await node.send('/info', {
        method: 'GET',
        timeoutMs: Math.min(5_000, this.#timeoutMs),
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

  async get(path: string, options: AskOptions = {}): Promise<NodeAnswer> {
    const retryOn = options.retryOn ?? [404];
    let refused: NodeAnswer | undefined;
    let failure: unknown;
    for (const node of this.#candidates()) {
      try {
        const answer = await this.#send(node, 'GET', path, options);
        if (answer.status >= 500 || answer.status === 429) failure = failureOf(answer);
        else if (retryOn.includes(answer.status)) refused = answer;
        else return answer;
      } catch (error) {
        if (!(error instanceof UpstreamError)) throw error;
        failure = error;
      }
    }
    // "Not found" counts only when everyone who could know was asked.
    if (failure !== undefined) throw failure;
    if (refused !== undefined) return refused;
    throw upstreamUnavailable(new Error('no node is configured'));
  }

  async post(path: string, body: Buffer, contentType: string, options: AskOptions = {}): Promise<NodeAnswer> {
    let failure: unknown = upstreamUnavailable(new Error('no node is configured'));
    for (const node of this.#candidates()) {
      try {
        const answer = await this.#send(node, 'POST', path, options, body, contentType);
        if (answer.status < 500 && answer.status !== 429) return answer;
        failure = failureOf(answer);
      } catch (error) {
        if (!(error instanceof UpstreamError)) throw error;
        failure = error;
      }
    }
    throw failure;
  }

  /** Asks nodes one after the other for the same thing, with the nodes themselves: for answers that are checked. */
  async *each(path: string, options: AskOptions = {}): AsyncGenerator<NodeAnswer & { distrust(): void }> {
    let failure: unknown;
    let answered = 0;
    for (const node of this.#candidates()) {
      try {
        const answer = await this.#send(node, 'GET', path, options);
        if (answer.status >= 500 || answer.status === 429) {
          failure = failureOf(answer);
          continue;
        }
        answered += 1;
        yield { ...answer, distrust: () => node.distrust() };
      } catch (error) {
        if (!(error instanceof UpstreamError)) throw error;
        failure = error;
      }
    }
    if (failure !== undefined) throw failure;
    if (answered === 0) throw upstreamUnavailable(new Error('no node is configured'));
  }

  #send(
    node: NodeConnection,
    method: 'GET' | 'POST',
    path: string,
    options: AskOptions,
    body?: Buffer,
    contentType?: string,
  ): Promise<NodeAnswer> {
    const signal =
      options.signal === undefined
        ? this.#stopping.signal
        : AbortSignal.any([this.#stopping.signal, options.signal]);
    return node.send(path, {
      method,
      lane: options.lane ?? 'lookup',
      timeoutMs: options.timeoutMs ?? this.#timeoutMs,
      maxBytes: options.maxBytes ?? defaultMaxBytes,
      signal,
      ...(body !== undefined && { body }),
      ...(contentType !== undefined && { contentType }),
    });
  }

  /** Healthy nodes in order of preference, then the others: a sick node is better than none. */
  #candidates(): NodeConnection[] {
    const healthy = this.#nodes.filter((node) => node.healthy);
    return [...healthy, ...this.#nodes.filter((node) => !node.healthy)].slice(0, maxTries);
  }
}

function withoutSecrets(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname === '/' ? '' : pathname}`;
}

function failureOf(answer: NodeAnswer): UpstreamError {
  const cause = new Error(`${answer.url} answered ${answer.status}`);
  return answer.status === 503 || answer.status === 429 ? upstreamUnavailable(cause) : upstreamFailed(cause);
}

/** The highest height that two nodes have reached; that of the only node where there is one. */
export function agreedHeight(heights: readonly number[]): number {
  const sorted = heights.toSorted((a, b) => b - a);
  return sorted[Math.min(1, sorted.length - 1)] ?? -1;
}

function parseInfo(body: Buffer): { height: number; blocks: number; current: string } | undefined {
  try {
    const info: unknown = JSON.parse(body.toString('utf8'));
    if (typeof info !== 'object' || info === null) return undefined;
    const height = 'height' in info && isHeight(info.height) ? info.height : undefined;
    const blocks = 'blocks' in info && isHeight(info.blocks) ? info.blocks : undefined;
    // A node that has not joined says -1; one that says nothing is read by its number of blocks.
    const known = height ?? (blocks === undefined ? undefined : blocks - 1);
    const current = 'current' in info && typeof info.current === 'string' ? info.current : '';
    return known === undefined ? undefined : { height: known, blocks: blocks ?? known + 1, current };
  } catch {
    return undefined;
  }
}

function isHeight(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function isLoopback(url: string): boolean {
  const { hostname } = new URL(url);
  return hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.');
}
