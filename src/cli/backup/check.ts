/** Reads a backup to its end: every digest, every row, and that its ledger adds up. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StartupError } from '../../kernel/errors.ts';
import { readList } from '../../storage/backup/blob-copies.ts';
import { type DatabaseCopy, type Manifest, partsOf, readManifest } from '../../storage/backup/manifest.ts';
import type { BackupPlace } from '../../storage/backup/place.ts';
import { insistOnRows, restoreSqlite } from '../../storage/backup/sqlite-copy.ts';
import { BackupDamaged, linesOf, proven, readCompressed } from '../../storage/backup/stored-bytes.ts';
import { checkLedgerFile } from './check-ledger.ts';

type Step = (what: string, total?: number) => (done: number) => void;

/** The newest, unless one is named. Throws `StartupError` where there is none. */
export async function findBackup(place: BackupPlace, wanted: string | undefined): Promise<Manifest> {
  const id = wanted ?? (await place.list()).at(-1);
  if (id === undefined) throw new StartupError('there is no backup: none was finished');
  const text = await place.read(id);
  if (text === undefined) throw new StartupError(`there is no backup ${id}`);
  return readManifest(text, id);
}

/** Throws `BackupDamaged`. */
export async function checkBackup(place: BackupPlace, manifest: Manifest, step: Step): Promise<void> {
  const list = manifest.blobs === undefined ? [] : await readList(place.blobs, manifest.blobs);
  const all = [...partsOf(manifest), ...list];
  const progress = step('reading everything', all.length);
  for (const [index, part] of all.entries()) {
    await proven(place.blobs, part);
    progress(index + 1);
  }
  for (const database of manifest.databases) {
    step(`database ${database.name}`);
    if (database.engine === 'sqlite') await checkSqlite(place, database, list);
    else await checkRows(place, database);
  }
}

async function checkSqlite(
  place: BackupPlace,
  database: DatabaseCopy,
  blobs: readonly { readonly digest: string }[],
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-backup-check-'));
  try {
    const path = join(folder, `${database.name}.db`);
    await restoreSqlite(place.blobs, database, path);
    if (database.name !== 'ledger') return;
    const { digests } = await checkLedgerFile(path);
    const present = new Set(blobs.map(({ digest }) => digest));
    const lacking = digests.filter((digest) => !present.has(digest)).length;
    if (blobs.length > 0 && lacking > 0)
      throw new BackupDamaged(`${lacking} stored uploads are not in the backup`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function checkRows({ blobs }: BackupPlace, { name, parts, rows }: DatabaseCopy): Promise<void> {
  const found: Record<string, number> = {};
  for (const part of parts) {
    let count = 0;
    for await (const _line of linesOf(readCompressed(blobs, part))) count += 1;
    found[part.name] = count;
  }
  insistOnRows(name, rows, found);
}
