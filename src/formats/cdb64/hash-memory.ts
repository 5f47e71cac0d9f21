/** The hashes of the records written so far, as long as they fit: tables are then made without reading the file again. */
import { tableCount } from './layout.ts';
import type { EachHash } from './tables.ts';

/** 16 bytes per record: 64 MiB. */
const maxRecords = 4 * 1024 * 1024;
const wordsPerRecord = 4;

export class HashMemory {
  #words = new Uint32Array(1024 * wordsPerRecord);
  #records = 0;
  #forgotten = false;

  add(low: number, high: number, position: number): void {
    if (this.#forgotten) return;
    const at = this.#records * wordsPerRecord;
    if (at === this.#words.length && !this.#grow()) return;
    this.#words[at] = low;
    this.#words[at + 1] = high;
    this.#words[at + 2] = position;
    this.#words[at + 3] = position / 2 ** 32;
    this.#records += 1;
  }

  /** Sorted by table, so that neighbours fall into one piece of memory; undefined when there were too many. */
  byTable(counts: readonly number[]): EachHash | undefined {
    if (this.#forgotten) return undefined;
    const words = this.#words;
    const starts = new Uint32Array(tableCount + 1);
    for (let table = 0; table < tableCount; table += 1)
      starts[table + 1] = starts[table]! + (counts[table] ?? 0);
    const next = starts.slice();
    const order = new Uint32Array(this.#records);
    for (let record = 0; record < this.#records; record += 1) {
      const table = words[record * wordsPerRecord]! & 0xff;
      order[next[table]!] = record;
      next[table] = next[table]! + 1;
    }
    return (first, last, visit) => {
      const end = starts[last + 1]!;
      for (let at = starts[first]!; at < end; at += 1) {
        const record = order[at]! * wordsPerRecord;
        visit(words[record]!, words[record + 1]!, words[record + 2]! + words[record + 3]! * 2 ** 32);
      }
    };
  }

  #grow(): boolean {
    if (this.#records >= maxRecords) {
      this.#forgotten = true;
      this.#words = new Uint32Array(0);
      return false;
    }
    const larger = new Uint32Array(this.#words.length * 2);
    larger.set(this.#words);
    this.#words = larger;
    return true;
  }
}
