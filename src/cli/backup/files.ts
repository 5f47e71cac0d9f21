/** What else of DATA_DIR belongs to an installation: small files that no database has. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { messageOf, StartupError } from '../../kernel/errors.ts';
import { writeFileDurably } from '../../kernel/files.ts';
import { privateFileMode, privateFolderMode } from '../../kernel/private-files.ts';
import { type GivenKeysConfig, readGivenKeys } from './given-keys.ts';

/**
 * Not copied: databases and blobs, which are copied otherwise; keys, which are sealed; caches and exports, which are made
 * again; the local network, which stands for the outside; what is of a running process.
 */
const leftOut: readonly RegExp[] = [
  /\.db(?:-wal|-shm|-journal)?(?:\.restoring.*)?$/,
  /^(?:blobs|keys|localnet|run|scratch|replaced|discarded|parquet|reconcile|mcp)$/,
  /-cache$/,
  /\.tmp$/,
  /^(?:restore\.json|reserve)$/,
  /^backup-/,
];
const mostFiles = 100_000;
const deepest = 8;
const segment = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,254}$/;

/** Paths below the folder, with slashes. */
export function otherFiles(dataDir: string): string[] {
  const found: string[] = [];
  const walk = (folder: string, depth: number): void => {
    for (const entry of readdirSync(join(dataDir, folder), { withFileTypes: true })) {
      if (depth === 0 && leftOut.some((pattern) => pattern.test(entry.name))) continue;
      if (!segment.test(entry.name)) continue;
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isFile()) found.push(path);
      else if (entry.isDirectory() && depth < deepest) walk(path, depth + 1);
      if (found.length > mostFiles) throw new StartupError(`DATA_DIR has more than ${mostFiles} files`);
    }
  };
  walk('', 0);
  return found.sort();
}

/** Throws `StartupError` for a path that leaves the folder. */
export async function writeBelow(dataDir: string, path: string, content: Uint8Array): Promise<void> {
  const segments = path.split('/');
  if (segments.length > deepest + 1 || !segments.every((one) => segment.test(one))) {
    throw new StartupError(`the backup has a file that is no part of DATA_DIR: ${path}`);
  }
  const target = join(dataDir, ...segments);
  await mkdir(dirname(target), { recursive: true, mode: privateFolderMode });
  await writeFileDurably(target, content, privateFileMode);
}

const keyName = /^[a-z0-9][a-z0-9.-]{0,127}$/;
/** Below the keys: those that variables gave, which lie elsewhere in the installation that was backed up. */
const givenFolder = 'given';
const givenName = /^given\/[A-Z][A-Z0-9_]{0,127}$/;
const largestKey = 64 * 1024;

/** The keys that the installation made for itself. */
function readKeyFiles(dataDir: string): Map<string, Buffer> {
  const folder = join(dataDir, 'keys');
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return new Map();
  }
  const files = new Map<string, Buffer>();
  for (const name of names.sort()) {
    const path = join(folder, name);
    const stats = statSync(path);
    if (!stats.isFile()) continue;
    if (!keyName.test(name) || stats.size > largestKey) throw new StartupError(`${path} is no key file`);
    try {
      files.set(name, readFileSync(path));
    } catch (error) {
      throw new StartupError(`${path} cannot be read: ${messageOf(error)}`);
    }
  }
  return files;
}

/** By file name, those that variables give as `given/VARIABLE`. */
export function readKeys(dataDir: string, config: GivenKeysConfig): Map<string, Buffer> {
  const keys = readKeyFiles(dataDir);
  for (const [variable, bytes] of readGivenKeys(config)) keys.set(`${givenFolder}/${variable}`, bytes);
  return keys;
}

/** Answers the paths of those that variables gave. */
export async function writeKeys(dataDir: string, keys: ReadonlyMap<string, Buffer>): Promise<string[]> {
  const folder = join(dataDir, 'keys');
  const files = [...keys].map(([name, bytes]) => {
    const isGiven = givenName.test(name);
    if (!isGiven && !keyName.test(name))
      throw new StartupError(`the backup has a key of a strange name: ${name}`);
    return { path: join(folder, name), bytes, isGiven };
  });
  await mkdir(folder, { recursive: true, mode: privateFolderMode });
  if (files.some(({ isGiven }) => isGiven))
    await mkdir(join(folder, givenFolder), { recursive: true, mode: privateFolderMode });
  for (const { path, bytes } of files) await writeFileDurably(path, bytes, privateFileMode);
  return files.filter(({ isGiven }) => isGiven).map(({ path }) => path);
}
