/**
 * What is known about an id and where its bytes are: the cache first, then the sources in order. Absence is said
 * only when every source that could be asked said so; where one could not, that failure is the answer.
 */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Logger } from '../../kernel/log.ts';
import type { BlobReader, BlobStore } from '../../storage/blobs/blobs.ts';
import type { ByteRange, ByteSource, OpenedBytes } from '../chain/byte-source.ts';
import type { GatewayIndex, Located } from '../index/gateway-index.ts';
import { Fill } from './fill.ts';
import type { ContentMetrics } from './metrics.ts';
import { type ContentSource, type Journey, ownJourney, type SourceBytes } from './sources/source.ts';

/** What can be said of an id's content before a byte of it is read. */
export interface Described {
  readonly id: string;
  readonly size: number;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  /** Base64url SHA-256 of the payload, once known. */
  readonly hash: string | undefined;
  readonly verified: boolean;
  readonly stable: boolean;
  /** The index's own record; undefined for what only another gateway knows. */
  readonly located: Located | undefined;
}

/** Bytes ready to be sent. */
export interface OpenedContent {
  readonly described: Described;
  readonly fromCache: boolean;
  readonly trusted: boolean;
  readonly hops: number;
  /** The whole content, where it is small and asked for often. */
  readonly bytes?: Buffer | undefined;
  /** A file in the cache, for positional reads; the receiver closes it. */
  readonly reader: BlobReader | undefined;
  /** The asked range (or all) where there is no reader. */
  readonly stream: AsyncIterable<Buffer> | undefined;
}

export interface ContentOptions {
  readonly index: GatewayIndex;
  readonly cache: BlobStore;
  readonly sources: readonly ContentSource[];
  readonly metrics: ContentMetrics;
  readonly log: Logger;
  /** Makes a transaction known that the index has not met; answers whether there is one. */
  makeKnown(id: string): Promise<boolean>;
  /** Larger content is streamed to each reader and not kept. */
  readonly maxCachedBytes: number;
}

/** Attributes may change until a block is deep: they are read again so soon. */
const unstableMs = 2_000;
const stableMs = 600_000;
/** How long the whole network's "not found" is believed. */
const absentMs = 5_000;
/** Content up to this size is kept in memory when it is read from the cache, up to so many bytes in all. */
const smallBytes = 32 * 1024;
const smallBudget = 48 * 1024 * 1024;

