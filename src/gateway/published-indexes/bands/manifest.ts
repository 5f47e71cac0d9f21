/** `manifest.json` of a band: which partition files it has and what they cover. */

import { FormatError } from '../../../formats/format-error.ts';
import { isCount, tryParseJson } from '../../../formats/json.ts';
import { ownMembers } from '../names.ts';

export const manifestName = 'manifest.json';
export const maxManifestBytes = 10 * 1024 * 1024;
const partitionFile = /^[0-9a-f]{2}\.cdb$/;

export interface Partition {
  /** First byte of every key, two hex digits. */
  readonly prefix: string;
  readonly filename: string;
  readonly recordCount: number;
  readonly size: number;
}

export interface BandManifest {
  readonly createdAt: string;
  readonly totalRecords: number;
  readonly partitions: readonly Partition[];
  readonly metadata: Readonly<Record<string, unknown>>;
}

export function encodeManifest(manifest: BandManifest): Buffer {
  const { createdAt, totalRecords, metadata } = manifest;
  const partitions = manifest.partitions.map(({ prefix, filename, recordCount, size }) => ({
    prefix,
    location: { type: 'file', filename },
    recordCount,
    size,
  }));
  return Buffer.from(JSON.stringify({ version: 1, createdAt, totalRecords, partitions, metadata }, null, 2));
}

/** Strict: files beside the manifest only, never an address elsewhere. Throws `FormatError`. */
export function parseManifest(bytes: Buffer): BandManifest {
  if (bytes.length > maxManifestBytes) throw new FormatError('the manifest is too large');
  const value = tryParseJson(bytes.toString('utf8'));
  if (value === undefined) throw new FormatError('the manifest is not JSON');
  const { version, createdAt, totalRecords, partitions, metadata = {} } = members(value);
  if (version !== 1 || typeof createdAt !== 'string')
    throw new FormatError('the manifest has another version');
  if (!Array.isArray(partitions) || partitions.length > 256)
    throw new FormatError('the manifest lists no partitions');
  const list = partitions.map(readPartition);
  for (const [index, { prefix }] of list.entries()) {
    if (index > 0 && prefix <= (list[index - 1]?.prefix ?? ''))
      throw new FormatError('partitions are not in order');
  }
  const total = list.reduce((sum, { recordCount }) => sum + recordCount, 0);
  if (totalRecords !== total) throw new FormatError('totalRecords is not the sum of the partitions');
  return { createdAt, totalRecords: total, partitions: list, metadata: members(metadata) };
}

function readPartition(value: unknown): Partition {
  const { prefix, location, recordCount, size } = members(value);
  const { type, filename } = members(location);
  if (type !== 'file' || typeof filename !== 'string' || !partitionFile.test(filename))
    throw new FormatError('a partition is not a file of the band');
  if (typeof prefix !== 'string' || filename !== `${prefix}.cdb`)
    throw new FormatError('a partition is not named after its prefix');
  if (!isCount(recordCount) || !isCount(size) || size < 1)
    throw new FormatError('a partition has no size or number of records');
  return { prefix, filename, recordCount, size };
}

export function heightRangeOf(manifest: BandManifest): readonly [number, number | null] | undefined {
  const range = manifest.metadata.heightRange;
  if (!Array.isArray(range) || range.length !== 2) return undefined;
  const [from, to] = range;
  return isCount(from) && (to === null || isCount(to)) ? [from, to] : undefined;
}

/** In the metadata of a band whose publisher wanted it to have fewer records than those it replaces. */
export const fewerMark = 'fewer';

export function isMeantToHaveFewer(metadata: Readonly<Record<string, unknown>> | undefined): boolean {
  return metadata?.[fewerMark] === true;
}

/** Ids of the bands that this one replaces. */
export function supersededBy(metadata: Readonly<Record<string, unknown>> | undefined): string[] {
  const { supersedes } = metadata ?? {};
  const ids = Array.isArray(supersedes) ? supersedes : [supersedes];
  return ids.filter((id) => typeof id === 'string');
}

function members(value: unknown): Readonly<Record<string, unknown>> {
  return ownMembers(value, 'the manifest is not made as it should be');
}
