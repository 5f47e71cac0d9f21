/**
 * Reads one blob by ranges. A body that breaks off is taken up again where it ended, and only of the object that was
 * opened, or that the first answer was of: the store compares its entity tag. What the store keeps it proves for itself;
 * there is nothing to look at here but its size.
 */
import {
  BlobDamaged,
  type BlobDigest,
  BlobMissing,
  type BlobReader,
  BlobStoreUnavailable,
  checkedRange,
  digestPath,
} from '../blobs.ts';
import { type S3Client, type S3Response, unreachable } from './client.ts';

const maxResumes = 3;

/** What a store says of an object. */
export interface S3Object {
  readonly size: number;
  readonly etag: string | undefined;
}

export class S3BlobReader implements BlobReader {
  readonly digest: BlobDigest;
  readonly size: number;
  readonly fd = undefined;
  readonly #client: S3Client;
  /** Undefined until an answer told it. */
  #etag: string | undefined;

  constructor(client: S3Client, digest: BlobDigest, { size, etag }: S3Object) {
    this.#client = client;
    this.#etag = etag;
    this.digest = digest;
    this.size = size;
  }

  async *stream(start = 0, end = this.size): AsyncGenerator<Buffer> {
    checkedRange(start, end, this.size);
    let position = start;
    for (let resumes = 0; position < end; resumes += 1) {
      const { body } = await this.#get(position, end);
      let failure: unknown = new Error('the body ended early');
      const pieces: AsyncIterator<Buffer> = body[Symbol.asyncIterator]();
      try {
        for (;;) {
          const next = await pieces.next().catch((error: unknown) => {
            failure = error;
            return { done: true as const, value: undefined };
          });
          if (next.done === true) break;
          const piece = next.value.subarray(0, end - position);
          position += piece.byteLength;
          yield piece;
        }
      } finally {
        body.destroy();
      }
      if (position < end && resumes === maxResumes) throw unreachable(failure);
    }
  }

  async read(target: Uint8Array, position: number): Promise<number> {
    checkedRange(position, position, Number.MAX_SAFE_INTEGER);
    const end = Math.min(position + target.byteLength, this.size);
    let done = 0;
    if (position < end) {
      for await (const piece of this.stream(position, end)) {
        target.set(piece, done);
        done += piece.byteLength;
      }
    }
    return done;
  }

  /** All of it at once, which costs less than reading it piece by piece. The target is as large as the blob. */
  async load(target: Uint8Array): Promise<void> {
    const { body, headers } = await this.#get(0, this.size);
    if (headers['content-length'] !== undefined) {
      const bytes = await body.arrayBuffer().catch(() => undefined);
      if (bytes?.byteLength === this.size) {
        target.set(new Uint8Array(bytes));
        return;
      }
    } else body.destroy();
    // It broke off, or nobody says how long it is.
    await this.read(target, 0);
  }

  check(): void {}

  async close(): Promise<void> {}

  async #get(start: number, end: number): Promise<S3Response> {
    const whole = start === 0 && end === this.size;
    const response = await this.#client.send(
      {
        method: 'GET',
        key: digestPath(this.digest),
        headers: {
          ...(!whole && { range: `bytes=${start}-${end - 1}` }),
          ...(this.#etag !== undefined && { 'if-match': this.#etag }),
        },
      },
      [whole ? 200 : 206, 404, 412, 416],
    );
    const problem = this.#problemOf(response);
    if (problem !== undefined) {
      await response.body.dump().catch(() => {});
      throw problem;
    }
    const { etag } = response.headers;
    if (typeof etag === 'string') this.#etag ??= etag;
    return response;
  }

  #problemOf({ statusCode, headers }: S3Response): Error | undefined {
    if (statusCode === 412) return this.#gone('replaced');
    if (statusCode === 404) {
      return this.#etag === undefined ? new BlobMissing(this.digest) : this.#gone('deleted');
    }
    // A part comes with the size of the whole: `bytes 0-9/100`.
    const told = statusCode === 206 ? headers['content-range'] : headers['content-length'];
    const size = typeof told === 'string' ? /([0-9]+)$/.exec(told)?.[1] : undefined;
    const isOther = size !== undefined && Number(size) !== this.size;
    return statusCode === 416 || isOther ? new BlobDamaged(this.digest) : undefined;
  }

  #gone(how: 'replaced' | 'deleted'): BlobStoreUnavailable {
    return new BlobStoreUnavailable(`blob ${this.digest} was ${how} while it was read`);
  }
}
