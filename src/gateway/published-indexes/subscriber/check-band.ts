/** Proves that a downloaded band is what its kind demands before anything uses it. */
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { checkCdb64 } from '../../../formats/cdb64/check.ts';
import { decodeRootEntry } from '../../../formats/cdb64/root-entry.ts';
import { FormatError } from '../../../formats/format-error.ts';
import { manifestName, maxManifestBytes, parseManifest } from '../bands/manifest.ts';
import { readBounded } from '../files.ts';
import type { Band } from '../publication/document.ts';

export async function checkRootBand(folder: string, band: Band): Promise<void> {
  const bytes = await readBounded(join(folder, manifestName), maxManifestBytes);
  if (bytes === undefined) throw new FormatError('the band has no manifest');
  const { partitions, totalRecords } = parseManifest(bytes);
  const named = [manifestName, ...partitions.map(({ filename }) => filename)].sort();
  const found = (await readdir(folder)).sort();
  if (
    named.join('\n') !== found.join('\n') ||
    found.join('\n') !==
      band.files
        .map(({ name }) => name)
        .sort()
        .join('\n')
  )
    throw new FormatError('the manifest names other files than the publication');
  if (band.records !== undefined && band.records !== totalRecords)
    throw new FormatError('the manifest counts other records than the publication');
  for (const { filename, prefix, recordCount, size } of partitions) {
    const file = await open(join(folder, filename), 'r');
    try {
      if ((await file.stat()).size !== size) throw new FormatError(`${filename} has another size`);
      const records = await checkCdb64(file, size, {
        keyBytes: 32,
        prefix: Number.parseInt(prefix, 16),
        value: (value) => void decodeRootEntry(value),
      });
      if (records !== recordCount) throw new FormatError(`${filename} has another number of records`);
    } finally {
      await file.close();
    }
  }
}
