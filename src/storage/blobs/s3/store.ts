/** Blobs as objects of an S3-compatible store: key `<prefix>ab/cd/<digest>`. */
import { StartupError } from '../../../kernel/errors.ts';
import {
  assertDigest,
  type BlobDigest,
  type BlobReader,
  type BlobStore,
  BlobStoreUnavailable,
  type BlobWriter,
  digestPath,
} from '../blobs.ts';
import { putThrough } from '../writer-steps.ts';
import { parseS3Url, type S3Address } from './address.ts';
import { defaultTimeouts, S3Client, S3Refusal, type S3Timeouts } from './client.ts';
import { removeLeftovers } from './leftovers.ts';
import { S3BlobReader, type S3Object } from './reader.ts';
import { defaultWriterLimits, S3BlobWriter, type S3WriterLimits } from './writer.ts';

export class S3BlobStore implements BlobStore {
  readonly #client: S3Client;
  readonly #limits: S3WriterLimits;

  private constructor(address: S3Address, limits: S3WriterLimits & S3Timeouts) {
    this.#client = new S3Client(address, limits);
    this.#limits = limits;
  }

  /** Asks for the bucket once, so that a wrong address or key stops the start and not the first upload. */
  static async open(url: string, limits: Partial<S3WriterLimits & S3Timeouts> = {}): Promise<S3BlobStore> {
    const address = parseS3Url(url);
    const store = new S3BlobStore(address, { ...defaultWriterLimits, ...defaultTimeouts, ...limits });
    try {
      const { statusCode } = await store.#client.tell({ method: 'HEAD', key: '' }, [200, 301, 403, 404]);
      if (statusCode === 404)
        throw new StartupError(`BLOB_STORE_URL: there is no bucket "${address.bucket}"`);
      if (statusCode === 301) throw new StartupError('BLOB_STORE_URL: the bucket is in another region');
      if (statusCode === 403) throw new StartupError('BLOB_STORE_URL: the store refuses this key');
      return store;
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  async writer(expected?: number): Promise<BlobWriter> {
    return new S3BlobWriter(this.#client, this.#limits, expected);
  }

  put(
    bytes: Uint8Array | AsyncIterable<Uint8Array>,
    expected?: number,
  ): Promise<{ digest: BlobDigest; size: number }> {
    return putThrough(new S3BlobWriter(this.#client, this.#limits, expected), bytes);
  }

  async open(digest: BlobDigest): Promise<BlobReader | undefined> {
    const found = await this.#look(digest);
    return found && new S3BlobReader(this.#client, digest, found);
  }

  assume(digest: BlobDigest, size: number): BlobReader {
    assertDigest(digest);
    return new S3BlobReader(this.#client, digest, { size, etag: undefined });
  }

  async load(digest: BlobDigest, target: Uint8Array): Promise<void> {
    assertDigest(digest);
    await new S3BlobReader(this.#client, digest, { size: target.length, etag: undefined }).load(target);
  }

  async size(digest: BlobDigest): Promise<number | undefined> {
    return (await this.#look(digest))?.size;
  }

  async #look(digest: BlobDigest): Promise<S3Object | undefined> {
    assertDigest(digest);
    const response = await this.#client.tell({ method: 'HEAD', key: digestPath(digest) }, [200, 404]);
    if (response.statusCode === 404) return undefined;
    const { etag, 'content-length': length } = response.headers;
    if (typeof length !== 'string' || !/^[0-9]{1,15}$/.test(length)) {
      throw new BlobStoreUnavailable('the blob store does not say how large the blob is');
    }
    return { size: Number(length), etag: typeof etag === 'string' ? etag : undefined };
  }

  async delete(digest: BlobDigest): Promise<boolean> {
    if ((await this.size(digest)) === undefined) return false;
    await this.#client.tell({ method: 'DELETE', key: digestPath(digest) }, [200, 204, 404]);
    return true;
  }

  async removeLeftovers(olderThanMs: number): Promise<number | 'refused'> {
    try {
      return await removeLeftovers(this.#client, olderThanMs);
    } catch (error) {
      if (error instanceof S3Refusal && error.status === 403) return 'refused';
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}