export class Content implements ByteSource {
  readonly #options: ContentOptions;
  readonly #described = new LRUCache<string, Described>({
    max: 50_000,
    ttl: unstableMs,
    ttlAutopurge: false,
  });
  readonly #absent = new LRUCache<string, true>({ max: 50_000, ttl: absentMs });
  /** By hash: what was sound when it was read stays so. */
  readonly #small = new LRUCache<string, Buffer>({
    maxSize: smallBudget,
    sizeCalculation: (bytes) => bytes.length + 256,
  });
  readonly #fills = new Map<string, Promise<Fill | undefined>>();

  constructor(options: ContentOptions) {
    this.#options = options;
  }

  /** From the index, or what a source says of something the index does not know. */
  async describe(id: string, journey: Journey = ownJourney): Promise<Described | undefined> {
    const known = this.#described.get(id);
    if (known !== undefined) return known;
    if (this.#absent.has(id)) return undefined;
    const located =
      (await this.#options.index.locate(id)) ??
      ((await this.#options.makeKnown(id)) ? await this.#options.index.locate(id) : undefined);
    return located === undefined ? this.#probe(id, journey) : this.#remember(describedBy(located));
  }

  /** Asks the sources for one byte, for what they say about the whole. */
  async #probe(id: string, journey: Journey): Promise<Described | undefined> {
    const enough = new AbortController();
    try {
      const found = await this.#ask(id, undefined, { start: 0, end: 1 }, journey, enough.signal);
      return found === undefined ? undefined : this.#learn(id, found.bytes);
    } finally {
      enough.abort();
    }
  }

  /** What `describe` would answer at once; undefined when it would have to ask. */
  known(id: string): Described | undefined {
    return this.#described.get(id);
  }

  /** Forgets what was learnt, so that a change takes effect at once. */
  forget(id: string): void {
    this.#described.delete(id);
    this.#absent.delete(id);
  }

  /** Removes the copy of content with that hash, in memory and on disk. */
  async drop(hash: string): Promise<void> {
    this.#small.delete(hash);
    await this.#options.cache.delete(Buffer.from(hash, 'base64url').toString('hex'));
  }

  /** The cached file of an id, if it is there and sound. */
  async openCached(described: Described): Promise<BlobReader | undefined> {
    if (described.hash === undefined) return undefined;
    const reader = await this.#options.cache.open(Buffer.from(described.hash, 'base64url').toString('hex'));
    if (reader !== undefined && reader.size === described.size) return reader;
    await reader?.close();
    return undefined;
  }

  /** What is in the cache, ready to be sent; undefined when it must be fetched. */
  async cached(described: Described): Promise<OpenedContent | undefined> {
    const { hash, size } = described;
    if (size === 0) return empty(described);
    const kept = hash === undefined ? undefined : this.#small.get(hash);
    if (kept !== undefined) return fromCache(described, { bytes: kept, reader: undefined });
    const reader = await this.openCached(described);
    if (reader === undefined) return undefined;
    if (hash === undefined || size > smallBytes) return fromCache(described, { reader });
    try {
      const bytes = Buffer.allocUnsafe(size);
      if ((await reader.read(bytes, 0)) !== size) return undefined;
      this.#small.set(hash, bytes);
      return fromCache(described, { bytes, reader: undefined });
    } finally {
      await reader.close();
    }
  }

  /**
   * Opens content for one reader. A range that is not in the cache is fetched as a range; the whole is fetched
   * once for all who want it. undefined: it does not exist.
   */
  async open(
    id: string,
    range: ByteRange | undefined,
    journey: Journey,
    signal: AbortSignal,
  ): Promise<OpenedContent | undefined> {
    const described = await this.describe(id, journey);
    if (described !== undefined) {
      const cached = await this.cached(described);
      if (cached !== undefined) {
        this.#options.metrics.cacheHits.inc();
        return cached;
      }
    }
    this.#options.metrics.cacheMisses.inc();
    if (this.#absent.has(id)) return undefined;
    const whole =
      range === undefined || (described !== undefined && range.end - range.start >= described.size);
    if (!whole) return this.#openRange(id, described, range, journey, signal);
    return this.#openWhole(id, described, journey, signal);
  }

  /** Reads content whose hash nobody knows yet to its end; undefined where it does not exist. */
  async hashOf(id: string, journey: Journey): Promise<string | undefined> {
    const opened = await this.open(id, undefined, journey, new AbortController().signal);
    if (opened === undefined) return undefined;
    const digest = createHash('sha256');
    for await (const piece of streamOf(opened)) digest.update(piece);
    const hash = digest.digest('base64url');
    const described = (await this.describe(id, journey)) ?? opened.described;
    if (described.hash === undefined) {
      if (described.located !== undefined) await this.#options.index.noteVerified(id, hash, false);
      this.#remember({ ...described, hash });
    }
    return hash;
  }

  /** For background work: the same bytes, without a client behind it. */
  async stream(id: string, range?: ByteRange, signal?: AbortSignal): Promise<OpenedBytes | undefined> {
    const opened = await this.open(id, range, ownJourney, signal ?? new AbortController().signal);
    if (opened === undefined) return undefined;
    const { described } = opened;
    return {
      size: described.size,
      proven: described.verified,
      hash: described.hash,
      stream: streamOf(opened, range),
    };
  }

  async #openRange(
    id: string,
    described: Described | undefined,
    range: ByteRange,
    journey: Journey,
    signal: AbortSignal,
  ): Promise<OpenedContent | undefined> {
    const found = await this.#ask(id, described?.located, range, journey, signal);
    if (found === undefined) return undefined;
    return {
      described: described ?? this.#learn(id, found.bytes),
      fromCache: false,
      trusted: found.source.trusted || found.bytes.proven,
      hops: found.bytes.hops,
      reader: undefined,
      stream: found.bytes.stream,
    };
  }

  async #openWhole(
    id: string,
    described: Described | undefined,
    journey: Journey,
    signal: AbortSignal,
  ): Promise<OpenedContent | undefined> {
    if (described !== undefined && described.size > this.#options.maxCachedBytes) {
      return this.#openRange(id, described, { start: 0, end: described.size }, journey, signal);
    }
    let filling = this.#fills.get(id);
    if (filling === undefined) {
      filling = this.#fill(id, described, journey);
      this.#fills.set(id, filling);
      const forget = () => this.#fills.delete(id);
      filling.then((fill) => (fill === undefined ? forget() : fill.finished.then(forget, forget)), forget);
    }
    const fill = await filling;
    if (fill === undefined) return undefined;
    return {
      described: described ?? this.#learn(id, fill.first),
      fromCache: false,
      trusted: true,
      hops: fill.first.hops,
      reader: undefined,
      stream: fill.read(),
    };
  }

  /** Not bound to the first reader: the others go on when that one leaves. */
  async #fill(id: string, described: Described | undefined, journey: Journey): Promise<Fill | undefined> {
    const { cache, index, log } = this.#options;
    const located = described?.located;
    const signal = new AbortController().signal;
    const tried = new Set<ContentSource>();
    const found = await this.#ask(id, located, undefined, journey, signal, tried);
    if (found === undefined) return undefined;
    const what = described ?? this.#learn(id, found.bytes);
    const fill = new Fill({
      cache,
      expected: described?.hash,
      first: found.bytes,
      next: async (start) =>
        (await this.#ask(id, located, { start, end: found.bytes.size }, journey, signal, tried))?.bytes,
      done: async (hash, proven) => {
        if (located !== undefined) await index.noteVerified(id, hash, proven);
        this.#remember({ ...what, hash, verified: proven && located?.height !== undefined });
      },
    });
    fill.finished.catch((error: unknown) => log.debug({ id, err: error }, 'content did not arrive'));
    return fill;
  }

  /** The first source that has it. Those in `tried` are passed by, and those asked are added. */
  async #ask(
    id: string,
    located: Located | undefined,
    range: ByteRange | undefined,
    journey: Journey,
    signal: AbortSignal,
    tried: Set<ContentSource> = new Set(),
  ): Promise<{ source: ContentSource; bytes: SourceBytes } | undefined> {
    let failed: unknown;
    for (const source of this.#options.sources) {
      if (tried.has(source)) continue;
      tried.add(source);
      try {
        const bytes = await source.open(id, located, range, journey, signal);
        if (bytes === undefined) continue;
        if (located !== undefined && bytes.size !== located.size) continue;
        this.#options.metrics.opened(source.name);
        return { source, bytes };
      } catch (error) {
        if (signal.aborted) throw error;
        this.#options.metrics.failed(source.name);
        this.#options.log.debug({ id, source: source.name, err: error }, 'a source failed');
        failed = error;
      }
    }
    if (failed !== undefined) throw failed;
    if (located === undefined) this.#absent.set(id, true);
    return undefined;
  }

  /** What a source said about something that the index does not know. */
  #learn(id: string, bytes: SourceBytes): Described {
    return this.#remember({
      id,
      size: bytes.size,
      contentType: bytes.contentType,
      contentEncoding: bytes.contentEncoding,
      hash: undefined,
      verified: false,
      stable: false,
      located: undefined,
    });
  }

  #remember(described: Described): Described {
    this.#described.set(described.id, described, { ttl: described.stable ? stableMs : unstableMs });
    return described;
  }
}

export function describedBy(located: Located): Described {
  const { id, size, contentType, contentEncoding, hash, verified, stable } = located;
  return { id, size, contentType, contentEncoding, hash, verified, stable, located };
}

function empty(described: Described): OpenedContent {
  return fromCache(described, { bytes: Buffer.alloc(0), reader: undefined });
}

function fromCache(described: Described, where: Pick<OpenedContent, 'bytes' | 'reader'>): OpenedContent {
  return { described, fromCache: true, trusted: true, hops: 0, stream: undefined, ...where };
}

async function* only(bytes: Buffer | undefined): AsyncGenerator<Buffer> {
  if (bytes !== undefined && bytes.length > 0) yield bytes;
}

/** What was opened, as pieces; its reader is closed with it. */
function streamOf({ stream, reader, bytes }: OpenedContent, range?: ByteRange): AsyncIterable<Buffer> {
  if (stream !== undefined) return stream;
  if (reader !== undefined) return closing(reader, range?.start ?? 0, range?.end);
  return only(bytes?.subarray(range?.start, range?.end));
}

async function* closing(reader: BlobReader, start: number, end: number | undefined): AsyncGenerator<Buffer> {
  try {
    yield* reader.stream(start, end);
  } finally {
    await reader.close();
  }
}
