/**
 * Puts a backup where there is nothing yet. A restore that is cut off leaves its mark, no start is made on it, and the
 * same command does it again.
 */
import { readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Config } from '../../config/config.ts';
import { collected } from '../../kernel/collected.ts';
import { StartupError } from '../../kernel/errors.ts';
import { makeFolder } from '../../kernel/files.ts';
import { privateFolderMode } from '../../kernel/private-files.ts';
import { copyBlobs, readList } from '../../storage/backup/blob-copies.ts';
import type { DatabaseCopy, Manifest } from '../../storage/backup/manifest.ts';
import type { BackupPlace } from '../../storage/backup/place.ts';
import { dropSchema, isSchemaUsed, restorePostgres } from '../../storage/backup/postgres-copy.ts';
import { openKeys } from '../../storage/backup/sealed-keys.ts';
import { restoreSqlite } from '../../storage/backup/sqlite-copy.ts';
import { BackupDamaged, readPart } from '../../storage/backup/stored-bytes.ts';
import { openBlobStore } from '../../storage/blobs/open.ts';
import { noteRestore } from '../../upload/bundler/after-restore.ts';
import { openLedgerDatabase } from '../ledger-database.ts';
import { type CheckedLedger, checkLedger } from './check-ledger.ts';
import { type DatabaseConfig, postgresOf, sharedDatabases, sqlitePath } from './databases.ts';
import { writeBelow, writeKeys } from './files.ts';
import { overlapMs, readRestoreMark, writeRestoreMark } from './restore-mark.ts';

export type RestoreConfig = DatabaseConfig & Pick<Config, 'BLOB_STORE_URL' | 'WORLD'>;

export interface RestoreOptions {
  /** Opens the keys; undefined: they are left out. */
  readonly passphrase: string | undefined;
  readonly step: (what: string, total?: number) => (done: number) => void;
}

export interface Restored {
  /** Undefined where the backup has no ledger. */
  readonly ledger: CheckedLedger | undefined;
  /** Files of keys that variables gave: they lay elsewhere. */
  readonly givenKeys: readonly string[];
}

/** Throws `StartupError` where there is something already, or the backup is not whole. */
export async function restoreBackup(
  config: RestoreConfig,
  place: BackupPlace,
  manifest: Manifest,
  options: RestoreOptions,
): Promise<Restored> {
  insistOnFit(config, manifest, options);
  makeFolder(config.DATA_DIR, privateFolderMode);
  await insistOnEmpty(config, manifest);
  const mark = { backup: manifest.id, backupAt: manifest.begunAt, restoredAt: Date.now() };
  await writeRestoreMark(config.DATA_DIR, { ...mark, state: 'running' });
  const givenKeys = await restoreFiles(config, place, manifest, options);
  for (const database of manifest.databases) {
    options.step(`database ${database.name}`);
    await restoreDatabase(config, place, database);
  }
  await restoreBlobs(config, place, manifest, options);
  const ledger = await checkRestored(config, manifest, options);
  await writeRestoreMark(config.DATA_DIR, { ...mark, restoredAt: Date.now(), state: 'done' });
  return { ledger, givenKeys };
}

function insistOnFit(config: RestoreConfig, manifest: Manifest, { passphrase }: RestoreOptions): void {
  if (manifest.world !== config.WORLD) {
    throw new StartupError(`the backup is of WORLD=${manifest.world}: set WORLD to it`);
  }
  if (passphrase !== undefined && manifest.keys === undefined) {
    throw new StartupError(
      'the backup has no keys: restore with --no-keys, and put the keys in place by hand',
    );
  }
  for (const { name, engine } of manifest.databases) {
    const wanted = postgresOf(config, name) === undefined ? 'sqlite' : 'postgres';
    if (engine === wanted) continue;
    throw new StartupError(
      engine === 'postgres'
        ? 'the backup is of a PostgreSQL: set DATABASE_URL to one'
        : 'the backup is of SQLite files: DATABASE_URL must not be set',
    );
  }
}

/** Names that say nothing about whether somebody uses the folder. */
const harmless = /^(?:restore\.json|reserve|lost\+found|\..*)$/;

