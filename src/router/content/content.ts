/**
 * Content by id: from memory, from the cache on disk, or from gateways, proven on the way. Small content is
 * proven before its first byte leaves, so that a gateway that sends wrong bytes costs a reader nothing but time;
 * large content flows while it is checked.
 */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { TxId } from '../../formats/base64url.ts';
import type { Logger } from '../../kernel/log.ts';
import type { BlobReader } from '../../storage/blobs/blobs.ts';
import type { BlobCache } from '../../storage/blobs/cache/cache.ts';
import { contentNotFound, verificationFailed } from '../errors.ts';
import {
  discard,
  type Gateway,
  type GatewayAnswer,
  headerOf,
  lengthOf,
  readBody,
} from '../gateways/gateway.ts';
import type { GatewaySet } from '../gateways/gateway-set.ts';
import type { HedgedAsks } from '../gateways/hedged-ask.ts';
import { type Expectation, ExpectationSearch, knownExpectation } from './expectation.ts';
import { Fill } from './fill.ts';
import type { Known, KnownStore } from './known.ts';

export interface ContentOptions {
  readonly gateways: GatewaySet;
  readonly asks: HedgedAsks;
  readonly known: KnownStore;
  readonly cache: BlobCache | undefined;
  readonly maxItemBytes: number;
  readonly memoryBytes: number;
  readonly quorum: number;
  readonly attempts: number;
  readonly log: Logger;
  readonly events: ContentEvents;
}

export interface ContentEvents {
  verified(gateway: string, method: string, ok: boolean): void;
  cache(hit: boolean): void;
}

/** What a reader is given. Exactly one of `bytes`, `reader` and `fill` is there. */
export interface Opened {
  readonly size: number | undefined;
  readonly contentType: string;
  readonly contentEncoding: string | undefined;
  /** Hex; undefined while it is on its way. */
  readonly digest: string | undefined;
  readonly method: string;
  readonly by: readonly string[];
  /** Origin of the gateway, or `cache`. */
  readonly from: string;
  readonly verifiedAt: number | undefined;
  readonly bytes?: Buffer;
  readonly reader?: BlobReader;
  readonly fill?: Fill;
}

/** Content up to this size is proven whole before it is sent. */
export const wholeLimit = 1024 * 1024;
const memoryItemLimit = 256 * 1024;
/** A gateway that does not say how much it sends may send this much. */
const maxUnsizedBytes = 64 * 1024 ** 3;
const cachePauseMs = 60_000;

export class Content {
  readonly #options: ContentOptions;
  readonly #memory: LRUCache<string, Buffer> | undefined;
  readonly #fetching = new Map<TxId, Promise<Opened>>();
  readonly #keeping = new Set<Promise<unknown> | undefined>();
  #cachePausedUntil = 0;

  constructor(options: ContentOptions) {
    this.#options = options;
    this.#memory =
      options.memoryBytes === 0
        ? undefined
        : new LRUCache({ maxSize: options.memoryBytes, sizeCalculation: (bytes) => bytes.length + 256 });
  }

  /** Whether the disk takes what is to be kept. */
  get cacheUsable(): boolean {
    return this.#options.cache === undefined || performance.now() >= this.#cachePausedUntil;
  }

  /** Small content that is in memory, without waiting. */
  atHand(id: TxId): Opened | undefined {
    const known = this.#options.known.peek(id);
    const bytes = known === undefined ? undefined : this.#memory?.get(known.digest);
    if (known === undefined || bytes === undefined) return undefined;
    this.#options.events.cache(true);
    return { ...fromKnown(known), bytes };
  }

  /** What is known of an id without fetching it. */
  known(id: TxId): Promise<Known | undefined> {
    return this.#options.known.get(id);
  }

