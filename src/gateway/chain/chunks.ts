/** Chunks of the chain as the gateway asks for them. */

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
