/** What a band has and its successor has not: who relied on the first would not find it any more. */
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { walkKeys } from '../../../formats/cdb64/keys.ts';
import type { Partition } from './manifest.ts';

export interface BandFiles {
  readonly folder: string;
  readonly partitions: readonly Partition[];
}

/** Keys of `before` that `after` has not, by partition: of one partition all keys are in memory. */
export async function* lostKeys(before: BandFiles, after: BandFiles): AsyncGenerator<Buffer[]> {
  const files = new Map(after.partitions.map(({ prefix, filename }) => [prefix, filename]));
  for (const { prefix, filename } of before.partitions) {
    const kept = new Set<string>();
    const successor = files.get(prefix);
    if (successor !== undefined)
      await eachKey(join(after.folder, successor), (key) => kept.add(key.toString('latin1')));
    const lost: Buffer[] = [];
    await eachKey(join(before.folder, filename), (key) => {
      if (!kept.has(key.toString('latin1'))) lost.push(Buffer.from(key));
    });
    if (lost.length > 0) yield lost;
  }
}

async function eachKey(path: string, visit: (key: Buffer) => void): Promise<void> {
  const file = await open(path, 'r');
  try {
    await walkKeys(file, visit);
  } finally {
    await file.close();
  }
}
