/**
 * Chunks from nodes, believed only with a proof. A node that gives a false one is asked last from then on,
 * and the next is tried.
 */
import { hash } from 'node:crypto';
import { BRANCH_BYTES, HASH_BYTES, hashBranch, hashLeaf, LEAF_BYTES } from '../../formats/arweave/merkle.ts';
import { claimedEnd, verifyPath } from '../../formats/arweave/proof.ts';
import { tryDecodeBase64url } from '../../formats/base64url.ts';
import { memberOf, tryParseJson } from '../../formats/json.ts';
import type { NodeAnswer } from '../../outside/arweave/node.ts';
import type { NodePool } from '../../outside/arweave/node-pool.ts';
import { upstreamFailed } from '../errors.ts';
import type { ChunkRequest, Chunks, ProvenChunk } from './chunks.ts';

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
    const problem = `no node gave a right proof for the chunk at ${weaveOffset}`;
    return this.#first(weaveOffset, signal, problem, (answer) => prove(answer, request));
  }

  /** Any chunk by weave offset, for those who check it themselves; undefined when no node has one. */
  async rawChunk(
    weaveOffset: number,
    signal?: AbortSignal,
  ): Promise<(RawChunk & { readonly url: string }) | undefined> {
    const problem = `the chunk at ${weaveOffset} contradicts its own path`;
    return this.#first(weaveOffset, signal, problem, (answer) => {
      const raw = parseRawChunk(answer.body);
      return raw && { ...raw, url: answer.url };
    });
  }

  /** What the first node that is right says; undefined where all say that there is none. */
  async #first<T>(
    weaveOffset: number,
    signal: AbortSignal | undefined,
    problem: string,
    read: (answer: NodeAnswer) => T | undefined,
  ): Promise<T | undefined> {
    let lied = false;
    const options = { signal, lane: 'bytes', maxBytes: maxChunkAnswer } as const;
    for await (const answer of this.#nodes.each(`/chunk/${weaveOffset}`, options)) {
      if (answer.status !== 200) continue;
      const found = read(answer);
      if (found !== undefined) return found;
      lied = true;
      answer.distrust();
    }
    if (lied) throw upstreamFailed(new Error(problem));
    return undefined;
  }

  async endOffset(
    id: string,
    signal?: AbortSignal,
  ): Promise<{ endOffset: number; size: number } | undefined> {
    const answer = await this.#nodes.get(`/tx/${id}/offset`, {
      signal,
      lane: 'bytes',
      maxBytes: 64 * 1024,
    });
    if (answer.status !== 200) return undefined;
    const offset = parseOffset(answer.body);
    if (offset === undefined) throw upstreamFailed(new Error(`${answer.url} gave an offset that is none`));
    return offset;
  }
}

/** The chunk, when its bytes hash to a leaf that leads to the data root at the wanted offset. */
function prove(answer: NodeAnswer, request: ChunkRequest): ProvenChunk | undefined {
  const { dataRoot, dataSize, offset } = request;
  const raw = parseRawChunk(answer.body);
  if (raw === undefined || dataRoot.length !== 32) return undefined;
  const { bytes, dataPath, txPath } = raw;
  const leaf =
    verifyPath(dataRoot, offset, dataSize, dataPath, 'rebase') ??
    verifyPath(dataRoot, offset, dataSize, dataPath, 'basic');
  // The bytes hash to the path's leaf already; here the leaf is led up to the root at the wanted offset.
  if (leaf === undefined || bytes.length !== leaf.end - leaf.start) return undefined;
  return { bytes, start: leaf.start, dataPath, txPath, url: answer.url };
}

function parseOffset(body: Buffer): { endOffset: number; size: number } | undefined {
  const json = tryParseJson(body.toString('latin1'));
  const endOffset = count(memberOf(json, 'offset'));
  const size = count(memberOf(json, 'size'));
  return endOffset === undefined || size === undefined || size > endOffset ? undefined : { endOffset, size };
}

function count(value: unknown): number | undefined {
  if (typeof value !== 'string' || !/^[0-9]{1,16}$/.test(value)) return undefined;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : undefined;
}

/** A chunk as a node gives it, checked as far as it can be without knowing its transaction. */
export interface RawChunk {
  readonly bytes: Buffer;
  readonly dataPath: Buffer;
  readonly txPath: Buffer;
  /** What the path leads up to. */
  readonly dataRoot: Buffer;
  /** First byte of the chunk in its transaction's data, as the path claims. */
  readonly relativeStart: number;
}

/** undefined when the answer is no chunk or contradicts itself: its bytes hash to the leaf of its path. */
function parseRawChunk(body: Buffer): RawChunk | undefined {
  const json = tryParseJson(body.toString('latin1'));
  const bytes = binary(memberOf(json, 'chunk'));
  const dataPath = binary(memberOf(json, 'data_path'));
  const txPath = binary(memberOf(json, 'tx_path')) ?? Buffer.alloc(0);
  if (bytes === undefined || dataPath === undefined || dataPath.length < LEAF_BYTES) return undefined;
  const leaf = dataPath.subarray(dataPath.length - LEAF_BYTES);
  if (!leaf.subarray(0, HASH_BYTES).equals(hash('sha256', bytes, 'buffer'))) return undefined;
  const end = claimedEnd(dataPath);
  if (end === undefined || !Number.isSafeInteger(end) || end < bytes.length) return undefined;
  return { bytes, dataPath, txPath, dataRoot: rootOf(dataPath), relativeStart: end - bytes.length };
}

function rootOf(path: Buffer): Buffer {
  if (path.length === LEAF_BYTES) return hashLeaf(path.subarray(0, HASH_BYTES), path.subarray(HASH_BYTES));
  // A path that begins with zeros has a rebased branch first.
  const start = path.subarray(0, HASH_BYTES).every((byte) => byte === 0) ? HASH_BYTES : 0;
  const branch = path.subarray(start, start + BRANCH_BYTES);
  return hashBranch(
    branch.subarray(0, HASH_BYTES),
    branch.subarray(HASH_BYTES, 2 * HASH_BYTES),
    branch.subarray(2 * HASH_BYTES),
  );
}

function binary(value: unknown): Buffer | undefined {
  return typeof value === 'string' ? tryDecodeBase64url(value) : undefined;
}
