/**
 * Where the unbundler and other background work read the bytes of an id. The gateway's data sources (cache,
 * chunks, peers) implement it; `chunk-source.ts` is the plainest implementation, proven chunks from nodes.
 */

/** Bytes `start` (inclusive) to `end` (exclusive). */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export interface OpenedBytes {
  /** Size of the whole payload, whatever range was asked. */
  readonly size: number;
  /** Every byte of the stream was or will be checked against the data root before it is handed on. */
  readonly proven: boolean;
  /** Base64url SHA-256 of the whole payload, where the source knows it. */
  readonly hash: string | undefined;
  readonly stream: AsyncIterable<Buffer>;
}

export interface ByteSource {
  /**
   * Opens the payload of a transaction or item. undefined means known not to exist; an outage throws
   * `UpstreamError`. The stream ends early only by throwing.
   */
  stream(id: string, range?: ByteRange, signal?: AbortSignal): Promise<OpenedBytes | undefined>;
}
