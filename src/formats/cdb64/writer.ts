/** Writes a CDB64 file: records as they come, then the tables. Memory is bounded whatever their number. */
import { HashMemory } from './hash-memory.ts';
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
import { encodeHeader, hashesOnFile, makeTables } from './tables.ts';

const bufferBytes = 256 * 1024;

export class Cdb64Writer {
  readonly #file: WritableFile;
  readonly #buffer = Buffer.allocUnsafe(bufferBytes);
  readonly #view = new DataView(this.#buffer.buffer, this.#buffer.byteOffset, bufferBytes);
  readonly #hash = new Uint32Array(2);
  readonly #memory = new HashMemory();
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
    const hashes = this.#memory.byTable(this.#counts) ?? hashesOnFile(this.#file, recordsEnd);
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
    this.#memory.add(low, this.#hash[1]!, this.#position + at);
    this.records += 1;
  }

  async #flush(): Promise<void> {
    await writeFully(this.#file, this.#buffer, this.#used, this.#position);
    this.#position += this.#used;
    this.#used = 0;
  }
}
