/**
 * Writes one blob to S3. A digest is known only at the end and an object cannot be renamed, so:
 *
 * - up to one part (8 MiB) the blob waits in memory and goes straight to its key;
 * - beyond, parts go up as they come, to a temporary key, and the complete object is copied to its own key
 *   inside the store. No byte travels twice, and memory holds at most three parts.
 *
 * Some stores take a thousand parts and not ten thousand, and some want all parts but the last to be equal. Where the
 * size is known before, the parts are equal and large enough to be few; where it is not, they grow after the first half.
 *
 * A process that dies in between leaves a temporary object or an unfinished upload: see `leftovers.ts`.
 */
import { createHash, type Hash } from 'node:crypto';
import {
  type BlobDigest,
  type BlobNamed,
  BlobStoreUnavailable,
  type BlobWriter,
  digestPath,
} from '../blobs.ts';
import { WriterSteps } from '../writer-steps.ts';
import { element, type S3Client, S3Refusal } from './client.ts';
import { temporaryKey } from './keys.ts';

export interface S3WriterLimits {
  /** The smallest part but the last. At least 5 MiB on real stores. */
  readonly partSize: number;
  /** What a part may grow to: three of them are in memory. */
  readonly maxPartSize: number;
  /** So many parts every store takes; only beyond, with parts as large as they get, are there more. */
  readonly fewParts: number;
  /** Beyond it an object is copied in pieces (5 GiB on AWS). */
  readonly maxCopySize: number;
  readonly copyPieceSize: number;
}

const mebibyte = 1024 * 1024;

export const defaultWriterLimits: S3WriterLimits = {
  partSize: 8 * mebibyte,
  maxPartSize: 64 * mebibyte,
  fewParts: 1_000,
  maxCopySize: 5 * 1024 ** 3,
  copyPieceSize: 1024 ** 3,
};

const maxParts = 10_000;
const partsInFlight = 2;

interface Upload {
  readonly key: string;
  readonly id: string;
  readonly parts: Promise<string>[];
}

export class S3BlobWriter implements BlobWriter {
  readonly #client: S3Client;
  readonly #limits: S3WriterLimits;
  /** Of every part, where the size of the blob was known. */
  readonly #equalSize: number | undefined;
  readonly #hash: Hash = createHash('sha256');
  #part = Buffer.alloc(0);
  #filled = 0;
  #size = 0;
  #upload: Upload | undefined;
  readonly #steps = new WriterSteps(() => this.#discard());

