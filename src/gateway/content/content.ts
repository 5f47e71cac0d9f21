/**
 * What is known about an id and where its bytes are: the cache first, then the sources in order. Absence is said
 * only when every source that could be asked said so; where one could not, that failure is the answer. Whoever asks for
 * what is not to be had is told why by what is thrown: `Unavailable`, or the `UpstreamError` of a source.
 */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Unavailability } from '../../delivery/availability.ts';
import type { Download } from '../../delivery/download.ts';
import { atMost } from '../../kernel/at-most.ts';
import { Together } from '../../kernel/background/together.ts';
import type { BlobReader } from '../../storage/blobs/blobs.ts';
import type { ByteRange, ByteSource, OpenedBytes } from '../chain/byte-source.ts';
import type { GatewayIndex } from '../chain-index/gateway-index.ts';
import { Unavailable, UpstreamError, upstreamFailed } from '../errors.ts';
import { CachedContent, type CachedContentOptions } from './cached-content.ts';
import { DescriptionCache } from './description-cache.ts';
import { downloadContent } from './download.ts';
import { type Described, describedBy, type OpenedContent, resumed, streamOf } from './opened.ts';
import { askSources, type Found, type Question } from './sources/ask.ts';
import { type ContentSource, isOwn, type Journey, ownJourney } from './sources/source.ts';

export interface ContentOptions extends CachedContentOptions {
  readonly index: GatewayIndex;
  readonly sources: readonly ContentSource[];
  /** Makes a transaction known that the index has not met, where there is one. */
  makeKnown(id: string): Promise<unknown>;
  /** Told of content that was fetched and is in the cache now, for those who share a store with us. */
  share?(copy: { digest: string; size: number; open(): Promise<BlobReader | undefined> }): void;
  /** Larger content is streamed to each reader and not kept. */
  readonly maxCachedBytes: number;
  /** How long a fetch goes on that nobody waits for. */
  readonly lingerMs?: number;
}

/** A download, and how many gateways its first source is away. */
interface OpenDownload {
  readonly download: Download;
  readonly hops: number;
}

/** What a read of content says of whoever gave the bytes. */
export type Read = Pick<OpenedContent, 'trusted' | 'hops'>;

/** How long the last read of content says whether the next would succeed. */
const readMs = 600_000;

export class Content implements ByteSource {
  readonly #options: ContentOptions;
  readonly #descriptions = new DescriptionCache();
  readonly #reads = new LRUCache<string, Read | 'failed'>({ ...atMost(20_000), ttl: readMs });
  readonly #downloads = new Map<string, OpenDownload>();
  readonly #opening = new Together<string, OpenDownload>();
  readonly #learning = new Together<string, Described>();
  readonly #hashing = new Together<string, string | undefined>();

  /** What is here already. */
  readonly cached: CachedContent;

  constructor(options: ContentOptions) {
    this.#options = options;
    this.cached = new CachedContent(options);
  }

  /** From the index, or what a source says of something the index does not know. */
  async describe(id: string, journey: Journey = ownJourney): Promise<Described> {
    const known = this.#descriptions.get(id);
    if (known !== undefined) return known;
    const located = await this.#options.index.locate(id);
    // Before an absence is believed: a record ends it, whichever process wrote it.
    if (located !== undefined) return this.#descriptions.know(describedBy(located));
    // Once for all who ask at once, but not across gateways, which would wait for each other.
    if (!isOwn(journey)) return await this.#learn(id, journey);
    return await this.#learning.run(id, () => this.#learn(id, journey));
  }

