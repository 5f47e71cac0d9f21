/**
 * Writes one blob: hashed while it is written to a temporary name on the same file system, synced, renamed,
 * its folder synced. A small blob is held in memory until its digest is known, and touches the disk only
 * when it is not there yet.
 *
 * Pieces are collected in blocks. One block is written while the next is filled, so that a failure of the disk is told
 * by a later call.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { hashHere, type StreamHash } from '../../../kernel/hashing/hash-threads.ts';
import { privateFileMode } from '../../../kernel/private-files.ts';
import type { BlobDigest, BlobNamed, BlobWriter } from '../blobs.ts';
import { WriterSteps } from '../writer-steps.ts';
import { type Files, unavailable } from './files.ts';
import { temporaryName } from './temporaries.ts';

const none = Buffer.alloc(0);
const blockSize = 256 * 1024;
/** After so many bytes a sync begins: the disk works while more comes in, and little is left to wait for at the end. */
const syncBytes = 32 * 1024 * 1024;

export interface WriterTarget {
  readonly files: Files;
  readonly temporaries: string;
  readonly durable: boolean;
  /** True when the store has the blob, durably. */
  has(digest: BlobDigest, size: number): Promise<boolean>;
  /** Makes the folder that a digest's name goes into. */
  prepare(digest: BlobDigest): Promise<void>;
  /** Renames a complete file, which is open, to its digest's name, durably. */
  publish(temporary: string, digest: BlobDigest, descriptor: number): Promise<void>;
}

interface WriterOptions {
  /** Beyond it the writer goes on hashing and stores nothing. */
  readonly maxSize?: number;
  readonly hash?: StreamHash | undefined;
}

interface OpenFile {
  readonly path: string;
  readonly descriptor: number;
  position: number;
}

export class DiskBlobWriter implements BlobWriter {
  readonly #target: WriterTarget;
  readonly #maxSize: number;
  readonly #hash: StreamHash;
  #block: Buffer = none;
  #filled = 0;
  /** Not in use, and as large as blocks get. */
  #spare: Buffer | undefined;
  /** Of the block before, under way or failed. */
  #writing: Promise<void> | undefined;
  #size = 0;
  #file: OpenFile | undefined;
  #unsynced = 0;
  /** Under way, or failed. */
  #syncing: Promise<void> | undefined;
  readonly #steps = new WriterSteps(() => this.#leave(), unavailable);

  /** `hash`: of SHA-256; it is released here. */
  constructor(
    target: WriterTarget,
    { maxSize = Number.POSITIVE_INFINITY, hash = hashHere(createHash('sha256')) }: WriterOptions = {},
  ) {
    this.#target = target;
    this.#maxSize = maxSize;
    this.#hash = hash;
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#steps.run(async () => {
      this.#size += bytes.byteLength;
      const hashing = this.#hash.update(bytes);
      try {
        if (this.#size > this.#maxSize) await this.#discard();
        else await this.#take(bytes);
      } finally {
        await hashing;
      }
    });
  }

  commit(named?: BlobNamed): Promise<{ digest: BlobDigest; size: number }> {
    return this.#steps.finish(async () => {
      const digest = (await this.#hash.digest()).toString('hex');
      await named?.(digest);
      const size = this.#size;
      if (size > this.#maxSize || (await this.#target.has(digest, size))) await this.#discard();
      else await this.#publish(digest);
      this.#hash.release();
      return { digest, size };
    });
  }

  abort(): Promise<void> {
    return this.#steps.abort();
  }

  #collect(bytes: Uint8Array): void {
    const needed = this.#filled + bytes.byteLength;
    if (needed > this.#block.byteLength) {
      const larger = Buffer.allocUnsafe(needed <= blockSize / 8 ? blockSize / 8 : blockSize);
      this.#block.copy(larger, 0, 0, this.#filled);
      this.#block = larger;
    }
    this.#block.set(bytes, this.#filled);
    this.#filled = needed;
  }

  async #take(bytes: Uint8Array): Promise<void> {
    if (this.#filled + bytes.byteLength > blockSize) await this.#beginBlock();
    if (bytes.byteLength <= blockSize) {
      this.#collect(bytes);
      return;
    }
    await this.#writing;
    await this.#append(bytes);
  }

  /** Has the block written, and goes on with an empty one. */
  async #beginBlock(): Promise<void> {
    await this.#writing;
    const block = this.#block;
    const writing = this.#append(block.subarray(0, this.#filled));
    writing.catch(() => {}); // it is awaited by the next one, or at the end
    this.#writing = writing;
    this.#block = this.#spare ?? none;
    this.#spare = block.byteLength === blockSize ? block : undefined;
    this.#filled = 0;
  }

  async #append(bytes: Uint8Array): Promise<void> {
    const file = await this.#opened();
    let done = 0;
    while (done < bytes.byteLength) {
      const count = await this.#target.files.write(
        file.descriptor,
        bytes,
        done,
        bytes.byteLength - done,
        file.position,
      );
      done += count;
      file.position += count;
    }
    this.#unsynced += bytes.byteLength;
    if (this.#target.durable && this.#unsynced >= syncBytes) await this.#beginSync(file);
  }

  /** Waits for the one before: what the disk cannot keep up with is held back. */
  async #beginSync(file: OpenFile): Promise<void> {
    await this.#syncing;
    this.#unsynced = 0;
    this.#syncing = this.#target.files.fdatasync(file.descriptor);
    this.#syncing.catch(() => {}); // it is awaited by the next one, or at the end
  }

  async #opened(): Promise<OpenFile> {
    if (this.#file === undefined) {
      const path = join(this.#target.temporaries, temporaryName());
      this.#file = {
        path,
        descriptor: await this.#target.files.open(path, 'wx', privateFileMode),
        position: 0,
      };
    }
    return this.#file;
  }

  async #publish(digest: BlobDigest): Promise<void> {
    const { files, durable } = this.#target;
    const ready = this.#target.prepare(digest);
    ready.catch(() => {}); // it is awaited below, unless the disk fails first
    await this.#beginBlock();
    await this.#writing;
    const file = await this.#opened();
    // A failure is told once, to the sync that meets it first.
    await this.#syncing;
    if (durable) await files.fdatasync(file.descriptor);
    await ready;
    await this.#target.publish(file.path, digest, file.descriptor);
    this.#file = undefined;
    await files.close(file.descriptor);
  }

  async #leave(): Promise<void> {
    this.#hash.release();
    await this.#discard();
  }

  async #discard(): Promise<void> {
    await this.#writing?.catch(() => {});
    const file = this.#file;
    this.#file = undefined;
    this.#block = none;
    this.#spare = undefined;
    this.#filled = 0;
    if (file === undefined) return;
    const { files } = this.#target;
    await this.#syncing?.catch(() => {});
    await files.unlink(file.path).catch(() => {});
    await files.close(file.descriptor).catch(() => {});
  }
}
