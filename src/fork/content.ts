/**
 * Bytes of the fork by id: `GET /raw/{id}` of a gateway, `GET /{id}` of a node. What was read to its end is kept, with
 * whether it was proven; parts of what is not kept are fetched as parts.
 */
import { availabilityOf } from '../delivery/availability.ts';
import { exactly, readAndClose } from '../delivery/streams.ts';
import { isCount, memberOf, textOf } from '../formats/json.ts';
import { headerOf, placeOf } from '../outside/answer-head.ts';
import type { OpenAnswer } from '../outside/http.ts';
import type { BlobWriter } from '../storage/blobs/blobs.ts';
import type { ForkCache } from './cache.ts';
import { ContentProof } from './proof.ts';
import type { ForkedTransactions } from './transactions.ts';
import { ForkUnavailable, type ForkUpstream } from './upstream.ts';

export interface ForkedBytes {
  /** Of the whole, whatever part was asked for. */
  readonly size: number;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  /** Base64url SHA-256 of the whole, as the fork says it, or as it was when it was read. */
  readonly hash: string | undefined;
  /** The whole was read before and is what was signed under the id. */
  readonly verified: boolean;
  readonly isKept: boolean;
  readonly stream: AsyncIterable<Buffer>;
  discard(): void;
}

interface Range {
  readonly start: number;
  readonly end: number;
}

/** What is noted of content that is kept. */
interface Kept {
  readonly size: number;
  readonly digest: string;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  readonly verified: boolean;
}

export interface ForkedContentOptions {
  readonly gateway: ForkUpstream;
  readonly transactions: ForkedTransactions;
  readonly cache: ForkCache;
}

export class ForkedContent {
  readonly #options: ForkedContentOptions;

  constructor(options: ForkedContentOptions) {
    this.#options = options;
  }

  /** undefined: the fork does not have it. `not-asked`: nor does it say that nobody has. */
  async open(
    id: string,
    range: Range | undefined,
    signal: AbortSignal,
  ): Promise<ForkedBytes | 'not-asked' | undefined> {
    const kept = await this.#kept(id, range);
    if (kept !== undefined) return kept;
    const { gateway, transactions } = this.#options;
    if (!(await transactions.isShown(id))) return undefined;
    const headers = {
      'accept-encoding': 'identity',
      'x-ar-io-hops': '1',
      ...(range !== undefined && { range: `bytes=${range.start}-${range.end - 1}` }),
    };
    let answer = await gateway.open(`/raw/${id}`, headers, signal);
    if (answer.status === 400) {
      // Nodes have no such route.
      answer.discard();
      answer = await gateway.open(`/${id}`, headers, signal);
    }
    const { status } = answer;
    if (status === 200 || status === 206) return this.#fetched(id, answer, range);
    answer.discard();
    if (status === 416 && range !== undefined) return await this.open(id, undefined, signal);
    if (status === 404 || status === 410 || status === 202) {
      const state = availabilityOf(status, headerOf(answer.headers, 'cache-control'));
      return state === 'absent' ? undefined : 'not-asked';
    }
    throw gateway.misspoke(`answered ${status} for ${id}`);
  }

  async #kept(id: string, range: Range | undefined): Promise<ForkedBytes | undefined> {
    const { cache, gateway } = this.#options;
    const note = readKept(await cache.note(gateway.address, `content ${id}`));
    const reader = note && (await cache.content.open(note.digest).catch(() => undefined));
    if (note === undefined || reader === undefined) return undefined;
    if (reader.size !== note.size) {
      await reader.close();
      return undefined;
    }
    const { size, contentType, contentEncoding, verified } = note;
    const end = Math.min(range?.end ?? size, size);
    return {
      size,
      contentType,
      contentEncoding,
      verified,
      hash: Buffer.from(note.digest, 'hex').toString('base64url'),
      isKept: true,
      stream: readAndClose(reader, Math.min(range?.start ?? 0, end), end),
      discard: () => void reader.close(),
    };
  }

  #fetched(id: string, answer: OpenAnswer, range: Range | undefined): ForkedBytes {
    const { gateway } = this.#options;
    const place = placeOf(answer);
    const start = range?.start ?? 0;
    const skip = start - (place?.start ?? 0);
    if (place === undefined || skip < 0) {
      answer.discard();
      throw gateway.misspoke(`does not say how large ${id} is`);
    }
    const { size } = place;
    const length = Math.max(0, Math.min(range?.end ?? size, size) - start);
    const tooShort = (missing: number) => gateway.misspoke(`stopped ${missing} bytes early`);
    const hash = headerOf(answer.headers, 'x-ar-io-digest');
    const bytes = {
      size,
      contentType: headerOf(answer.headers, 'content-type'),
      contentEncoding: headerOf(answer.headers, 'content-encoding'),
      hash: hash !== undefined && /^[A-Za-z0-9_-]{43}$/.test(hash) ? hash : undefined,
      verified: false,
      isKept: false,
      discard: () => answer.discard(),
    };
    const stream = exactly(answer.body, skip, length, tooShort);
    return { ...bytes, stream: length === size ? this.#keeping(id, bytes, stream) : stream };
  }

  /** The same pieces, which are kept once the last has come. */
  async *#keeping(
    id: string,
    { size, contentType, contentEncoding, hash }: Omit<ForkedBytes, 'stream'>,
    stream: AsyncIterable<Buffer>,
  ): AsyncGenerator<Buffer> {
    const { cache, gateway } = this.#options;
    let writer: BlobWriter | undefined = await cache.content.writer().catch(() => undefined);
    const proof = new ContentProof();
    try {
      for await (const piece of stream) {
        proof.update(piece);
        await writer?.write(piece).catch(async () => {
          await writer?.abort();
          writer = undefined;
        });
        yield piece;
      }
      const written = await writer?.commit().catch(() => undefined);
      if (written === undefined) return;
      // Whoever reads compares with what was announced; other bytes than those are not worth keeping.
      const isAnnounced =
        hash === undefined || Buffer.from(hash, 'base64url').toString('hex') === written.digest;
      if (!isAnnounced) return;
      const verified = await this.#isProven(id, proof);
      const kept: Kept = { size, digest: written.digest, contentType, contentEncoding, verified };
      await cache.keep(gateway.address, `content ${id}`, kept);
    } finally {
      await writer?.abort();
    }
  }

  async #isProven(id: string, proof: ContentProof): Promise<boolean> {
    const header = await this.#options.transactions.header(id).catch((error: unknown) => {
      if (error instanceof ForkUnavailable) return undefined;
      throw error;
    });
    return header !== undefined && (await proof.holds(header));
  }
}

function readKept(note: unknown): Kept | undefined {
  const size = memberOf(note, 'size');
  const digest = textOf(note, 'digest');
  if (!isCount(size) || digest === undefined || !/^[0-9a-f]{64}$/.test(digest)) return undefined;
  return {
    size,
    digest,
    contentType: textOf(note, 'contentType'),
    contentEncoding: textOf(note, 'contentEncoding'),
    verified: memberOf(note, 'verified') === true,
  };
}
