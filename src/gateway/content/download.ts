/**
 * A download from the gateway's sources. What they send is compared with the hash that is known here, or else with the
 * one they announce. Small content that can be compared is held back whole, and fetched from another source when it
 * is wrong. The download goes on when readers leave, for those who come next, but not for long when none is left.
 */
import { type BodyCheck, Download, type DownloadAttempt } from '../../delivery/download.ts';
import type { BlobStore } from '../../storage/blobs/blobs.ts';
import { upstreamFailed } from '../errors.ts';
import type { SourceBytes } from './sources/source.ts';

/** Bytes that can be compared with a hash and are no more than this are compared before anybody sees them. */
const holdLimit = 512 * 1024;
/** How long a download goes on that nobody waits for. */
const defaultLingerMs = 10_000;

export interface ContentDownload {
  readonly cache: BlobStore;
  /** What the bytes must hash to, where that is known (base64url). */
  readonly expected: string | undefined;
  readonly first: SourceBytes;
  /** Opens the rest from `start` at another source; undefined when no other has it. */
  next(start: number): Promise<SourceBytes | undefined>;
  /** Opens the rest from `start` for one reader alone, where the cache does not have it. */
  rest(start: number): Promise<AsyncIterable<Buffer>>;
  /** The cache did not take the bytes. */
  uncached(error: unknown): void;
  /** Proven bytes have another hash than `expected`: that one was wrong. */
  contradicted?(): Promise<void>;
  /** Nobody has waited for the bytes for a while: ends their sources, which fails the download. */
  abandoned?(): void;
  readonly lingerMs?: number;
  /** All bytes have come and are right, and are in the cache unless it failed. `proven`: every one of them was. */
  done(hash: string, proven: boolean): Promise<void>;
}

export function downloadContent(options: ContentDownload): Download {
  const { cache, expected, first, next, lingerMs = defaultLingerMs } = options;
  const { size } = first;
  let check = new SourceCheck(expected, first);
  const attempt = (body: AsyncIterable<Buffer>): DownloadAttempt => ({
    body,
    check,
    async resume(start, cause) {
      const other = start < size ? await next(start) : undefined;
      if (other === undefined || other.size !== size) throw cause;
      check.continueWith(other);
      return other.stream;
    },
  });
  return new Download({
    cache,
    size,
    first: attempt(first.stream),
    async again() {
      const other = await next(0);
      if (other === undefined || other.size !== size) return undefined;
      check = new SourceCheck(expected, other);
      return attempt(other.stream);
    },
    // The cache is filled at the speed of the source.
    maxLead: Number.POSITIVE_INFINITY,
    rest: options.rest,
    lingerMs: () => lingerMs,
    abort: () => options.abandoned?.(),
    async done(result) {
      if (result.kind === 'broken' || result.digest === undefined) return;
      const hash = hashOfDigest(result.digest);
      if (result.kind === 'proven') await options.done(hash, check.isProven);
      else if (check.isProven && expected !== undefined && hash !== expected) await options.contradicted?.();
    },
    cacheFailed: options.uncached,
    failure: (reason) => upstreamFailed(new Error(reason)),
  });
}

/** What the sources of one attempt say about the bytes that they send. */
class SourceCheck implements BodyCheck {
  readonly #expected: string | undefined;
  /** Hashes that the bytes should have; there is no right one where they differ. */
  readonly #announced = new Set<string>();
  /** Whether every source so far proves what it sends. */
  isProven = true;
  holdsAll = false;

  constructor(expected: string | undefined, first: SourceBytes) {
    this.#expected = expected;
    if (expected !== undefined) this.#announced.add(expected);
    this.continueWith(first);
  }

  continueWith({ proven, hash, size }: SourceBytes): void {
    this.isProven &&= proven;
    if (this.#expected === undefined && hash !== undefined) this.#announced.add(hash);
    this.holdsAll = !proven && this.#announced.size > 0 && size <= holdLimit;
  }

  update(): void {}

  finish(digest: string): boolean {
    const [announced, other] = this.#announced;
    return announced === undefined || (other === undefined && announced === hashOfDigest(digest));
  }
}

function hashOfDigest(digest: string): string {
  return Buffer.from(digest, 'hex').toString('base64url');
}
