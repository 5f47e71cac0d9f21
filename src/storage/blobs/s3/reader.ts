/**
 * Reads one blob by ranges. A body that breaks off is taken up again where it ended, and only of the object that was
 * opened: the store compares its entity tag. What the store keeps it proves for itself; there is nothing to look at here.
 */
import {
  type BlobDigest,
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
  readonly #etag: string | undefined;

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
      [whole ? 200 : 206, 404, 412],
    );
    const { statusCode } = response;
    if (statusCode === 404 || statusCode === 412) {
      await response.body.dump().catch(() => {});
      const what = statusCode === 404 ? 'deleted' : 'replaced';
      throw new BlobStoreUnavailable(`blob ${this.digest} was ${what} while it was read`);
    }
    return response;
  }
}
