/** Content by id: from memory, from the cache on disk, or from gateways; fetched once for all who ask together. */
import type { TxId } from '../../formats/base64url.ts';
import { type Expectation, knownExpectation } from './expectation.ts';
import type { Fetch } from './fetch.ts';
import type { Known, KnownStore } from './known.ts';
import { fromCache, type Opened } from './opened.ts';
import type { Shelf } from './shelf.ts';

export interface ContentOptions {
  readonly known: KnownStore;
  readonly shelf: Shelf;
  readonly fetch: Fetch;
  /** Told whether content was found in the cache. */
  readonly looked: (hit: boolean) => void;
}

/** Small content in memory, with what was proven of it. */
export interface AtHand {
  readonly known: Known;
  readonly bytes: Buffer;
}

export class Content {
  readonly #options: ContentOptions;
  readonly #fetching = new Map<TxId, Promise<Opened>>();

  constructor(options: ContentOptions) {
    this.#options = options;
  }

  /** Whether the disk takes what is to be kept. */
  get cacheUsable(): boolean {
    return this.#options.shelf.usable;
  }

  /** Small content that is in memory, without waiting. */
  atHand(id: TxId): AtHand | undefined {
    const known = this.#options.known.peek(id);
    const bytes = known === undefined ? undefined : this.#options.shelf.atHand(known.digest);
    return known === undefined || bytes === undefined ? undefined : { known, bytes };
  }

  /** What is known of an id without fetching it. */
  known(id: TxId): Promise<Known | undefined> {
    return this.#options.known.get(id);
  }

  async open(id: TxId): Promise<Opened> {
    const atHand = this.atHand(id);
    if (atHand !== undefined) {
      this.#options.looked(true);
      return { ...fromCache(atHand.known), pieces: [atHand.bytes] };
    }
    const known = await this.#options.known.get(id);
    const cached = known === undefined ? undefined : await this.#openKnown(known);
    this.#options.looked(cached !== undefined);
    if (cached !== undefined) return cached;
    const running = this.#fetching.get(id);
    if (running !== undefined) {
      const opened = await running;
      // Content that is not kept flows to one reader only.
      if (opened.download === undefined || opened.download.isKept) return opened;
      return await this.#options.fetch.open(id, known);
    }
    const fetching = this.#options.fetch.open(id, known);
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
  async underway(id: TxId, milliseconds: number): Promise<Known | undefined> {
    const opened = await this.#fetching.get(id)?.catch(() => undefined);
    if (opened?.download === undefined || opened.digest !== undefined) return undefined;
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, milliseconds).unref();
    await opened.download.whole(late).catch(() => {});
    clearTimeout(timer);
    return await this.#options.known.get(id);
  }

  /** What the bytes would be, for those who only ask about them; undefined where nobody can tell. */
  async describe(id: TxId): Promise<Expectation | undefined> {
    const known = await this.#options.known.get(id);
    if (known !== undefined) return knownExpectation(known);
    const search = this.#options.fetch.search(id);
    search.begin(undefined);
    return await search.settle(undefined);
  }

  /** Takes content out of the cache. True when it was there. */
  async purge(id: TxId): Promise<boolean> {
    const known = await this.#options.known.get(id);
    return known !== undefined && (await this.#options.shelf.remove(known.digest));
  }

  /** Resolves when what is on its way to the disk is there. */
  settled(): Promise<void> {
    return this.#options.shelf.settled();
  }

  async #openKnown(known: Known): Promise<Opened | undefined> {
    const found = await this.#options.shelf.open(known);
    if (found === undefined) return undefined;
    if ('reader' in found) return { ...fromCache(known), reader: found.reader };
    return { ...fromCache(known), pieces: [found.bytes] };
  }
}
