/** Writes a CDB64 file: records as they come, then the tables. Memory is bounded whatever their number. */
import {
  hashKey,
  headerBytes,
  maxKeyBytes,
  maxValueBytes,
  putUint64,
  recordHeadBytes,
  tableCount,
  type WritableFile,
  writeFully,
} from './layout.ts';
import { encodeHeader, makeTables } from './tables.ts';

const bufferBytes = 1024 * 1024;

export class Cdb64Writer {
  readonly #file: WritableFile;
  readonly #buffer = Buffer.allocUnsafe(bufferBytes);
  readonly #hash = new Uint32Array(2);
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
    await makeTables(this.#file, this.#counts, recordsEnd, async (bytes) => {
      await writeFully(this.#file, bytes, bytes.length, position);
      position += bytes.length;
    });
    await writeFully(this.#file, header, header.length, 0);
    return size;
  }

  #put(key: Uint8Array, value: Uint8Array): void {
    const buffer = this.#buffer;
    const at = this.#used;
    putUint64(buffer, at, key.length);
    putUint64(buffer, at + 8, value.length);
    buffer.set(key, at + recordHeadBytes);
    buffer.set(value, at + recordHeadBytes + key.length);
    this.#used = at + recordHeadBytes + key.length + value.length;
    hashKey(this.#hash, key, 0, key.length);
    const table = this.#hash[0]! & 0xff;
    this.#counts[table] = this.#counts[table]! + 1;
    this.records += 1;
  }

  async #flush(): Promise<void> {
    await writeFully(this.#file, this.#buffer, this.#used, this.#position);
    this.#position += this.#used;
    this.#used = 0;
  }
}
