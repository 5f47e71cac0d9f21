/**
 * Chunks from nodes, believed only with a proof. A node that gives a false one is asked last from then on,
 * and the next is tried.
 */
import { hash } from 'node:crypto';
import { verifyPath } from '../../formats/arweave/proof.ts';
import { tryDecodeBase64url } from '../../formats/base64url.ts';
import { upstreamFailed } from '../errors.ts';
import type { NodePool } from './node-pool.ts';
import type { ChunkRequest, Chunks, NodeAnswer, ProvenChunk } from './nodes.ts';

/** A chunk of 256 KiB in base64url with its two paths. */
const maxChunkAnswer = 1024 * 1024;

export class NodeChunks implements Chunks {
  readonly #nodes: NodePool;

  constructor(nodes: NodePool) {
    this.#nodes = nodes;
  }

  async chunk(request: ChunkRequest, signal?: AbortSignal): Promise<ProvenChunk | undefined> {
    // The weave counts bytes from 1: the end offset is that of the last byte.
    const weaveOffset = request.endOffset - request.dataSize + 1 + request.offset;
    let lied = false;
    for await (const answer of this.#nodes.each(`/chunk/${weaveOffset}`, {
      signal,
      maxBytes: maxChunkAnswer,
    })) {
      if (answer.status !== 200) continue;
      const proven = prove(answer, request);
      if (proven !== undefined) return proven;
      lied = true;
      answer.distrust();
    }
    if (lied) throw upstreamFailed(new Error(`no node gave a right proof for the chunk at ${weaveOffset}`));
    return undefined;
  }

  async endOffset(
    id: string,
    signal?: AbortSignal,
  ): Promise<{ endOffset: number; size: number } | undefined> {
    const answer = await this.#nodes.get(`/tx/${id}/offset`, { signal, maxBytes: 64 * 1024 });
    if (answer.status !== 200) return undefined;
    const offset = parseOffset(answer.body);
    if (offset === undefined) throw upstreamFailed(new Error(`${answer.url} gave an offset that is none`));
    return offset;
  }
}

/** The chunk, when its bytes hash to a leaf that leads to the data root at the wanted offset. */
function prove(answer: NodeAnswer, request: ChunkRequest): ProvenChunk | undefined {
  const { dataRoot, dataSize, offset } = request;
  const fields = parseChunk(answer.body);
  if (fields === undefined || dataRoot.length !== 32) return undefined;
  const { chunk, dataPath, txPath } = fields;
  const leaf =
    verifyPath(dataRoot, offset, dataSize, dataPath, 'rebase') ??
    verifyPath(dataRoot, offset, dataSize, dataPath, 'basic');
  if (leaf === undefined || chunk.length !== leaf.end - leaf.start) return undefined;
  if (!leaf.data.equals(hash('sha256', chunk, 'buffer'))) return undefined;
  return { bytes: chunk, start: leaf.start, dataPath, txPath, url: answer.url };
}

function parseChunk(body: Buffer): { chunk: Buffer; dataPath: Buffer; txPath: Buffer } | undefined {
  const json = parseObject(body);
  const chunk = binary(json?.chunk);
  const dataPath = binary(json?.data_path);
  if (chunk === undefined || dataPath === undefined) return undefined;
  return { chunk, dataPath, txPath: binary(json?.tx_path) ?? Buffer.alloc(0) };
}

function parseOffset(body: Buffer): { endOffset: number; size: number } | undefined {
  const json = parseObject(body);
  const endOffset = count(json?.offset);
  const size = count(json?.size);
  return endOffset === undefined || size === undefined || size > endOffset ? undefined : { endOffset, size };
}

function parseObject(body: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const json: unknown = JSON.parse(body.toString('latin1'));
    return typeof json === 'object' && json !== null ? { ...json } : undefined;
  } catch {
    return undefined;
  }
}

function binary(value: unknown): Buffer | undefined {
  return typeof value === 'string' ? tryDecodeBase64url(value) : undefined;
}

function count(value: unknown): number | undefined {
  if (typeof value !== 'string' || !/^[0-9]{1,16}$/.test(value)) return undefined;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : undefined;
}
