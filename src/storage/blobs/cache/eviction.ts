/**
 * Which blobs to keep within a budget of bytes: S3-FIFO (Yang et al., SOSP 2023), weighed by size.
 *
 * A blob enters a small queue, a tenth of the budget; one that was asked for again by the time it reaches the
 * end moves to the main queue, the others leave. So a crawler that reads everything once passes through the
 * small queue and leaves the main one alone. Names of blobs that left are remembered a while: one that comes
 * back goes to the main queue at once. There, a blob that was asked for gets another round.
 */

interface Entry {
  readonly digest: string;
  readonly size: number;
  uses: number;
  queue: Queue;
  newer: Entry | undefined;
  older: Entry | undefined;
}

const maxUses = 3;
const smallShare = 0.1;

export class Eviction {
  readonly #maxBytes: number;
  readonly #maxEntries: number;
  readonly #entries = new Map<string, Entry>();
  readonly #small = new Queue();
  readonly #main = new Queue();
  readonly #departed: Departed;

  /** Memory is some 250 bytes per entry. */
  constructor(maxBytes: number, maxEntries: number) {
    this.#maxBytes = maxBytes;
    this.#maxEntries = maxEntries;
    this.#departed = new Departed(Math.min(maxEntries, 65_536));
  }

  get bytes(): number {
    return this.#small.bytes + this.#main.bytes;
  }

  get count(): number {
    return this.#entries.size;
  }

  /** Notes that it was asked for once more; answers whether it is known. */
  use(digest: string): boolean {
    const entry = this.#entries.get(digest);
    if (entry !== undefined && entry.uses < maxUses) entry.uses += 1;
    return entry !== undefined;
  }

  /** Takes a blob in and answers those that must go for it; `proven` ones go to the main queue. */
  add(digest: string, size: number, proven = false): string[] {
    const present = this.#entries.get(digest);
    if (present?.size === size) return [];
    if (present !== undefined) this.remove(digest);
    const evicted: string[] = [];
    while (
      this.#entries.size > 0 &&
      (this.bytes + size > this.#maxBytes || this.#entries.size >= this.#maxEntries)
    ) {
      const gone = this.#evict();
      if (gone !== undefined) evicted.push(gone);
    }
    const queue = proven || this.#departed.take(digest) ? this.#main : this.#small;
    const entry: Entry = { digest, size, uses: 0, queue, newer: undefined, older: undefined };
    this.#entries.set(digest, entry);
    queue.push(entry);
    return evicted;
  }

  remove(digest: string): boolean {
    const entry = this.#entries.get(digest);
    if (entry === undefined) return false;
    entry.queue.take(entry);
    return this.#entries.delete(digest);
  }

  /** Looks at one entry: it leaves and is named, or stays for now. */
  #evict(): string | undefined {
    const fromSmall = this.#small.bytes > this.#maxBytes * smallShare || this.#main.oldest === undefined;
    const entry = fromSmall ? this.#small.oldest : this.#main.oldest;
    if (entry === undefined) return undefined;
    entry.queue.take(entry);
    if (entry.uses > (fromSmall ? 1 : 0)) {
      entry.uses = fromSmall ? 0 : entry.uses - 1;
      entry.queue = this.#main;
      this.#main.push(entry);
      return undefined;
    }
    this.#entries.delete(entry.digest);
    if (fromSmall) this.#departed.add(entry.digest);
    return entry.digest;
  }
}

/** A first-in first-out list from whose middle entries can be taken. */
class Queue {
  bytes = 0;
  oldest: Entry | undefined;
  #newest: Entry | undefined;

  push(entry: Entry): void {
    entry.older = this.#newest;
    entry.newer = undefined;
    if (this.#newest === undefined) this.oldest = entry;
    else this.#newest.newer = entry;
    this.#newest = entry;
    this.bytes += entry.size;
  }

  take(entry: Entry): void {
    if (entry.older === undefined) this.oldest = entry.newer;
    else entry.older.newer = entry.newer;
    if (entry.newer === undefined) this.#newest = entry.older;
    else entry.newer.older = entry.older;
    entry.older = undefined;
    entry.newer = undefined;
    this.bytes -= entry.size;
  }
}

/** The names of the last blobs that left. */
class Departed {
  readonly #ring: (string | undefined)[];
  readonly #names = new Set<string>();
  #next = 0;

  constructor(size: number) {
    this.#ring = new Array(size);
  }

  add(name: string): void {
    const forgotten = this.#ring[this.#next];
    if (forgotten !== undefined) this.#names.delete(forgotten);
    this.#ring[this.#next] = name;
    this.#names.add(name);
    this.#next = (this.#next + 1) % this.#ring.length;
  }

  take(name: string): boolean {
    return this.#names.delete(name);
  }
}
