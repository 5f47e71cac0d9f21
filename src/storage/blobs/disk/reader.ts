/** Reads one blob by position. Deleting the blob meanwhile does not disturb it. */
import type { BlobDigest, BlobReader } from '../blobs.ts';
import { checkedRange } from '../blobs.ts';
import type { Descriptors, SharedDescriptor } from './descriptors.ts';
import { type Files, unavailable } from './files.ts';

const pieceSize = 256 * 1024;

export class DiskBlobReader implements BlobReader {
  readonly digest: BlobDigest;
  readonly size: number;
  readonly #shared: SharedDescriptor;
  readonly #descriptors: Descriptors;
  readonly #files: Files;
  /** Reads under way: a descriptor closed under them would be some other file's. */
  #reading = 0;
  #closed = false;

  constructor(shared: SharedDescriptor, descriptors: Descriptors, files: Files) {
    this.digest = shared.digest;
    this.size = shared.size;
    this.#shared = shared;
    this.#descriptors = descriptors;
    this.#files = files;
  }

  get fd(): number {
    return this.#shared.descriptor;
  }

  async *stream(start = 0, end = this.size): AsyncGenerator<Buffer> {
    checkedRange(start, end, this.size);
    let ahead = this.#piece(start, end);
    for (let position = start; position < end; ) {
      const piece = await ahead;
      position += piece.byteLength;
      // The next piece is read while the reader is busy with this one.
      ahead = this.#piece(position, end);
      ahead.catch(() => {});
      yield piece;
    }
    await ahead;
  }

  async read(target: Uint8Array, position: number): Promise<number> {
    checkedRange(position, position, Number.MAX_SAFE_INTEGER);
    const wanted = Math.min(target.byteLength, this.size - position);
    return wanted > 0 ? this.#fill(target, wanted, position) : 0;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#reading === 0) await this.#descriptors.release(this.#shared);
  }

  async #piece(position: number, end: number): Promise<Buffer> {
    const wanted = Math.min(pieceSize, end - position);
    if (wanted <= 0) return Buffer.alloc(0);
    const piece = Buffer.allocUnsafeSlow(wanted);
    await this.#fill(piece, wanted, position);
    return piece;
  }

  async #fill(target: Uint8Array, wanted: number, position: number): Promise<number> {
    if (this.#closed) throw new Error('the blob reader is closed');
    this.#reading += 1;
    try {
      let done = 0;
      while (done < wanted) {
        const count = await this.#files.read(
          this.#shared.descriptor,
          target,
          done,
          wanted - done,
          position + done,
        );
        if (count === 0) throw new Error(`blob ${this.digest} is shorter than it was`);
        done += count;
      }
      return done;
    } catch (error) {
      throw unavailable(error);
    } finally {
      this.#reading -= 1;
      if (this.#closed && this.#reading === 0) await this.#descriptors.release(this.#shared);
    }
  }
}
