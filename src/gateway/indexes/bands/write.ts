/** Writes one band: partition files by first key byte, then the manifest, then one rename. */
import { createHash } from 'node:crypto';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalJson } from '../../../formats/canonical-json.ts';
import { Cdb64Writer } from '../../../formats/cdb64/index.ts';
import { digestFile, syncFolder, writeWhole } from '../files.ts';
import { encodeManifest, manifestName, type Partition } from './manifest.ts';
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
  /** Sorted by key. */
  readonly records: AsyncIterable<BandRecord>;
  readonly onRecord?: (count: number) => void;
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
    const metadata = {
      heightRange: plan.heightRange,
      contentSha256,
      ...(plan.supersedes.length > 0 && { supersedes: plan.supersedes }),
    };
    const digest = createHash('sha256')
      .update(`${contentSha256}${canonicalJson(metadata)}`)
      .digest('hex');
    const [from, to] = plan.heightRange;
    const id = `${plan.kind}-h${from}-${to ?? 'tip'}-${plan.tag}-${digest.slice(0, 12)}`;
    await writeWhole(
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
  const partitions: Partition[] = [];
  const content = createHash('sha256');
  let current: { prefix: number; file: FileHandle; writer: Cdb64Writer } | undefined;
  let count = 0;
  const finish = async () => {
    if (current === undefined) return;
    const { prefix, file, writer } = current;
    const hex = prefix.toString(16).padStart(2, '0');
    const filename = `${hex}.cdb`;
    const size = await writer.finish();
    await file.sync();
    await file.close();
    current = undefined;
    const { sha256 } = await digestFile(join(folder, filename));
    content.update(`${filename}\0${sha256}\n`);
    partitions.push({ prefix: hex, filename, recordCount: writer.records, size });
  };
  try {
    for await (const { key, value } of plan.records) {
      const prefix = key[0]!;
      if (current === undefined || current.prefix !== prefix) {
        if (current !== undefined && prefix < current.prefix) throw new Error('the records are not sorted');
        await finish();
        const file = await open(join(folder, `${prefix.toString(16).padStart(2, '0')}.cdb`), 'wx+');
        current = { prefix, file, writer: new Cdb64Writer(file) };
      }
      const waiting = current.writer.add(key, value);
      if (waiting !== undefined) await waiting;
      count += 1;
      if (count % 10_000 === 0) plan.onRecord?.(count);
    }
    await finish();
  } finally {
    await current?.file.close();
  }
  return { partitions, contentSha256: content.digest('hex') };
}