  /** `expected` is the size of the blob, where it is known; another size is no error. */
  constructor(client: S3Client, limits: S3WriterLimits, expected?: number) {
    this.#client = client;
    this.#limits = limits;
    this.#equalSize = expected === undefined ? undefined : equalPartSize(limits, expected);
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#steps.run(async () => {
      this.#hash.update(bytes);
      this.#size += bytes.byteLength;
      for (let done = 0; done < bytes.byteLength; ) {
        if (this.#filled === this.#partSize()) await this.#sendPart();
        done += this.#collect(bytes.subarray(done));
      }
    });
  }

  commit(named?: BlobNamed): Promise<{ digest: BlobDigest; size: number }> {
    return this.#steps.finish(async () => {
      const digest = this.#hash.digest('hex');
      await named?.(digest);
      const size = this.#size;
      const key = digestPath(digest);
      const whole = this.#part.subarray(0, this.#filled);
      if (this.#upload === undefined) {
        await this.#client.tell({ method: 'PUT', key, body: whole, bodyDigest: digest });
      } else {
        await this.#sendPart();
        await this.#finish(this.#upload, key);
      }
      this.#part = Buffer.alloc(0);
      return { digest, size };
    });
  }

  abort(): Promise<void> {
    return this.#steps.abort();
  }

  /** Of the part that is being filled. */
  #partSize(): number {
    const sent = this.#upload?.parts.length ?? 0;
    // One that was expected to be smaller grows as if nothing had been known.
    if (this.#equalSize !== undefined && sent < this.#limits.fewParts) return this.#equalSize;
    return growingPartSize(this.#limits, sent);
  }

  /** Takes what fits into the current part; answers how much that was. */
  #collect(bytes: Uint8Array): number {
    const partSize = this.#partSize();
    const taken = Math.min(bytes.byteLength, partSize - this.#filled);
    const needed = this.#filled + taken;
    if (needed > this.#part.byteLength) {
      const roomier = Math.min(Math.max(needed, this.#part.byteLength * 2, 65_536), partSize);
      const larger = Buffer.allocUnsafeSlow(roomier);
      this.#part.copy(larger, 0, 0, this.#filled);
      this.#part = larger;
    }
    this.#part.set(bytes.subarray(0, taken), this.#filled);
    this.#filled = needed;
    return taken;
  }

  async #sendPart(): Promise<void> {
    this.#upload ??= await this.#begin();
    const { key, id, parts } = this.#upload;
    if (parts.length === maxParts) throw new BlobStoreUnavailable('the blob is too large for the store');
    const body = this.#part.subarray(0, this.#filled);
    this.#part = Buffer.alloc(0);
    this.#filled = 0;
    const query = { partNumber: String(parts.length + 1), uploadId: id };
    const sent = this.#client
      .tell({ method: 'PUT', key, query, body })
      .then((response) => etagOf(response.headers.etag));
    sent.catch(() => {}); // it is awaited below or at the end
    parts.push(sent);
    await parts.at(-partsInFlight);
  }

  async #begin(): Promise<Upload> {
    const key = temporaryKey();
    return { key, id: await this.#createUpload(key), parts: [] };
  }

  async #finish(upload: Upload, key: string): Promise<void> {
    await this.#complete(upload);
    // Until here an abort discards parts; from here on there is a temporary object to remove.
    try {
      const there = await this.#client.tell({ method: 'HEAD', key }, [200, 404]);
      if (there.statusCode === 404) await this.#copy(upload.key, key);
    } finally {
      await this.#client.tell({ method: 'DELETE', key: upload.key }, [200, 204, 404]).catch(() => {});
    }
  }

  async #copy(from: string, to: string): Promise<void> {
    const source = { 'x-amz-copy-source': this.#client.copySource(from) };
    if (this.#size <= this.#limits.maxCopySize) {
      await this.#client.ask({ method: 'PUT', key: to, headers: source });
      return;
    }
    const upload: Upload = { key: to, id: await this.#createUpload(to), parts: [] };
    try {
      for (let start = 0; start < this.#size; start += this.#limits.copyPieceSize) {
        const end = Math.min(start + this.#limits.copyPieceSize, this.#size);
        const { xml } = await this.#client.ask({
          method: 'PUT',
          key: to,
          query: { partNumber: String(upload.parts.length + 1), uploadId: upload.id },
          headers: { ...source, 'x-amz-copy-source-range': `bytes=${start}-${end - 1}` },
        });
        upload.parts.push(Promise.resolve(etagOf(element(xml, 'ETag'))));
      }
      await this.#complete(upload);
    } catch (error) {
      await this.#abandon(upload);
      throw error;
    }
  }

  async #createUpload(key: string): Promise<string> {
    const { xml } = await this.#client.ask({ method: 'POST', key, query: { uploads: '' } });
    const id = element(xml, 'UploadId');
    if (id === undefined) throw new BlobStoreUnavailable('the blob store named no upload');
    return id;
  }

  async #complete({ key, id, parts }: Upload): Promise<void> {
    const listed = (await Promise.all(parts)).map(
      (etag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${etag}</ETag></Part>`,
    );
    const body = Buffer.from(`<CompleteMultipartUpload>${listed.join('')}</CompleteMultipartUpload>`);
    try {
      await this.#client.ask({ method: 'POST', key, query: { uploadId: id }, body });
    } catch (error) {
      // The answer to an earlier try was lost: there is no such upload any more, but the whole object.
      if (!(error instanceof S3Refusal && error.code === 'NoSuchUpload')) throw error;
      const { statusCode, headers } = await this.#client.tell({ method: 'HEAD', key }, [200, 404]);
      if (statusCode === 404 || headers['content-length'] !== String(this.#size)) throw error;
    }
  }

  async #discard(): Promise<void> {
    const upload = this.#upload;
    this.#upload = undefined;
    this.#part = Buffer.alloc(0);
    if (upload === undefined) return;
    await Promise.allSettled(upload.parts);
    await this.#abandon(upload);
  }

  /** As well as it goes: the store may be what failed. */
  async #abandon({ key, id }: Upload): Promise<void> {
    await this.#client.tell({ method: 'DELETE', key, query: { uploadId: id } }, [204, 404]).catch(() => {});
  }
}

/** Parts of one size that are few, where the largest allows it. */
function equalPartSize({ partSize, maxPartSize, fewParts }: S3WriterLimits, expected: number): number {
  return Math.max(partSize, Math.min(maxPartSize, Math.ceil(expected / fewParts)));
}

/** The first half of few parts are small ones; then every eighth doubles. Eight-fold, a thousand hold 25 GiB. */
function growingPartSize({ partSize, maxPartSize, fewParts }: S3WriterLimits, sent: number): number {
  const doublings = Math.max(0, Math.floor((8 * sent) / fewParts) - 3);
  return Math.min(maxPartSize, partSize * 2 ** Math.min(doublings, 10));
}

function etagOf(value: string | string[] | undefined): string {
  if (typeof value !== 'string') throw new BlobStoreUnavailable('the blob store named no part');
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
