/** Writes a CDB64 file: records as they come, then the tables. Memory is bounded whatever their number. */
import {
  hashKey,
  headerBytes,
  maxKeyBytes,
  maxValueBytes,
  recordHeadBytes,
  tableCount,
  type WritableFile,
  writeFully,
} from './layout.ts';
import type { EachHash } from './tables.ts';
import { encodeHeader, hashesOnFile, makeTables } from './tables.ts';

const bufferBytes = 256 * 1024;

/** 16 bytes per record: 64 MiB. */
const maxRecords = 4 * 1024 * 1024;
const wordsPerRecord = 4;

/** The hashes of the records written so far, as long as they fit: tables are then made without reading the file again. */
class RecordHashes {
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

export class Cdb64Writer {
  readonly #file: WritableFile;
  readonly #buffer = Buffer.allocUnsafe(bufferBytes);
  readonly #view = new DataView(this.#buffer.buffer, this.#buffer.byteOffset, bufferBytes);
  readonly #hash = new Uint32Array(2);
  readonly #hashes = new RecordHashes();
  readonly #counts: number[] = new Array<number>(tableCount).fill(0);
  /** Where the buffer's first byte belongs in the file. */
  #position = headerBytes;
  #used = 0;
  records = 0;

  /** The file must be open for reading and writing, and empty. */
  constructor(file: WritableFile) {
    this.#file = file;
  }

  /** Adds a record; of several with one key the first is found. Await what it answers before the next call. */
  add(key: Uint8Array, value: Uint8Array): Promise<void> | undefined {
    if (key.length > maxKeyBytes || value.length > maxValueBytes)
      throw new RangeError('the record is too large');
    if (this.#used + recordHeadBytes + key.length + value.length > bufferBytes) {
      return this.#flush().then(() => this.#put(key, value));
    }
    this.#put(key, value);
    return undefined;
  }

  /** Writes tables and header; answers the size of the file. */
  async finish(): Promise<number> {
    await this.#flush();
    const recordsEnd = this.#position;
    const { header, size } = encodeHeader(this.#counts, recordsEnd);
    let position = recordsEnd;
    const hashes = this.#hashes.byTable(this.#counts) ?? hashesOnFile(this.#file, recordsEnd);
    await makeTables(this.#counts, hashes, async (bytes) => {
      await writeFully(this.#file, bytes, bytes.length, position);
      position += bytes.length;
    });
    await writeFully(this.#file, header, header.length, 0);
    return size;
  }

  #put(key: Uint8Array, value: Uint8Array): void {
    const at = this.#used;
    const start = at + recordHeadBytes;
    this.#view.setUint32(at, key.length, true);
    this.#view.setUint32(at + 4, 0, true);
    this.#view.setUint32(at + 8, value.length, true);
    this.#view.setUint32(at + 12, 0, true);
    this.#buffer.set(key, start);
    this.#buffer.set(value, start + key.length);
    this.#used = start + key.length + value.length;
    hashKey(this.#hash, key, 0, key.length);
    const low = this.#hash[0]!;
    const table = low & 0xff;
    this.#counts[table] = this.#counts[table]! + 1;
    this.#hashes.add(low, this.#hash[1]!, this.#position + at);
    this.records += 1;
  }

  async #flush(): Promise<void> {
    await writeFully(this.#file, this.#buffer, this.#used, this.#position);
    this.#position += this.#used;
    this.#used = 0;
  }
}
