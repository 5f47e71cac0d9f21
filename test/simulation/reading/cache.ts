/** A cache of content as processes have it on their disk: it may be away, lose and spoil, and says so of what it opens. */
import { BlobDamaged, type BlobDigest, type BlobReader } from '../../../src/storage/blobs/blobs.ts';
import type { BlobCache } from '../../../src/storage/blobs/cache/cache.ts';
import type { SimulatedBlobs } from '../blobs.ts';

/** The cache as the code of the running process sees it. What is damaged is removed, reported and absent, never served. */
export function openCache(blobs: SimulatedBlobs): BlobCache {
  const store = blobs.open();
  const listeners: ((digest: BlobDigest) => void)[] = [];
  const damaged = (digest: BlobDigest): BlobDamaged => {
    blobs.lose(digest);
    for (const listener of listeners) listener(digest);
    return new BlobDamaged(digest);
  };
  return {
    ...store,
    async open(digest) {
      const reader = await store.open(digest);
      if (reader === undefined || (await blobs.isSound(reader)))
        return reader && checked(blobs, reader, damaged);
      damaged(digest);
      return undefined;
    },
    scrubbed: { namesAfter: async function* () {}, inspect: async () => undefined },
    scanned: Promise.resolve(),
    statistics: () => ({ bytes: 0, entries: blobs.count, hits: 0, misses: 0, evictions: 0 }),
    onDamaged: (listener) => void listeners.push(listener),
  };
}

/** Looks again when everything was read: a file may be changed meanwhile. */
function checked(
  blobs: SimulatedBlobs,
  reader: BlobReader,
  damaged: (digest: BlobDigest) => BlobDamaged,
): BlobReader {
  const check = async (): Promise<void> => {
    if (!(await blobs.isSound(reader))) throw damaged(reader.digest);
  };
  return {
    ...reader,
    async *stream(start, end) {
      let last: Buffer | undefined;
      for await (const piece of reader.stream(start, end)) {
        if (last !== undefined) yield last;
        last = piece;
      }
      await check();
      if (last !== undefined) yield last;
    },
    async read(target, position) {
      const count = await reader.read(target, position);
      await check();
      return count;
    },
    check,
  };
}