  async open(id: TxId): Promise<Opened> {
    const cached = this.atHand(id) ?? (await this.#openCached(id));
    if (cached !== undefined) return cached;
    this.#options.events.cache(false);
    const running = this.#fetching.get(id);
    if (running !== undefined) {
      const opened = await running;
      // Content that is not kept flows to one reader only.
      if (opened.fill === undefined || this.#kept(opened.size) !== undefined) return opened;
      return await this.#fetch(id);
    }
    const fetching = this.#fetch(id);
    this.#fetching.set(id, fetching);
    const forget = (): void => {
      if (this.#fetching.get(id) === fetching) this.#fetching.delete(id);
    };
    fetching.then((opened) => {
      if (opened.fill === undefined) forget();
      else opened.fill.finished.then(forget, forget);
    }, forget);
    return await fetching;
  }

  /** What the bytes would be, for those who only ask about them; undefined where nobody can tell. */
  async describe(id: TxId): Promise<Expectation | undefined> {
    const known = await this.#options.known.get(id);
    if (known !== undefined) return knownExpectation(known);
    return await this.#search(id).settle(undefined);
  }

  /** Resolves when what is on its way to the disk is there. */
  async settled(): Promise<void> {
    await Promise.all(this.#keeping);
  }

  /** Takes content out of the cache. True when it was there. */
  async purge(id: TxId): Promise<boolean> {
    const known = await this.#options.known.get(id);
    if (known === undefined) return false;
    const inMemory = this.#memory?.delete(known.digest) ?? false;
    const onDisk = (await this.#options.cache?.delete(known.digest).catch(() => false)) ?? false;
    return inMemory || onDisk;
  }

  async #openCached(id: TxId): Promise<Opened | undefined> {
    const { known: store, cache, events } = this.#options;
    if (cache === undefined) return undefined;
    const known = await store.get(id);
    if (known === undefined) return undefined;
    const reader = await cache.open(known.digest).catch(() => undefined);
    if (reader === undefined) return undefined;
    if (reader.size !== known.size) {
      await reader.close();
      return undefined;
    }
    events.cache(true);
    if (known.size > memoryItemLimit || this.#memory === undefined) return { ...fromKnown(known), reader };
    const bytes = Buffer.allocUnsafeSlow(known.size);
    const count = await reader.read(bytes, 0).catch(() => -1);
    await reader.close();
    if (count !== known.size) return undefined;
    this.#memory.set(known.digest, bytes);
    return { ...fromKnown(known), bytes };
  }

  #search(id: TxId): ExpectationSearch {
    const { gateways, quorum } = this.#options;
    return new ExpectationSearch(id, gateways.verification, gateways.routing, quorum);
  }

  /** Whether content of this size goes to the cache. */
  keeps(size: number | undefined): boolean {
    return this.#kept(size) !== undefined;
  }

  /** The cache, for content of this size; undefined where it is not to be kept. */
  #kept(size: number | undefined): BlobCache | undefined {
    const { cache, maxItemBytes } = this.#options;
    return size !== undefined && size <= maxItemBytes && this.cacheUsable ? cache : undefined;
  }

  async #fetch(id: TxId): Promise<Opened> {
    const known = await this.#options.known.get(id);
    const search = known === undefined ? this.#search(id) : undefined;
    const tried = new Set<Gateway>();
    let wrong = false;
    for (;;) {
      const answer = await this.#ask(
        id,
        tried,
        () => false,
        0,
        (first) => search?.begin(first),
      ).catch((error: unknown) => {
        throw wrong ? verificationFailed(id, 'Every gateway that has it sent other bytes', error) : error;
      });
      const expectation = known === undefined ? await search?.settle(answer) : knownExpectation(known);
      if (expectation === undefined) {
        discard(answer);
        throw verificationFailed(id, 'Neither a signature nor enough gateways could prove the content');
      }
      const opened = await this.#take(id, answer, expectation, search, tried);
      if (opened !== undefined) return opened;
      wrong = true;
    }
  }

  #ask(
    id: TxId,
    tried: Set<Gateway>,
    gone: () => boolean,
    start: number,
    first?: (gateway: Gateway) => void,
  ): Promise<GatewayAnswer> {
    const headers = start === 0 ? {} : { headers: { range: `bytes=${start}-` } };
    return this.#options.asks.ask(
      { role: 'content', path: `/raw/${id}`, ...headers },
      {
        attempts: this.#options.attempts + (start === 0 ? 0 : tried.size),
        tried,
        accepts: ({ status }) => status === 200 || (start > 0 && status === 206),
        absent: () => contentNotFound(id),
        gone,
        ...(first === undefined ? {} : { first }),
      },
    );
  }

  /** The content from this answer; undefined when it is wrong or broke off and another gateway is to be asked. */
  async #take(
    id: TxId,
    answer: GatewayAnswer,
    expectation: Expectation,
    search: ExpectationSearch | undefined,
    tried: Set<Gateway>,
  ): Promise<Opened | undefined> {
    const told = lengthOf(answer);
    if (told !== undefined && expectation.size !== undefined && told !== expectation.size) {
      discard(answer);
      this.#wrong(answer.gateway, expectation, id);
      return undefined;
    }
    const size = told ?? expectation.size;
    if (size !== undefined && size <= wholeLimit) {
      return await this.#takeWhole(id, answer, expectation, search, size);
    }
    return this.#takeStream(id, answer, expectation, tried, size);
  }

  async #takeWhole(
    id: TxId,
    answer: GatewayAnswer,
    first: Expectation,
    search: ExpectationSearch | undefined,
    size: number,
  ): Promise<Opened | undefined> {
    const { gateway } = answer;
    const start = performance.now();
    let bytes: Buffer;
    try {
      bytes = await readBody(answer, size);
      if (bytes.length !== size) throw new Error('the body ended early');
    } catch (error) {
      gateway.failed('content', error, performance.now() - start);
      return undefined;
    }
    const digest = createHash('sha256').update(bytes).digest('hex');
    const passes = async (expectation: Expectation): Promise<boolean> => {
      const check = expectation.check();
      check.update(bytes);
      return await check.finish(digest, size);
    };
    let expectation = first;
    if (!(await passes(first))) {
      // One gateway's word against another's: only the signature can tell who is wrong.
      const decisive = first.conclusive ? undefined : await search?.bySignature();
      if (decisive === undefined || !(await passes(decisive))) {
        this.#wrong(gateway, first, id);
        return undefined;
      }
      expectation = decisive;
    }
    this.#options.events.verified(gateway.origin, expectation.method, true);
    const known = this.#remember(id, expectation, digest, size);
    if (size <= memoryItemLimit) this.#memory?.set(digest, bytes);
    this.#keep(bytes);
    return { ...fromKnown(known), from: gateway.origin, bytes };
  }

  #takeStream(
    id: TxId,
    answer: GatewayAnswer,
    expectation: Expectation,
    tried: Set<Gateway>,
    size: number | undefined,
  ): Opened {
    let { gateway, body } = answer;
    let stopped = false;
    const served = new Set([gateway]);
    const fill = new Fill({
      cache: this.#kept(size),
      size,
      maxSize: maxUnsizedBytes,
      check: expectation.check(),
      body: answer.body,
      resume: async (start, cause) => {
        if (stopped) throw cause;
        gateway.failed('content', cause, 0);
        const next = await this.#ask(id, tried, () => stopped, start);
        if (!continuesAt(next, start, size)) {
          discard(next);
          throw cause;
        }
        ({ gateway, body } = next);
        served.add(gateway);
        return next.status === 200 ? skip(next.body, start) : next.body;
      },
      cacheFailed: (error) => this.#cacheFailed(error),
      done: (result) => {
        if (result === 'wrong') {
          // Bytes of several gateways in a row: it cannot be said whose were wrong.
          const conclusive = expectation.conclusive && served.size === 1;
          for (const one of served) this.#wrong(one, { ...expectation, conclusive }, id);
        } else if (result !== 'broken') {
          this.#options.events.verified(gateway.origin, expectation.method, true);
          this.#remember(id, expectation, result.digest, result.size);
        }
      },
      abort: () => {
        stopped = true;
        body.destroy();
      },
    });
    return {
      size,
      contentType: typeOf(expectation),
      contentEncoding: expectation.contentEncoding,
      digest: expectation.digest,
      method: expectation.method,
      by: expectation.by,
      from: gateway.origin,
      verifiedAt: undefined,
      fill,
    };
  }

  #remember(id: TxId, expectation: Expectation, digest: string, size: number): Known {
    const known: Known = {
      digest,
      size,
      contentType: typeOf(expectation),
      contentEncoding: expectation.contentEncoding,
      method: expectation.method,
      by: expectation.by,
      verifiedAt: Date.now(),
    };
    this.#options.known.set(id, known);
    return known;
  }

  /** A gateway that certainly sent wrong bytes is not asked again; one that may have is left alone for a while. */
  #wrong(gateway: Gateway, expectation: Expectation, id: TxId): void {
    const { events, log } = this.#options;
    events.verified(gateway.origin, expectation.method, false);
    log.warn(
      { gateway: gateway.origin, id, method: expectation.method },
      'a gateway sent other bytes than the id has',
    );
    if (expectation.conclusive) gateway.health.quarantine(`wrong bytes for ${id}`);
    else gateway.health.observe('server_error', undefined, `doubtful bytes for ${id}`);
  }

  /** The reader does not wait for the disk. */
  #keep(bytes: Buffer): void {
    const putting = this.#kept(bytes.length)
      ?.put(bytes)
      .catch((error: unknown) => this.#cacheFailed(error))
      .finally(() => this.#keeping.delete(putting));
    if (putting !== undefined) this.#keeping.add(putting);
  }

  #cacheFailed(error: unknown): void {
    if (!this.cacheUsable) return;
    this.#cachePausedUntil = performance.now() + cachePauseMs;
    this.#options.log.warn(
      { err: error },
      'the content cache cannot be written: nothing is kept for a minute',
    );
  }
}

function fromKnown(known: Known): Opened {
  return { ...known, from: 'cache' };
}

/** Never what the serving gateway says: it could make a page of a text. */
function typeOf({ contentType }: Expectation): string {
  const clean = (contentType ?? '').replace(/[^\x20-\x7e\xa0-\xff]/g, '').trim();
  return clean === '' ? 'application/octet-stream' : clean.slice(0, 255);
}

/** Whether an answer is the rest of the same content from `start`, or the whole of it. */
function continuesAt(answer: GatewayAnswer, start: number, size: number | undefined): boolean {
  if (answer.status === 200) return size === undefined || lengthOf(answer) === size;
  const range = /^bytes ([0-9]+)-[0-9]+\/([0-9]+|\*)$/.exec(headerOf(answer.headers, 'content-range') ?? '');
  return Number(range?.[1]) === start && (size === undefined || Number(range?.[2]) === size);
}

async function* skip(body: AsyncIterable<Buffer>, count: number): AsyncGenerator<Buffer> {
  let left = count;
  for await (const piece of body) {
    const rest = piece.subarray(Math.min(left, piece.length));
    left -= piece.length - rest.length;
    if (rest.length > 0) yield rest;
  }
}
