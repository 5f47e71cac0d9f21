/** Copying blobs between a store and a backup: what is there already is not copied again, and what is copied is proven. */
import { BlobDamaged, type BlobStore } from '../blobs/blobs.ts';
import type { StoredPart } from './manifest.ts';
import { linesOf, readPart } from './stored-bytes.ts';

const atOnce = 16;

export interface CopyReport {
  readonly copied: StoredPart[];
  /** Those of the list that the other store has in the end. */
  readonly present: StoredPart[];
  /** Not in the source, or damaged there. */
  readonly missing: string[];
}

/** `progress`: told after each, with its size. */
export async function copyBlobs(
  digests: readonly string[],
  from: BlobStore,
  to: BlobStore,
  progress: (bytes: number) => void = () => {},
): Promise<CopyReport> {
  const report: CopyReport = { copied: [], present: [], missing: [] };
  const next = digests.values();
  const worker = async (): Promise<void> => {
    for (const digest of next) progress(await copyBlob(digest, from, to, report));
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return report;
}

async function copyBlob(digest: string, from: BlobStore, to: BlobStore, report: CopyReport): Promise<number> {
  const [there, size] = await Promise.all([to.size(digest), from.size(digest)]);
  if (there !== undefined && (size === undefined || size === there)) {
    report.present.push({ digest, size: there });
    return there;
  }
  const made = size === undefined ? undefined : await copied(digest, from, to);
  if (made === undefined) {
    report.missing.push(digest);
    return 0;
  }
  report.copied.push(made);
  report.present.push(made);
  return made.size;
}

/** Undefined where the source has other bytes than the name says. */
async function copied(digest: string, from: BlobStore, to: BlobStore): Promise<StoredPart | undefined> {
  const writer = await to.writer();
  try {
    const reader = await from.open(digest);
    if (reader === undefined) {
      await writer.abort();
      return undefined;
    }
    try {
      for await (const piece of reader.stream()) await writer.write(piece);
    } finally {
      await reader.close();
    }
    return await writer.commit(async (found) => {
      if (found !== digest) throw new BlobDamaged(digest);
    });
  } catch (error) {
    await writer.abort();
    if (error instanceof BlobDamaged) return undefined;
    throw error;
  }
}

/** The list of blobs as a backup has it. */
export const writeList = (blobs: readonly StoredPart[]): Buffer =>
  Buffer.from(
    [...blobs]
      .sort((a, b) => (a.digest < b.digest ? -1 : 1))
      .map(({ digest, size }) => `${digest} ${size}\n`)
      .join(''),
  );

export async function readList(store: BlobStore, list: StoredPart): Promise<StoredPart[]> {
  const blobs: StoredPart[] = [];
  for await (const line of linesOf(readPart(store, list))) {
    const [digest = '', size] = line.split(' ');
    blobs.push({ digest, size: Number(size) });
  }
  return blobs;
}
