/**
 * Small parts of large content that are asked for again and again, the header of a film or the index of an archive,
 * in memory: a read from a file costs two changes of thread, which is most of a small answer.
 */
import { LRUCache } from 'lru-cache';
import type { Span } from '../../kernel/http/byte-ranges.ts';
import type { BlobReader } from '../../storage/blobs/blobs.ts';

const blockBytes = 16 * 1024;
const budget = 8 * 1024 * 1024;

export class BlockCache {
  readonly #blocks = new LRUCache<string, Buffer>({
    maxSize: budget,
    sizeCalculation: (block) => block.length + 256,
  });

  /** Whether parts of that length are kept at all. */
  takes({ start, end }: Span): boolean {
    return end - start <= blockBytes;
  }

  /** The part, if all of it is in memory. `hash` is of the whole content. */
  find(hash: string, span: Span): Buffer | undefined {
    const first = this.#blocks.get(keyOf(hash, span.start));
    if (first === undefined) return undefined;
    const from = span.start % blockBytes;
    if (from + span.end - span.start <= blockBytes) return first.subarray(from, from + span.end - span.start);
    const second = this.#blocks.get(keyOf(hash, span.end - 1));
    return (
      second && Buffer.concat([first.subarray(from), second.subarray(0, span.end % blockBytes || blockBytes)])
    );
  }

  /** Reads the part, and keeps the blocks it lies in. */
  async read(reader: BlobReader, hash: string, span: Span): Promise<Buffer> {
    const found = this.find(hash, span);
    if (found !== undefined) return found;
    const start = span.start - (span.start % blockBytes);
    const end = Math.min(reader.size, Math.ceil(span.end / blockBytes) * blockBytes);
    const bytes = Buffer.allocUnsafeSlow(end - start);
    if ((await reader.read(bytes, start)) !== bytes.length) throw new Error('a cached file is cut short');
    for (let at = 0; at < bytes.length; at += blockBytes) {
      this.#blocks.set(keyOf(hash, start + at), bytes.subarray(at, at + blockBytes));
    }
    return bytes.subarray(span.start - start, span.end - start);
  }

  clear(): void {
    this.#blocks.clear();
  }
}

function keyOf(hash: string, position: number): string {
  return `${hash}${Math.floor(position / blockBytes)}`;
}
