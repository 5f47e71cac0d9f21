/**
 * The `data_root` of a stream, and from the same pass the proof of every chunk. Memory grows with the number
 * of chunks (40 bytes each while building), never with the payload.
 */
import { FormatError } from '../format-error.ts';
import { ChunkStream } from './chunk-stream.ts';
import { clientSplit, endsWithZeroLeaf, type Split } from './chunks.ts';
import { HASH_BYTES, leafId, MerkleTree, note, sha256 } from './merkle.ts';

/** SHA-256 of nothing: the data of the zero-length leaf. */
const emptyHash = sha256(Buffer.alloc(0));

export interface ChunkProof {
  /** First byte, relative to the transaction's data. */
  readonly start: number;
  /** One past the last byte. */
  readonly end: number;
  /** What `POST /chunk` calls `offset`: the last byte. */
  readonly offset: number;
  readonly dataPath: Buffer;
}

export class DataRootBuilder {
  readonly #split: Split;
  readonly #chunks: ChunkStream;
  #hashes = Buffer.allocUnsafe(64 * HASH_BYTES);
  #ends = new Float64Array(64);
  #count = 0;
  #size = 0;
  #tree: DataTree | undefined;

  constructor(split: Split = clientSplit) {
    this.#split = split;
    this.#chunks = new ChunkStream(split.style, (chunk) => {
      this.#size += chunk.length;
      this.#push(sha256(chunk));
    });
  }

  /** Takes the next bytes, in pieces of any size; nothing of them is kept once the call returns. */
  update(bytes: Uint8Array): this {
    if (this.#tree !== undefined) throw new FormatError('the data tree is finished');
    this.#chunks.update(bytes);
    return this;
  }

  finish(): DataTree {
    if (this.#tree !== undefined) return this.#tree;
    this.#chunks.finish();
    const chunkCount = this.#count;
    if (endsWithZeroLeaf(this.#size, this.#split)) this.#push(emptyHash);
    this.#tree = new DataTree(
      this.#size,
      chunkCount,
      this.#hashes.subarray(0, this.#count * HASH_BYTES),
      this.#ends.subarray(0, this.#count),
    );
    return this.#tree;
  }

  #push(chunkHash: Buffer): void {
    if (this.#count === this.#ends.length) {
      const hashes = Buffer.allocUnsafe(2 * this.#hashes.length);
      hashes.set(this.#hashes);
      this.#hashes = hashes;
      const ends = new Float64Array(2 * this.#ends.length);
      ends.set(this.#ends);
      this.#ends = ends;
    }
    this.#hashes.set(chunkHash, this.#count * HASH_BYTES);
    this.#ends[this.#count] = this.#size;
    this.#count += 1;
  }
}

export class DataTree {
  readonly size: number;
  /** Chunks that carry bytes, which the zero-length leaf does not. */
  readonly chunkCount: number;
  /** 32 bytes; empty when there is no data. */
  readonly root: Buffer;
  readonly #hashes: Buffer;
  readonly #ends: Float64Array;
  readonly #tree: MerkleTree;

  constructor(size: number, chunkCount: number, hashes: Buffer, ends: Float64Array) {
    this.size = size;
    this.chunkCount = chunkCount;
    this.#hashes = hashes;
    this.#ends = ends;
    const ids = Buffer.allocUnsafe(hashes.length);
    for (let index = 0; index < ends.length; index += 1) {
      ids.set(leafId(this.#hash(index), ends[index] ?? 0), index * HASH_BYTES);
    }
    this.#tree = new MerkleTree({ ids, ends });
    this.root = this.#tree.root;
  }

  proof(index: number): ChunkProof {
    if (!Number.isInteger(index) || index < 0 || index >= this.chunkCount) {
      throw new FormatError(`there is no chunk ${index}`);
    }
    const start = index === 0 ? 0 : (this.#ends[index - 1] ?? 0);
    const end = this.#ends[index] ?? 0;
    const dataPath = Buffer.concat([this.#tree.branches(index), this.#hash(index), note(end)]);
    return { start, end, offset: end - 1, dataPath };
  }

  *proofs(): Generator<ChunkProof> {
    for (let index = 0; index < this.chunkCount; index += 1) yield this.proof(index);
  }

  #hash(index: number): Buffer {
    return this.#hashes.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES);
  }
}

/** The tree of bytes that are whole in memory. */
export function dataTreeOf(bytes: Uint8Array, split: Split = clientSplit): DataTree {
  return new DataRootBuilder(split).update(bytes).finish();
}

export function dataRootOf(bytes: Uint8Array, split: Split = clientSplit): Buffer {
  return dataTreeOf(bytes, split).root;
}
