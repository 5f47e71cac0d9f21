/** Content by id: from memory, from the cache on disk, or from gateways; fetched once for all who ask together. */
import { isTxId, type TxId } from '../../formats/base64url.ts';
import { onceArrived } from './arrival.ts';
import type { ContentCache } from './content-cache.ts';
import type { ExpectationSearch } from './expectation.ts';
import type { Fetch } from './fetch.ts';
import { fromCache, letGo, type Opened } from './opened.ts';
import type { ProvenContent, ProvenStore } from './proven-store.ts';

export interface ContentOptions {
  readonly proven: ProvenStore;
  readonly cache: ContentCache;
  readonly fetch: Fetch;
  /** Told whether content was found in the cache. */
  readonly onLookUp: (hit: boolean) => void;
}

export class Content {
  readonly #options: ContentOptions;
  readonly #fetching = new Map<TxId, Promise<Opened>>();

  constructor(options: ContentOptions) {
    this.#options = options;
  }

  /** Small content that is in memory, with what was proven of it, without waiting. */
  inMemory(id: TxId): { readonly proven: ProvenContent; readonly bytes: Buffer } | undefined {
    const proven = this.#options.proven.peek(id);
    const bytes = proven === undefined ? undefined : this.#options.cache.inMemory(proven.digest);
    return proven === undefined || bytes === undefined ? undefined : { proven, bytes };
  }

  /** What is proven of an id without fetching it. */
  proven(id: TxId): Promise<ProvenContent | undefined> {
    return this.#options.proven.get(id);
  }

  async open(id: TxId): Promise<Opened> {
    const inMemory = this.inMemory(id);
    if (inMemory !== undefined) {
      this.#options.onLookUp(true);
      return { ...fromCache(inMemory.proven), pieces: [inMemory.bytes] };
    }
    const proven = await this.#options.proven.get(id);
    const cached = proven === undefined ? undefined : await this.#openProven(proven);
    this.#options.onLookUp(cached !== undefined);
    if (cached !== undefined) return cached;
    const running = this.#fetching.get(id);
    if (running !== undefined) {
      const opened = await running;
      // Content that is not kept flows to one reader only.
      if (opened.download === undefined || opened.download.isKept) return opened;
      return await this.#options.fetch.open(id, proven);
    }
    const fetching = onceArrived(() => this.#options.fetch.open(id, proven));
    this.#fetching.set(id, fetching);
    const forget = (): void => {
      if (this.#fetching.get(id) === fetching) this.#fetching.delete(id);
    };
    fetching.then((opened) => {
      if (opened.download === undefined) forget();
      else opened.download.finished.then(forget, forget);
    }, forget);
    return await fetching;
  }

  /**
   * What a download that is under way comes to, where it takes no longer than that; undefined otherwise. Clients
   * that verify for themselves ask for the hash while they read, and a signature tells none beforehand.
   */
  async underway(id: TxId, milliseconds: number): Promise<ProvenContent | undefined> {
    const opened = await this.#fetching.get(id)?.catch(() => undefined);
    if (opened?.download === undefined || opened.digest !== undefined) return undefined;
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, milliseconds).unref();
    await opened.download.whole(late).catch(() => {});
    clearTimeout(timer);
    return await this.#options.proven.get(id);
  }

  /** What the bytes must be, for those who only ask about them: it is being looked for already. */
  expect(id: TxId): ExpectationSearch {
    const search = this.#options.fetch.search(id);
    search.begin(undefined);
    return search;
  }

  /** Brings content into the cache again that was lost there, where somebody asked for it lately. */
  async fetchAgain(digest: string): Promise<void> {
    const id = this.#options.proven.idOf(digest);
    if (id === undefined || !isTxId(id)) return;
    const opened = await this.open(id);
    try {
      await opened.download?.whole();
    } finally {
      await letGo(opened);
    }
  }

  /** Takes content out of the cache. True when it was there. */
  async purge(id: TxId): Promise<boolean> {
    const proven = await this.#options.proven.get(id);
    return proven !== undefined && (await this.#options.cache.remove(proven.digest));
  }

  async #openProven(proven: ProvenContent): Promise<Opened | undefined> {
    const found = await this.#options.cache.open(proven);
    if (found === undefined) return undefined;
    if ('reader' in found) return { ...fromCache(proven), reader: found.reader };
    return { ...fromCache(proven), pieces: [found.bytes] };
  }
}
