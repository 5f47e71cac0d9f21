/**
 * Makes a backup of a running installation. The ledger is read first, as of one moment; then the other databases, which
 * may know more, and then every blob that a row of the ledger needs. While that goes on nothing deletes a blob, so that
 * each of them is in the backup.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { StartupError } from '../../kernel/errors.ts';
import { copyBlobs, writeList } from '../../storage/backup/blob-copies.ts';
import {
  type DatabaseCopy,
  type Manifest,
  newManifest,
  type StoredPart,
} from '../../storage/backup/manifest.ts';
import { type BackupPlace, backupId } from '../../storage/backup/place.ts';
import { copyPostgres } from '../../storage/backup/postgres-copy.ts';
import { sealKeys } from '../../storage/backup/sealed-keys.ts';
import { copySqlite, describeSqlite, putSqlite } from '../../storage/backup/sqlite-copy.ts';
import { proven } from '../../storage/backup/stored-bytes.ts';
import { openBlobStore } from '../../storage/blobs/open.ts';
import { Lease } from '../../storage/sql/lease.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { blobHold } from '../../upload/items/blob-uses.ts';
import { openLedgerDatabase } from '../ledger-database.ts';
import { version } from '../version.ts';
import { checkLedger, checkLedgerFile } from './check-ledger.ts';
import {
  type DatabaseConfig,
  postgresOf,
  sharedDatabases,
  sqliteDatabases,
  sqlitePath,
} from './databases.ts';
import { otherFiles, readKeys } from './files.ts';
import type { GivenKeysConfig } from './given-keys.ts';

export type BackupConfig = DatabaseConfig & GivenKeysConfig & Pick<Config, 'BLOB_STORE_URL' | 'WORLD'>;

export interface BackupOptions {
  /** Seals the keys; undefined: they are left out. */
  readonly passphrase: string | undefined;
  /** Where the bodies of uploads are backed up by other means. */
  readonly withBlobs: boolean;
  /** Told what is done next, and how far it is. */
  readonly step: (what: string, total?: number) => (done: number) => void;
}

/** Longer than any pause between two renewals. */
const holdMs = 120_000;

export async function makeBackup(
  config: BackupConfig,
  place: BackupPlace,
  options: BackupOptions,
): Promise<Manifest> {
  const begunAt = Date.now();
  const id = backupId(new Date(begunAt), randomBytes(3).toString('hex'));
  insistOnSomething(config);
  const ledger = await openLedgerDatabase(config);
  try {
    return await holdingBlobs(ledger, async () => {
      const { databases, digests } = await inScratch(config.DATA_DIR, (scratch) =>
        copyDatabases(config, place, options, scratch),
      );
      const blobs = await backUpBlobs(config, place, options, digests);
      const files = await backUpFiles(config, place, options);
      const keys = await backUpKeys(config, place, options);
      const manifest = newManifest({
        ...{ id, version, world: config.WORLD, begunAt, endedAt: Date.now(), databases },
        ...(blobs.list !== undefined && { blobs: blobs.list }),
        ...{ missing: blobs.missing, files },
        ...(keys !== undefined && { keys }),
      });
      await readBack(place, options, [
        ...databases.flatMap(({ parts }) => parts),
        ...blobs.written,
        ...files,
        ...(keys === undefined ? [] : [keys]),
      ]);
      await place.write(id, JSON.stringify(manifest, null, 2));
      return manifest;
    });
  } finally {
    await ledger.close();
  }
}

const scratchName = 'backup-';