/** A restore of the same backup that was cut off is done again: what it left is removed. */
async function insistOnEmpty(config: RestoreConfig, manifest: Manifest): Promise<void> {
  const mark = readRestoreMark(config.DATA_DIR);
  const isAgain = mark?.state === 'running' && mark.backup === manifest.id;
  const shared = manifest.databases.filter(({ engine }) => engine === 'postgres');
  const places = shared.map(({ name }) => ({ url: postgresOf(config, name) ?? '', schema: name }));
  if (isAgain) {
    for (const schema of places) await dropSchema(schema);
    for (const { name, engine } of manifest.databases) {
      if (engine !== 'sqlite') continue;
      for (const suffix of ['', '-wal', '-shm']) {
        await rm(`${sqlitePath(config, name)}${suffix}`, { force: true });
      }
    }
    return;
  }
  const found = readdirSync(config.DATA_DIR).filter((name) => !harmless.test(name));
  if (mark !== undefined || found.length > 0) {
    throw new StartupError(
      `DATA_DIR ${config.DATA_DIR} is not empty (${mark === undefined ? found[0] : 'restore.json'}): restore into a new one`,
    );
  }
  for (const schema of places) {
    if (!(await isSchemaUsed(schema))) continue;
    throw new StartupError(
      `DATABASE_URL: schema "${schema.schema}" is in use: restore into a database without it`,
    );
  }
}

/** Files and keys first: a start needs them, and they are refused before anything large is written. */
async function restoreFiles(
  { DATA_DIR }: RestoreConfig,
  { blobs }: BackupPlace,
  manifest: Manifest,
  { passphrase, step }: RestoreOptions,
): Promise<string[]> {
  step('files and keys');
  const whole = async (part: { digest: string; size: number }): Promise<Buffer> =>
    Buffer.concat(await collected(readPart(blobs, part)));
  const given =
    passphrase !== undefined && manifest.keys !== undefined
      ? await writeKeys(DATA_DIR, await openKeys(await whole(manifest.keys), passphrase))
      : [];
  for (const { path, ...part } of manifest.files) await writeBelow(DATA_DIR, path, await whole(part));
  return given;
}

async function restoreDatabase(
  config: RestoreConfig,
  { blobs }: BackupPlace,
  database: DatabaseCopy,
): Promise<void> {
  if (database.engine === 'sqlite') return restoreSqlite(blobs, database, sqlitePath(config, database.name));
  const { migrations = [] } = sharedDatabases.find(({ name }) => name === database.name) ?? {};
  await restorePostgres(
    blobs,
    database,
    { url: postgresOf(config, database.name) ?? '', schema: database.name },
    migrations,
  );
}

async function restoreBlobs(
  config: RestoreConfig,
  { blobs: source }: BackupPlace,
  manifest: Manifest,
  { step }: RestoreOptions,
): Promise<void> {
  if (manifest.blobs === undefined) return;
  const list = await readList(source, manifest.blobs);
  const progress = step('stored uploads', list.length);
  const target = await openBlobStore({ blobStoreUrl: config.BLOB_STORE_URL, dataDir: config.DATA_DIR });
  try {
    let done = 0;
    const { missing } = await copyBlobs(
      list.map(({ digest }) => digest),
      source,
      target,
      () => {
        done += 1;
        progress(done);
      },
    );
    if (missing.length > 0) {
      throw new BackupDamaged(
        `${missing.length} stored uploads are missing or damaged in the backup, for example ${missing[0]}`,
      );
    }
  } finally {
    await target.close();
  }
}

/** Brings the ledger to this release, as a start would, and proves that it adds up. */
async function checkRestored(
  config: RestoreConfig,
  manifest: Manifest,
  { step }: RestoreOptions,
): Promise<CheckedLedger | undefined> {
  if (!manifest.databases.some(({ name }) => name === 'ledger')) return undefined;
  step('checking the ledger');
  const ledger = await openLedgerDatabase(config);
  try {
    await ledger.transaction(async (tx) => {
      // Whoever held them did so when the copy was made; the backup itself was one of them.
      await tx.run('DELETE FROM upload_leases');
      await noteRestore(tx, { since: manifest.begunAt - overlapMs, restoredAt: Date.now() });
    });
    return await checkLedger(ledger);
  } finally {
    await ledger.close();
  }
}
