/** Writes one band: partition files by first key byte, then the manifest, then one rename. */
import { createHash } from 'node:crypto';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalJson } from '../../../formats/canonical-json.ts';
import { Cdb64Writer } from '../../../formats/cdb64/writer.ts';
import { syncFolder, writeFileDurably } from '../../../kernel/files.ts';
import { digestFile } from '../files.ts';
import type { BandFiles } from './lost-keys.ts';
import { encodeManifest, fewerMark, manifestName, type Partition } from './manifest.ts';
import type { BandRecord } from './source.ts';
import { folderNames } from './stored.ts';

export interface BandPlan {
  readonly indexFolder: string;
  readonly heightRange: readonly [number, number | null];
  /** `h` for a closed range, `d` for the one at the tip. */
  readonly kind: 'h' | 'd';
  /** Marks the publisher, so that two never name different content alike. */
  readonly tag: string;
  readonly supersedes: readonly string[];
  /** Bands with this range that are there already: equal content is not written again. */
  readonly existing: readonly { readonly id: string; readonly contentSha256: unknown }[];
  /** From the chain, not the clock: equal content gives equal files. */
  readonly createdAt: string;
  /** Sorted by key, some thousands at a time. */
  readonly records: AsyncIterable<readonly BandRecord[]>;
  readonly onRecord?: (count: number) => void;
  /**
   * Whether records of the bands that it replaces are lost in the new one, which it then says of itself. Throws where
   * that may not be: then nothing is written.
   */
  readonly losesRecords?: (written: BandFiles) => Promise<boolean>;
}

/** What a build that died left. Only for who holds the lock of building. */
export async function removeScratch(indexFolder: string): Promise<void> {
  for (const name of await folderNames(indexFolder))
    if (scratchName.test(name)) await rm(join(indexFolder, name), { recursive: true, force: true });
}

const scratchName = /^\.build-\d+\.tmp$/;

/** The id of the band that now holds the content; `written` is false when it was there before. */
export async function writeBand(plan: BandPlan): Promise<{ id: string; records: number; written: boolean }> {
  await mkdir(plan.indexFolder, { recursive: true });
  const scratch = join(plan.indexFolder, `.build-${process.pid}.tmp`);
  await rm(scratch, { recursive: true, force: true });
  await mkdir(scratch);
  try {
    const { partitions, contentSha256 } = await writePartitions(scratch, plan);
    const records = partitions.reduce((sum, { recordCount }) => sum + recordCount, 0);
    const same = plan.existing.find((band) => band.contentSha256 === contentSha256);
    if (same !== undefined) return { id: same.id, records, written: false };
    const isFewer = (await plan.losesRecords?.({ folder: scratch, partitions })) === true;
    const metadata = {
      heightRange: plan.heightRange,
      contentSha256,
      ...(plan.supersedes.length > 0 && { supersedes: plan.supersedes }),
      ...(isFewer && { [fewerMark]: true }),
    };
    const digest = createHash('sha256')
      .update(`${contentSha256}${canonicalJson(metadata)}`)
      .digest('hex');
    const [from, to] = plan.heightRange;
    const id = `${plan.kind}-h${from}-${to ?? 'tip'}-${plan.tag}-${digest.slice(0, 12)}`;
    await writeFileDurably(
      join(scratch, manifestName),
      encodeManifest({ createdAt: plan.createdAt, totalRecords: records, partitions, metadata }),
    );
    await rename(scratch, join(plan.indexFolder, id));
    await syncFolder(plan.indexFolder);
    return { id, records, written: true };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function writePartitions(
  folder: string,
  plan: BandPlan,
): Promise<{ partitions: Partition[]; contentSha256: string }> {
  const finishing = new Finishing();
  let current: OpenPartition | undefined;
  let count = 0;
  try {
    for await (const records of plan.records) {
      for (const { key, value } of records) {
        const prefix = key[0]!;
        if (current === undefined || current.prefix !== prefix) {
          if (current !== undefined && prefix < current.prefix) throw new Error('the records are not sorted');
          const done: OpenPartition | undefined = current;
          current = undefined;
          if (done !== undefined) await finishing.add(folder, done);
          current = await openPartition(folder, prefix);
        }
        const waiting = current.writer.add(key, value);
        if (waiting !== undefined) await waiting;
      }
      count += records.length;
      plan.onRecord?.(count);
    }
    if (current !== undefined) await finishing.add(folder, current);
    current = undefined;
    const files = (await finishing.all()).sort((a, b) => (a.prefix < b.prefix ? -1 : 1));
    const content = createHash('sha256');
    for (const { filename, sha256 } of files) content.update(`${filename}\0${sha256}\n`);
    const partitions = files.map(({ sha256: _, ...partition }) => partition);
    return { partitions, contentSha256: content.digest('hex') };
  } finally {
    await finishing.settled();
    await current?.file.close();
  }
}

interface OpenPartition {
  readonly prefix: number;
  readonly filename: string;
  readonly file: FileHandle;
  readonly writer: Cdb64Writer;
}

async function openPartition(folder: string, prefix: number): Promise<OpenPartition> {
  const filename = `${hex(prefix)}.cdb`;
  const file = await open(join(folder, filename), 'wx+');
  return { prefix, filename, file, writer: new Cdb64Writer(file) };
}

/** Partitions that get their tables, are synced and hashed while the next ones are written. */
class Finishing {
  readonly #running = new Set<Promise<unknown>>();
  readonly #files: (Partition & { readonly sha256: string })[] = [];
  #failure: unknown;

  /** Waits for a place; throws what an earlier one failed with. */
  async add(folder: string, partition: OpenPartition): Promise<void> {
    const running: Promise<void> = this.#finish(folder, partition)
      .catch((error: unknown) => {
        this.#failure ??= error ?? new Error('a partition failed');
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
    if (this.#running.size >= finishingAtOnce) await Promise.race(this.#running);
    if (this.#failure !== undefined) throw this.#failure;
  }

  async all(): Promise<(Partition & { readonly sha256: string })[]> {
    await this.settled();
    if (this.#failure !== undefined) throw this.#failure;
    return this.#files;
  }

  async settled(): Promise<void> {
    await Promise.all(this.#running);
  }

  async #finish(folder: string, { prefix, filename, file, writer }: OpenPartition): Promise<void> {
    let size: number;
    try {
      size = await writer.finish();
      await file.sync();
    } finally {
      await file.close();
    }
    const { sha256 } = await digestFile(join(folder, filename));
    this.#files.push({ prefix: hex(prefix), filename, recordCount: writer.records, size, sha256 });
  }
}

const finishingAtOnce = 4;

function hex(prefix: number): string {
  return prefix.toString(16).padStart(2, '0');
}