  /** What sources say of an id that the index does not know. */
  async #learn(id: string, journey: Journey): Promise<Described> {
    const { index, sources } = this.#options;
    const remembered = this.#descriptions.unavailability(id);
    if (remembered !== undefined) {
      // Nodes and other gateways are spared the question. What is uploaded here may have come since.
      const own = sources.filter(({ isOther }) => isOther !== true);
      const found = await this.#probe(id, journey, own);
      if (typeof found !== 'string') return found;
      throw new Unavailable(remembered);
    }
    const failure = await this.#makeKnown(id);
    const fetched = await index.locate(id);
    if (fetched !== undefined) return this.#descriptions.know(describedBy(fetched));
    const found = await this.#probe(id, journey, sources);
    if (typeof found !== 'string') return found;
    // Nobody could look at the chain: it may be there.
    if (failure !== undefined) throw failure;
    if (found === 'absent' || isOwn(journey)) this.#descriptions.rememberUnavailable(id, found);
    throw new Unavailable(found);
  }

  /** Answers why it could not. */
  async #makeKnown(id: string): Promise<UpstreamError | undefined> {
    try {
      await this.#options.makeKnown(id);
      return undefined;
    } catch (error) {
      if (error instanceof UpstreamError) return error;
      throw error;
    }
  }

  /** Asks for one byte, for what is said about the whole. */
  async #probe(
    id: string,
    journey: Journey,
    sources: readonly ContentSource[],
  ): Promise<Described | Unavailability> {
    const enough = new AbortController();
    const parts = { ...this.#options, sources };
    try {
      const found = await askSources(parts, id, undefined, { start: 0, end: 1 }, journey, enough.signal);
      if (typeof found === 'string') return found;
      found.bytes.discard?.();
      return this.#descriptions.learn(id, found.bytes);
    } finally {
      enough.abort();
    }
  }

  /**
   * Whether a read that begins at `start` would get its bytes: throws as it would. Known from what was read before, or
   * asked for by one byte.
   */
  async checkReadable(asked: Described, start: number, journey: Journey): Promise<Read> {
    const known = start === 0 && isOwn(journey) ? this.#lastRead(asked) : undefined;
    if (known !== undefined) return known;
    const enough = new AbortController();
    try {
      const opened = await this.open(asked, { start, end: start + 1 }, journey, enough.signal);
      for await (const _piece of streamOf(opened, { start, end: start + 1 })) break;
      this.noteRead(asked.id, journey, opened);
      return opened;
    } catch (error) {
      this.noteRead(asked.id, journey, 'failed');
      throw error;
    } finally {
      enough.abort();
    }
  }

  /**
   * What was mined and has been read, by readers or to unbundle it, is there until a read of it fails. What only others
   * know is asked for whenever it is described.
   */
  #lastRead({ id, hash, located }: Described): Read | undefined {
    const last = this.#reads.get(id);
    if (last === 'failed' || (located !== undefined && located.height === undefined)) return undefined;
    const wasRead = hash !== undefined || located?.placement !== undefined;
    return last ?? (wasRead && located !== undefined ? { trusted: true, hops: 0 } : undefined);
  }

  /** The first bytes of a read have come, or none. What others may not ask for says nothing about it. */
  noteRead(id: string, journey: Journey, read: Read | 'failed'): void {
    if (!isOwn(journey)) return;
    this.#reads.set(id, read === 'failed' ? read : { trusted: read.trusted, hops: read.hops });
  }

  /** What `describe` would answer at once; undefined when it would have to ask. */
  known(id: string): Described | undefined {
    return this.#descriptions.get(id);
  }

  /** Forgets what was learnt, so that a change takes effect at once. */
  forget(id: string): void {
    this.#descriptions.forget(id);
  }

  /**
   * Opens content for one reader. A range that is not in the cache is fetched as a range; the whole is fetched
   * once for all who want it.
   */
  async open(
    asked: Described,
    range: ByteRange | undefined,
    journey: Journey,
    signal: AbortSignal,
  ): Promise<OpenedContent> {
    const described = this.#descriptions.get(asked.id) ?? asked;
    const cached = await this.cached.open(described);
    if (cached !== undefined) {
      this.#options.metrics.cacheHits.inc();
      return cached;
    }
    this.#options.metrics.cacheMisses.inc();
    const { size } = described;
    const whole = range === undefined || range.end - range.start >= size;
    if (whole && size <= this.#options.maxCachedBytes) return this.#openWhole(described, journey, signal);
    return this.#openRange(described, range ?? { start: 0, end: size }, journey, signal);
  }

  /** Reads content whose hash nobody knows yet to its end; undefined where it is not to be had. */
  hashOf(id: string, journey: Journey): Promise<string | undefined> {
    // Once for all who ask at once: what is too large for the cache would be fetched whole for each.
    if (!isOwn(journey)) return this.#hash(id, journey);
    return this.#hashing.run(id, () => this.#hash(id, journey));
  }

  async #hash(id: string, journey: Journey): Promise<string | undefined> {
    let opened: OpenedContent;
    try {
      const asked = await this.describe(id, journey);
      opened = await this.open(asked, undefined, journey, new AbortController().signal);
    } catch (error) {
      if (error instanceof Unavailable) return undefined;
      throw error;
    }
    const digest = createHash('sha256');
    for await (const piece of streamOf(opened)) digest.update(piece);
    const hash = digest.digest('base64url');
    const described = await this.describe(id, journey);
    if (described.hash === undefined) {
      if (described.located !== undefined) await this.#options.index.noteVerified(id, hash, false);
      this.#descriptions.remember({ ...described, hash });
    }
    return hash;
  }

  /** Keeps data that came with a transaction of the index and is its own: it can be read before there is a block. */
  async keepInline(id: string, data: Buffer): Promise<void> {
    const { cache, index } = this.#options;
    const { digest } = await cache.put(data);
    await index.noteVerified(id, Buffer.from(digest, 'hex').toString('base64url'), false);
    this.forget(id);
  }

  /** For background work: the same bytes, without a client behind it. */
  async stream(id: string, range?: ByteRange, signal?: AbortSignal): Promise<OpenedBytes> {
    const asked = await this.describe(id);
    const opened = await this.open(asked, range, ownJourney, signal ?? new AbortController().signal);
    const { size, verified: proven, hash } = opened.described;
    return { size, proven, hash, stream: streamOf(opened, range) };
  }

  /** Brings content into the cache again that was lost there, where somebody asked for it lately. */
  async fetchAgain(hash: string): Promise<void> {
    const id = this.#descriptions.idWithHash(hash);
    if (id === undefined) return;
    const described = await this.describe(id);
    if (described.size > this.#options.maxCachedBytes) return;
    await (await this.#opened(described, ownJourney))?.download.whole();
  }

  async #openRange(
    described: Described,
    range: ByteRange,
    journey: Journey,
    signal: AbortSignal,
  ): Promise<OpenedContent> {
    const tried = new Set<ContentSource>();
    const { id } = described;
    const found = await this.#find(id, described, range, journey, signal, tried);
    const next = async (start: number) =>
      (await this.#findNext(id, described, { ...range, start }, journey, signal, tried))?.bytes.stream;
    return {
      described,
      fromCache: false,
      trusted: found.source.trusted || found.bytes.proven,
      hops: found.bytes.hops,
      stream: resumed(found.bytes.stream, range.start, Math.min(range.end, described.size), signal, next),
    };
  }

  async #openWhole(described: Described, journey: Journey, signal: AbortSignal): Promise<OpenedContent> {
    const { id } = described;
    const open = this.#downloads.get(id) ?? (await this.#opened(described, journey));
    const { hops, download } = open;
    return { described, fromCache: false, trusted: true, hops, stream: download.read(signal) };
  }

  /**
   * One search for all who ask at once. A request that came through another gateway searches alone: two gateways that ask each
   * other would wait for each other.
   */
  #opened(described: Described, journey: Journey): Promise<OpenDownload> {
    if (!isOwn(journey)) return this.#download(described, journey);
    return this.#opening.run(described.id, () => this.#download(described, journey));
  }

  /** Not bound to the first reader: the others go on when that one leaves. */
  async #download(described: Described, journey: Journey): Promise<OpenDownload> {
    const { cache, index, log, share } = this.#options;
    const { id, located } = described;
    const enough = new AbortController();
    const { signal } = enough;
    const tried = new Set<ContentSource>();
    const found = await this.#find(id, described, undefined, journey, signal, tried);
    const meanwhile = this.#downloads.get(id);
    if (meanwhile !== undefined) {
      found.bytes.discard?.();
      return meanwhile;
    }
    const download = downloadContent({
      cache,
      expected: described.hash,
      first: found.bytes,
      next: async (start) => {
        const range = start === 0 ? undefined : { start, end: described.size };
        return (await this.#findNext(id, described, range, journey, signal, tried))?.bytes;
      },
      rest: async (start) => {
        const range = { start, end: described.size };
        const opened = await this.#openRange(described, range, journey, signal);
        if (opened.stream === undefined) throw upstreamFailed(new Error('nobody has the rest any more'));
        return opened.stream;
      },
      uncached: (error) => this.cached.failed(error),
      ...(this.#options.lingerMs !== undefined && { lingerMs: this.#options.lingerMs }),
      abandoned: () => {
        // A reader that comes now begins anew.
        forget();
        enough.abort(new Error('nobody waits for it any more'));
      },
      // A hash that came from another gateway and was never proven must not close the content for ever. This answer was
      // begun under it and fails; the next is judged anew.
      contradicted: async () => {
        if (located?.kind !== 'transaction' || described.verified) return;
        log.warn(
          { id, hash: described.hash },
          'proven bytes contradict the hash that was noted: it is forgotten',
        );
        this.#descriptions.forget(id);
        const forgetting = index.forgetHash(id);
        await forgetting.catch((error: unknown) => log.warn({ id, err: error }, 'it is still noted'));
      },
      done: async (hash, proven) => {
        if (located === undefined || located.isPruned === true || located.isMoved === true) {
          this.#descriptions.rememberHash(id, hash);
        } else {
          // A database that cannot be written, its disk full too, costs nobody the read.
          const noting = index.noteVerified(id, hash, proven);
          await noting.catch((error: unknown) => log.warn({ id, err: error }, 'a hash could not be noted'));
        }
        // Bytes with the hash of what was proven before are proven.
        const verified = hash === described.hash && described.verified;
        this.#descriptions.remember({
          ...described,
          hash,
          verified: verified || (proven && located?.height !== undefined),
        });
        if (located !== undefined && found.source.isCopy !== true) {
          const digest = Buffer.from(hash, 'base64url').toString('hex');
          share?.({ digest, size: described.size, open: () => cache.open(digest) });
        }
      },
    });
    const open = { download, hops: found.bytes.hops };
    const forget = (): void => {
      if (this.#downloads.get(id) === open) this.#downloads.delete(id);
    };
    this.#downloads.set(id, open);
    download.finished
      .catch((error: unknown) => log.debug({ id, err: error }, 'content did not arrive'))
      .finally(forget);
    return open;
  }

  /** Throws where none has it. */
  async #find(...question: Question): Promise<Found> {
    const found = await askSources(this.#options, ...question);
    if (typeof found !== 'string') return found;
    const [id, described] = question;
    // It may have been mined or placed since it was described.
    this.forget(id);
    throw new Unavailable(stateOf(described, found));
  }

  /** Another source than those that were tried; undefined where no other has it. */
  async #findNext(...question: Question): Promise<Found | undefined> {
    const found = await askSources(this.#options, ...question);
    return typeof found === 'string' ? undefined : found;
  }
}

/** What is indexed is not absent, whoever has no bytes of it. */
function stateOf(described: Described | undefined, said: Unavailability): Unavailability {
  if (described?.located === undefined) return said;
  if (described.located.height === undefined) return 'pending';
  return said === 'absent' ? 'unreadable' : said;
}
