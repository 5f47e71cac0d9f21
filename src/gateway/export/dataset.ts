/**
 * A folder of exports as one dataset. Its files lie in a version, and one link says which version is current:
 *
 *     manifest.json -> .current/manifest.json      blocks, transactions, tags -> .current/<table>
 *     .current -> .versions/<run>                  .versions/<run>.writing: what an export is writing
 *
 * An export writes what changes beside the current version, makes a new one of that and of hard links to the rest, and
 * moves the link: readers see the old files or the new ones, never both and never neither. Killed at any moment, it
 * leaves the old version current. The version before the current one stays until the next export begins, for those
 * who read it by its own name.
 */
import { link, lstat, mkdir, readdir, readFile, readlink, rename, rm, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { syncFolder, writeFileDurably } from '../../kernel/files.ts';
import { countPartitions, type Grid, gridFrom, type Heights, isSameGrid } from './grid.ts';
import {
  type DatasetManifest,
  gridOf,
  makeManifest,
  maxPartitions,
  type PartitionEntry,
  parseEntry,
  parseManifest,
} from './manifest.ts';
import { partitionFolder, type TableName, tableNames } from './tables.ts';
import { type ExportRequest, entriesFolder, heightsOf } from './write.ts';

/** The folder holds something that the export would not fit in with. In words for the operator. */
export class DatasetConflict extends Error {
  override readonly name = 'DatasetConflict';
}

const versionsName = '.versions';
const currentName = '.current';
const manifestName = 'manifest.json';
const writingSuffix = '.writing';
/** Marks of finished partitions in folders of earlier releases. */
const earlierMarks = '.done';

export interface Dataset {
  readonly folder: string;
  readonly manifest: DatasetManifest | undefined;
  /** Partitions in the layout of earlier releases, which nothing supersedes yet. */
  readonly earlier: readonly Heights[];
}

/** A version that is being written. */
export interface OpenVersion {
  readonly runId: string;
  readonly grid: Grid;
  readonly folder: string;
}

/** Reads what is there and changes nothing. */
export async function readDataset(folder: string): Promise<Dataset> {
  await expectFolder(folder, versionsName);
  const version = await currentVersion(folder);
  await expectLink(folder, manifestName, join(currentName, manifestName));
  const earlier: Heights[] = [];
  for (const table of tableNames) earlier.push(...(await earlierPartitions(folder, table)));
  if (version === undefined) return { folder, manifest: undefined, earlier };
  const path = join(folder, versionsName, version, manifestName);
  const manifest = parseManifest(await readFile(path, 'utf8').catch(() => ''));
  if (manifest === undefined) {
    throw new DatasetConflict(`${path} cannot be read, or is of another release: use another folder`);
  }
  const partitions: PartitionEntry[] = [];
  for (const entry of manifest.partitions) {
    // What somebody took away is not in the dataset any more, and is written again when it is asked for.
    if (await hasFiles(join(folder, versionsName, version), entry)) partitions.push(entry);
  }
  const origin = { version, folder: join(versionsName, version), grid: gridOf(manifest) };
  return { folder, manifest: makeManifest(origin, partitions), earlier: [] };
}

/** Throws where the export would not fit in with what is there. */
export function checkFit({ manifest, earlier }: Dataset, request: ExportRequest): void {
  const grid = requestGrid(request);
  const heights = heightsOf(request);
  if (manifest !== undefined && !isSameGrid(gridOf(manifest), grid)) {
    const { origin, size } = gridOf(manifest);
    throw new DatasetConflict(
      `the folder holds partitions of ${size} heights from ${origin} on: start at a multiple of ${size} from there ` +
        `with heightPartitionSize ${size}, or use another folder`,
    );
  }
  const kept = (manifest?.partitions ?? []).filter(
    ({ from }) => from < heights.from || from > heights.to,
  ).length;
  if (kept + countPartitions(grid, heights) > maxPartitions) {
    throw new DatasetConflict(`a dataset has at most ${maxPartitions} partitions: make them larger`);
  }
  const outside = earlier.find(({ from, to }) => from < heights.from || to > heights.to);
  if (outside !== undefined) {
    throw new DatasetConflict(
      `the folder holds height=${outside.from}-${outside.to} of an earlier release, which this export does not ` +
        'cover: export all heights that are in it, or use another folder',
    );
  }
}

function requestGrid({ startHeight, heightPartitionSize }: ExportRequest): Grid {
  return gridFrom(startHeight, heightPartitionSize);
}

/** Room for what an export writes. One that resumes goes on with what a killed one left. */
export async function openVersion(
  { folder, manifest }: Dataset,
  request: ExportRequest,
  runId: string,
): Promise<OpenVersion> {
  const versions = join(folder, versionsName);
  await mkdir(versions, { recursive: true });
  const found = (await readdir(versions, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1));
  const left = request.resume
    ? found.findLast((entry) => entry.isDirectory() && entry.name.endsWith(writingSuffix))?.name
    : undefined;
  for (const { name } of found) {
    if (name === manifest?.version || name === left) continue;
    await rm(join(versions, name), { recursive: true, force: true });
  }
  const writing = join(versions, left ?? `${runId}${writingSuffix}`);
  await mkdir(writing, { recursive: true });
  return { runId, grid: requestGrid(request), folder: writing };
}

/** What is finished of a version: partitions whose entries and files are whole. */
export async function finishedEntries({ folder, grid }: OpenVersion): Promise<PartitionEntry[]> {
  const entries: PartitionEntry[] = [];
  const path = join(folder, entriesFolder);
  for (const name of await readdir(path).catch(() => [])) {
    if (!name.endsWith('.json')) continue;
    const entry = parseEntry(await readFile(join(path, name), 'utf8'), grid);
    if (entry !== undefined && (await hasFiles(folder, entry))) entries.push(entry);
  }
  return entries;
}

/**
 * Makes what is finished current, together with what the dataset has besides. Answers what is current then. Where an
 * earlier release's partitions are not all covered yet nothing changes, and the next export that resumes goes on.
 */
export async function publishVersion(
  dataset: Dataset,
  version: OpenVersion,
): Promise<DatasetManifest | undefined> {
  const { folder, manifest: before, earlier } = dataset;
  const written = await finishedEntries(version);
  if (written.length === 0) {
    await rm(version.folder, { recursive: true, force: true });
    // One that was killed may have left them undone.
    if (before !== undefined) await putLinks(folder);
    return before;
  }
  const replaced = new Set(written.map(({ from }) => from));
  const kept = (before?.partitions ?? []).filter(({ from }) => !replaced.has(from));
  const { runId, grid } = version;
  const path = join(versionsName, runId);
  const manifest = makeManifest({ version: runId, folder: path, grid }, [...kept, ...written]);
  const isCovered = ({ from, to }: Heights) =>
    manifest.heights.some((range) => range.from <= from && to <= range.to);
  if (!earlier.every(isCovered)) return before;

  const next = join(folder, path);
  for (const entry of written) await linkFiles(version.folder, next, entry);
  if (before !== undefined) {
    const last = join(folder, versionsName, before.version);
    for (const entry of kept) await linkFiles(last, next, entry);
  }
  for (const table of tableNames) await syncFolder(join(next, table, 'data'));
  for (const table of tableNames) await syncFolder(join(next, table));
  await writeFileDurably(join(next, manifestName), JSON.stringify(manifest, undefined, 1));
  await syncFolder(join(folder, versionsName));
  // From here on it is the one that counts.
  await putLink(folder, currentName, path);
  await putLinks(folder);
  await rm(version.folder, { recursive: true, force: true });
  return manifest;
}

/** The names that readers use. Only what an earlier release left can be in their place, and it is superseded. */
async function putLinks(folder: string): Promise<void> {
  const superseded = join(folder, versionsName, 'superseded');
  for (const table of tableNames) {
    const entry = await lstat(join(folder, table)).catch(() => undefined);
    if (entry?.isDirectory() === true) {
      await rm(superseded, { recursive: true, force: true });
      await rename(join(folder, table), superseded);
    }
    if (entry?.isSymbolicLink() !== true) await putLink(folder, table, join(currentName, table));
  }
  await putLink(folder, manifestName, join(currentName, manifestName));
  await rm(superseded, { recursive: true, force: true });
  await rm(join(folder, earlierMarks), { recursive: true, force: true });
}

/** A link in place of one of that name, at one stroke. */
async function putLink(folder: string, name: string, target: string): Promise<void> {
  const temporary = join(folder, `.link${writingSuffix}`);
  await rm(temporary, { force: true });
  await symlink(target, temporary);
  await rename(temporary, join(folder, name));
  await syncFolder(folder);
}

async function linkFiles(from: string, to: string, entry: PartitionEntry): Promise<void> {
  for (const table of tableNames) {
    const path = partitionFolder(table, entry);
    await mkdir(join(to, ...path), { recursive: true });
    for (const file of entry.files) {
      if (file.table === table) await link(join(from, ...path, file.name), join(to, ...path, file.name));
    }
    await syncFolder(join(to, ...path));
  }
}

async function hasFiles(folder: string, entry: PartitionEntry): Promise<boolean> {
  for (const { table, name, bytes } of entry.files) {
    const found = await stat(join(folder, ...partitionFolder(table, entry), name)).catch(() => undefined);
    if (found?.size !== bytes) return false;
  }
  return true;
}

async function currentVersion(folder: string): Promise<string | undefined> {
  const target = await expectLink(folder, currentName);
  if (target === undefined) return undefined;
  const version = /^\.versions\/([0-9A-Za-z_]+)$/.exec(target)?.[1];
  if (version === undefined) throw inTheWay(folder, currentName);
  return version;
}

async function expectFolder(folder: string, name: string): Promise<void> {
  const entry = await lstat(join(folder, name)).catch(() => undefined);
  if (entry !== undefined && !entry.isDirectory()) throw inTheWay(folder, name);
}

/** What the link leads to; undefined where there is none. */
async function expectLink(folder: string, name: string, wanted?: string): Promise<string | undefined> {
  const entry = await lstat(join(folder, name)).catch(() => undefined);
  if (entry === undefined) return undefined;
  if (!entry.isSymbolicLink()) throw inTheWay(folder, name);
  const target = await readlink(join(folder, name));
  if (wanted !== undefined && target !== wanted) throw inTheWay(folder, name);
  return target;
}

const inTheWay = (folder: string, name: string) =>
  new DatasetConflict(
    `${join(folder, name)} is in the way and was not made by an export: use another folder`,
  );

/** The partitions of a table that earlier releases wrote as plain folders. Throws at anything else. */
async function earlierPartitions(folder: string, table: TableName): Promise<Heights[]> {
  const entry = await lstat(join(folder, table)).catch(() => undefined);
  if (entry === undefined) return [];
  if (!entry.isDirectory()) {
    await expectLink(folder, table, join(currentName, table));
    return [];
  }
  const foreign = () => inTheWay(folder, table);
  const found: Heights[] = [];
  for (const data of await readdir(join(folder, table), { withFileTypes: true })) {
    if (data.name !== 'data' || !data.isDirectory()) throw foreign();
  }
  const data = await readdir(join(folder, table, 'data'), { withFileTypes: true }).catch(() => []);
  for (const partition of data) {
    const [, from = '', to = ''] = /^height=([0-9]{1,15})-([0-9]{1,15})$/.exec(partition.name) ?? [];
    if (from === '' || !partition.isDirectory()) throw foreign();
    const isOurs = new RegExp(
      `^(\\.${table}_${from}_${to}_\\w+\\.parquet\\.part|${table}_${from}_${to}_\\w+\\.parquet)$`,
    );
    for (const file of await readdir(join(folder, table, 'data', partition.name), { withFileTypes: true })) {
      if (!file.isFile() || !isOurs.test(file.name)) throw foreign();
    }
    found.push({ from: Number(from), to: Number(to) });
  }
  return found;
}
