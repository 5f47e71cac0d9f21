/**
 * A list that comes page by page behind cursors, so that a row can be had only after all before it: it is told which rows
 * are looked at and asks for pages until those are there. Bounded: beyond its end one narrows the list.
 */

export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly next: string | undefined;
}

export type ReadPage<Row> = (
  size: number,
  after: string | undefined,
  signal: AbortSignal,
) => Promise<Page<Row>>;

export const maxRows = 100_000;
/** A screen or two at first, so that something is there at once. */
const firstPage = 50;
/** While pages come one after the other. */
const tellEveryMs = 400;
/** Somebody who scrolls far wants many at once. */
const largePage = 1_000;

export class PagedList<Row extends { readonly id: string }> {
  readonly #read: ReadPage<Row>;
  readonly #changed: () => void;
  readonly #stop = new AbortController();
  readonly #rows: Row[] = [];
  #next: string | undefined;
  #hasMore = true;
  #wanted = 0;
  #isReading = false;
  #error: Error | undefined;

  /** `changed` is called when there is something to show anew. */
  constructor(read: ReadPage<Row>, changed: () => void) {
    this.#read = read;
    this.#changed = changed;
  }

  get rows(): readonly Row[] {
    return this.#rows;
  }

  get isReading(): boolean {
    return this.#isReading;
  }

  /** What the last page failed with; asking again tries again. */
  get error(): Error | undefined {
    return this.#error;
  }

  /** Whether there are rows behind those that are here, up to the bound. */
  get hasMore(): boolean {
    return this.#hasMore && this.#rows.length < maxRows;
  }

  rowAt(index: number): Row | undefined {
    return this.#rows[index];
  }

  /** Sees to it that this row is there, with some behind it. */
  want(index: number): void {
    this.#wanted = Math.min(Math.max(this.#wanted, index + 1), maxRows);
    if (!this.#isReading && this.#error === undefined) void this.#readOn();
  }

  /** Puts newer versions of rows that are here in their places; answers whether there were any. */
  update(rows: readonly Row[]): boolean {
    let isChanged = false;
    for (const row of rows) {
      const at = this.#rows.findIndex((known) => known.id === row.id);
      if (at === -1 || JSON.stringify(this.#rows[at]) === JSON.stringify(row)) continue;
      this.#rows[at] = row;
      isChanged = true;
    }
    return isChanged;
  }

  again(): void {
    this.#error = undefined;
    this.want(0);
  }

  stop(): void {
    this.#stop.abort();
  }

  async #readOn(): Promise<void> {
    this.#isReading = true;
    let told = 0;
    try {
      while (this.hasMore && this.#rows.length < this.#wanted) {
        const missing = this.#wanted - this.#rows.length;
        const size =
          this.#rows.length === 0 && missing <= firstPage
            ? firstPage
            : Math.min(largePage, Math.max(200, missing));
        const page = await this.#read(
          Math.min(size, maxRows - this.#rows.length),
          this.#next,
          this.#stop.signal,
        );
        if (this.#stop.signal.aborted) return;
        this.#rows.push(...page.rows);
        this.#next = page.next;
        // A page without a row would be asked for again and again.
        this.#hasMore = page.next !== undefined && page.rows.length > 0;
        if (Date.now() - told < tellEveryMs) continue;
        told = Date.now();
        this.#changed();
      }
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.#error = error instanceof Error ? error : new Error(String(error));
    } finally {
      this.#isReading = false;
    }
    this.#changed();
  }
}