/** Where files are copied to before they are sent. What a backup that was killed has left there goes first. */
async function inScratch<T>(dataDir: string, work: (scratch: string) => Promise<T>): Promise<T> {
  for (const name of await readdir(dataDir)) {
    if (name.startsWith(scratchName)) await rm(join(dataDir, name), { recursive: true, force: true });
  }
  const scratch = await mkdtemp(join(dataDir, scratchName));
  try {
    return await work(scratch);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

function insistOnSomething(config: BackupConfig): void {
  if (sharedDatabases.some(({ name }) => postgresOf(config, name) !== undefined)) return;
  let names: string[] = [];
  try {
    names = sqliteDatabases(config);
  } catch {
    // No such folder.
  }
  if (names.length > 0) return;
  throw new StartupError(
    `there is nothing to back up in DATA_DIR ${config.DATA_DIR}: set it, or DATABASE_URL`,
  );
}

/** Nothing deletes a blob meanwhile. A process that is killed holds them for two minutes. */
async function holdingBlobs<T>(ledger: Sql, work: () => Promise<T>): Promise<T> {
  const lease = new Lease(ledger, { table: 'upload_leases', name: blobHold, leaseMs: holdMs });
  if (!(await lease.renew()))
    throw new StartupError('another backup runs, or was cut off less than two minutes ago');
  const renewal = setInterval(() => void lease.renew().catch(() => {}), holdMs / 4);
  try {
    return await work();
  } finally {
    clearInterval(renewal);
    await lease.release().catch(() => {});
  }
}

interface CopiedDatabases {
  readonly databases: DatabaseCopy[];
  /** Of the blobs that rows of the copied ledger need. */
  readonly digests: string[];
}

async function copyDatabases(
  config: BackupConfig,
  place: BackupPlace,
  { step }: BackupOptions,
  scratch: string,
): Promise<CopiedDatabases> {
  const databases: DatabaseCopy[] = [];
  let digests: string[] = [];
  for (const { name } of sharedDatabases) {
    const url = postgresOf(config, name);
    if (url === undefined) continue;
    step(`database ${name}`);
    const copy = await copyPostgres(place.blobs, { url, schema: name }, async (snapshot) => {
      if (name === 'ledger') ({ digests } = await checkLedger(snapshot));
    });
    if (copy !== undefined) databases.push({ name, ...copy });
  }
  for (const name of sqliteDatabases(config)) {
    step(`database ${name}`);
    const copy = join(scratch, `${name}.db`);
    await copySqlite(sqlitePath(config, name), copy);
    const described = await describeSqlite(copy);
    const parts = await putSqlite(place.blobs, copy);
    databases.push({ name, engine: 'sqlite', parts, sequences: {}, ...described });
    if (name === 'ledger') ({ digests } = await checkLedgerFile(copy));
    await rm(copy, { force: true });
  }
  return { databases, digests };
}

async function backUpBlobs(
  config: BackupConfig,
  { blobs: target }: BackupPlace,
  { step, withBlobs }: BackupOptions,
  digests: readonly string[],
): Promise<{ list?: NonNullable<Manifest['blobs']>; missing: string[]; written: StoredPart[] }> {
  if (!withBlobs) return { missing: [], written: [] };
  const progress = step('stored uploads', digests.length);
  const source = await openBlobStore({ blobStoreUrl: config.BLOB_STORE_URL, dataDir: config.DATA_DIR });
  try {
    let done = 0;
    const { copied, present, missing } = await copyBlobs(digests, source, target, () => {
      done += 1;
      progress(done);
    });
    const list = await target.put(writeList(present));
    const bytes = present.reduce((sum, { size }) => sum + size, 0);
    return {
      list: { ...list, count: present.length, bytes },
      missing: missing.sort(),
      written: [...copied, list],
    };
  } finally {
    await source.close();
  }
}

async function backUpFiles(
  { DATA_DIR }: BackupConfig,
  { blobs }: BackupPlace,
  { step }: BackupOptions,
): Promise<Manifest['files']> {
  step('other files');
  const files: Manifest['files'] = [];
  for (const path of otherFiles(DATA_DIR)) {
    // One that was removed meanwhile was no part of the installation any more.
    const bytes = await readFile(join(DATA_DIR, path)).catch(() => undefined);
    if (bytes !== undefined) files.push({ path, ...(await blobs.put(bytes)) });
  }
  return files;
}

async function backUpKeys(
  config: BackupConfig,
  { blobs }: BackupPlace,
  { step, passphrase }: BackupOptions,
): Promise<StoredPart | undefined> {
  if (passphrase === undefined) return undefined;
  step('keys');
  return blobs.put(await sealKeys(readKeys(config.DATA_DIR, config), passphrase));
}

/** What was written is read again from where it lies. */
async function readBack(
  { blobs }: BackupPlace,
  { step }: BackupOptions,
  written: readonly StoredPart[],
): Promise<void> {
  const progress = step('reading back', written.length);
  for (const [index, part] of written.entries()) {
    await proven(blobs, part);
    progress(index + 1);
  }
}
