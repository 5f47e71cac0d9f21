/**
 * The Arweave nodes the gateway asks: which are healthy, at what height they agree, and one request sent to
 * the best of them and to the next when it fails. Failures that remain are `UpstreamError` (502, 503, 504),
 * so that "could not ask" is never mistaken for "does not exist".
 */
import type { Lane } from './pace.ts';

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

export interface Nodes {
  /** The height that healthy nodes agree on; -1 until one answered. */
  readonly height: number;
  readonly status: readonly NodeStatus[];
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Asks node after node until one gives an answer below 500; the last answer counts when all said the same. */
  get(path: string, options?: AskOptions): Promise<NodeAnswer>;
  /** Sent to one node at a time, the next only when the first cannot be reached or answers 5xx. */
  post(path: string, body: Buffer, contentType: string, options?: AskOptions): Promise<NodeAnswer>;
}

/** A chunk whose `data_path` was checked against the data root. */
export interface ProvenChunk {
  readonly bytes: Buffer;
  /** First byte inside the transaction's data. */
  readonly start: number;
  readonly dataPath: Buffer;
  readonly txPath: Buffer;
  /** The node that gave it. */
  readonly url: string;
}

export interface ChunkRequest {
  readonly dataRoot: Buffer;
  readonly dataSize: number;
  /** Weave offset of the last byte of the transaction's data (inclusive). */
  readonly endOffset: number;
  /** Any byte of the wanted chunk, relative to the transaction's data. */
  readonly offset: number;
}

export interface Chunks {
  /** Asks node after node until one gives a chunk with a right proof; undefined when all say there is none. */
  chunk(request: ChunkRequest, signal?: AbortSignal): Promise<ProvenChunk | undefined>;
  /** `/tx/{id}/offset`: where the data ends in the weave; undefined when the chain does not know the id. */
  endOffset(id: string, signal?: AbortSignal): Promise<{ endOffset: number; size: number } | undefined>;
}
